// SPDX-License-Identifier: MIT
//
// Lines of synthetic_events, checked in the order in which kernel/trace/trace_events_synth.c checks
// them, so that of several faults the same one is reported.
#include <algorithm>
#include <cerrno>
#include <span>

#include "base/text.h"
#include "event/synthetic_event.h"

namespace patchbay {

namespace {

constexpr std::string_view kBadCommand = "Command must be of the form: <name> field[;field] ...";
constexpr std::string_view kBadDynamicCommand =
    "Command must be of the form: s or -:[synthetic/]<name> field[;field] ...";

bool is_good_name(std::string_view name) {
  if (name.empty() || !is_name_start(name[0])) return false;
  for (char c : name)
    if (!is_name_char(c)) return false;
  return true;
}

struct NumberType {
  std::string_view name;
  uint8_t size;
};
constexpr NumberType kNumberTypes[] = {
    {"s64", 8},   {"u64", 8},          {"s32", 4},  {"u32", 4},           {"s16", 2},
    {"u16", 2},   {"s8", 1},           {"u8", 1},   {"char", 1},          {"unsigned char", 1},
    {"int", 4},   {"unsigned int", 4}, {"long", 8}, {"unsigned long", 8}, {"bool", 1},
    {"pid_t", 4}, {"gfp_t", 4},
};

// 0: it is none of them.
uint32_t number_size(std::string_view type) {
  for (const NumberType& row : kNumberTypes)
    if (row.name == type) return row.size;
  return 0;
}

// The kernel has none.
uint32_t real_size(std::string_view type) { return type == "double" ? 8 : type == "float" ? 4 : 0; }

// As the kernel's kstrtouint() with base 0: 0x…, 0…, a plus sign in front.
std::optional<uint32_t> parse_count(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  int base = 10;
  if (text.size() > 2 && text[0] == '0' && (text[1] | 32) == 'x') {
    base = 16;
    text.remove_prefix(2);
  } else if (text.starts_with('0')) {
    base = 8;
  }
  if (text.empty()) return std::nullopt;
  uint32_t value = 0;
  for (char c : text) {
    if (digit_value(c) >= base) return std::nullopt;
    value = value * uint32_t(base) + uint32_t(digit_value(c));
  }
  return value;
}

// Of a type with "char[" in it; 0: dynamic. None: not an array that can be.
std::optional<uint32_t> text_size(std::string_view type) {
  constexpr size_t kMaxDigits = 3;
  size_t start = type.find("char[") + 5, end = type.find(']');
  if (end == type.npos || end < start || end + 1 < type.size() || end - start > kMaxDigits)
    return std::nullopt;
  if (end == start) return 0;
  auto size = parse_count(type.substr(start, end - start));
  if (!size || *size > kSyntheticTextSize) return std::nullopt;
  return size;
}

class Parser {
 public:
  Parser(std::string_view line, SyntheticForm form,
         const std::function<bool(std::string_view)>& exists)
      : line_(line), form_(form), exists_(exists) {}
  SyntheticParse parse();

 private:
  bool refuse(std::string_view text, std::string_view word = {}, int error = EINVAL);
  bool take_name(std::string_view* fields);
  bool parse_name(std::string_view* fields);
  bool parse_fields(std::string_view fields);
  bool parse_field(std::span<const std::string_view> words, size_t* used);
  bool set_type(SyntheticField* field, std::string_view type_word, std::string_view name_word);
  void place_fields();

  std::string_view line_;
  SyntheticForm form_;
  const std::function<bool(std::string_view)>& exists_;
  SyntheticDefinition definition_;
  std::optional<SyntheticError> error_;
};

// The caret stands where the word is first found, whichever of its places is meant.
bool Parser::refuse(std::string_view text, std::string_view word, int error) {
  size_t at = line_.find(word);
  error_ = SyntheticError{std::string(text), at == line_.npos ? 0 : at, error};
  return false;
}

// What stands before the first semicolon is a name and at least a type and a field.
bool has_first_field(std::string_view command) {
  return split_words(command.substr(0, command.find(';'))).size() >= 3;
}

bool Parser::take_name(std::string_view* fields) {
  std::string_view command = line_;
  size_t blank = line_.find_first_of(" \t");
  if (form_ == SyntheticForm::kDynamic) {
    constexpr std::string_view kGroup = "synthetic/";
    if (blank == line_.npos) return refuse(kBadCommand);
    command.remove_prefix(2);  // "s:"
    if (command.find('/') != command.npos) {
      if (!command.starts_with(kGroup)) return refuse(kBadDynamicCommand);
      command.remove_prefix(kGroup.size());
    }
  }
  if (!has_first_field(command) || blank == line_.npos) return refuse(kBadCommand);
  size_t end = line_.data() + blank - command.data();
  definition_.name = command.substr(0, end);
  *fields = command.substr(end);
  return true;
}

bool Parser::parse_name(std::string_view* fields) {
  if (!take_name(fields)) return false;
  const std::string& name = definition_.name;
  if (name.empty()) return refuse(kBadCommand);
  if (!is_good_name(name)) return refuse("Illegal name", name);
  if (exists_(name)) return refuse("Event already exists", name, EEXIST);
  return true;
}

bool Parser::set_type(SyntheticField* field, std::string_view type_word,
                      std::string_view name_word) {
  const bool is_array = name_word.find('[') != name_word.npos;
  if (field->type.find("char[") != field->type.npos) {
    auto size = text_size(field->type);
    if (!size)
      return is_array ? refuse("Invalid array specification", name_word)
                      : refuse("Invalid type", type_word);
    field->kind = *size ? SyntheticField::Kind::kText : SyntheticField::Kind::kDynamicText;
    field->size = *size ? *size : 8;
  } else if (field->type.find("long[") != field->type.npos) {
    field->kind = SyntheticField::Kind::kStack;
    field->size = 8;
  } else {
    field->size = number_size(field->type);
    if (!field->size && form_ == SyntheticForm::kProgram) field->size = real_size(field->type);
    if (!field->size) return refuse("Invalid type", type_word);
  }
  const bool is_dynamic = field->kind == SyntheticField::Kind::kDynamicText ||
                          field->kind == SyntheticField::Kind::kStack;
  field->is_signed = is_dynamic || (!field->type.starts_with('u') && field->type != "gfp_t");
  return true;
}

bool Parser::parse_field(std::span<const std::string_view> words, size_t* used) {
  const bool is_unsigned = words[0] == "unsigned";
  if (is_unsigned && words.size() < 3) return refuse("Incomplete type", words[0]);
  const std::string_view type_word = words[is_unsigned ? 1 : 0];
  *used = is_unsigned ? 3 : 2;
  if (words.size() < *used) return refuse("Invalid field", type_word);
  const std::string_view name_word = words[*used - 1];
  const size_t array = std::min(name_word.find('['), name_word.size());
  SyntheticField field;
  field.name = name_word.substr(0, array);
  if (!is_good_name(field.name)) return refuse("Illegal name", name_word);
  if (is_unsigned) field.type = "unsigned ";
  field.type += type_word;
  field.type += name_word.substr(array);
  if (!set_type(&field, type_word, name_word)) return false;
  if (definition_.fields.size() == kMaxSyntheticFields) return refuse("Too many fields");
  definition_.fields.push_back(std::move(field));
  return true;
}

// Between two semicolons there may be several fields: an older form had none between.
bool Parser::parse_fields(std::string_view fields) {
  for (bool more = true; more;) {
    const size_t end = fields.find(';');
    const std::vector<std::string_view> words = split_words(fields.substr(0, end));
    for (size_t at = 0, used = 0; at < words.size(); at += used)
      if (!parse_field(std::span(words).subspan(at), &used)) return false;
    more = end != fields.npos;
    if (more) fields.remove_prefix(end + 1);
  }
  return !definition_.fields.empty() || refuse(kBadCommand);
}

void Parser::place_fields() {
  uint32_t offset = 8;
  for (SyntheticField& field : definition_.fields) {
    field.offset = offset;
    offset += field.kind == SyntheticField::Kind::kText ? kSyntheticTextSize : 8;
  }
}

SyntheticParse Parser::parse() {
  std::string_view fields;
  if (!parse_name(&fields) || !parse_fields(fields)) return {{}, std::move(error_)};
  place_fields();
  return {std::move(definition_), {}};
}

}  // namespace

bool is_synthetic_number_type(std::string_view type) { return number_size(type) != 0; }
bool is_synthetic_real_type(std::string_view type) { return real_size(type) != 0; }

SyntheticParse parse_synthetic_event(std::string_view line, SyntheticForm form,
                                     const std::function<bool(std::string_view)>& exists) {
  return Parser(line, form, exists).parse();
}

}  // namespace patchbay
