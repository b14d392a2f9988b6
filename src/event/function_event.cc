// SPDX-License-Identifier: MIT
//
// A definition as data: its types, its event's name, and the line that shows it.
#include "event/function_event.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/text.h"
#include "event/function_event_atom.h"

namespace patchbay {

namespace {

constexpr FunctionEventAtom kAtoms[] = {
    {"char", 1, true, "%s", "%s"},        {"short", 2, true, "%hd", "%u"},
    {"int", 4, true, "%d", "%u"},         {"long", 8, true, "%lld", "%llu"},
    {"size_t", 8, false, "%llu", "%llu"}, {"u8", 1, false, "%u", "%u"},
    {"u16", 2, false, "%u", "%u"},        {"u32", 4, false, "%u", "%u"},
    {"u64", 8, false, "%llu", "%llu"},    {"s8", 1, true, "%hhd", "%u"},
    {"s16", 2, true, "%hd", "%u"},        {"s32", 4, true, "%d", "%u"},
    {"s64", 8, true, "%lld", "%llu"},     {"x8", 1, false, "%x", "%x"},
    {"x16", 2, false, "%x", "%x"},        {"x32", 4, false, "%x", "%x"},
    {"x64", 8, false, "%llx", "%llx"},    {"symbol", 8, false, "%pS", "%pS"},
    {"string", 4, false, "%s", "%s"},     {"float", 4, true, "%x", ""},
    {"double", 8, true, "%llx", ""},      {"s128", 16, true, "%s", ""},
    {"u128", 16, false, "%s", ""},        {"x128", 16, false, "%s", ""},
    {"float80", 16, true, "%s", ""},
};

// Names in tracefs are file names; C++ has longer ones. The hash keeps two long ones apart.
constexpr size_t kMaxEventName = 200;

std::string shorten(std::string name) {
  if (name.size() <= kMaxEventName) return name;
  uint32_t hash = 2166136261;  // FNV-1a
  for (char c : name) hash = (hash ^ uint8_t(c)) * 16777619;
  char text[16];
  std::snprintf(text, sizeof text, "_%08x", hash);
  return name.substr(0, kMaxEventName - 9) + text;
}

// `library:name` without the library, `/dir/file@0x10` without the directory.
std::string_view without_library(std::string_view function) {
  size_t offset = function.find("@0x");
  if (offset != std::string_view::npos) {
    size_t slash = function.substr(0, offset).rfind('/');
    return slash == std::string_view::npos ? function : function.substr(slash + 1);
  }
  for (size_t i = 0; i < function.size(); i++) {
    if (function[i] == '(' || function[i] == '<' || function[i] == '[') break;
    if (function[i] != ':') continue;
    if (i + 1 < function.size() && function[i + 1] == ':') break;
    return function.substr(i + 1);
  }
  return function;
}

// "/LENGTH" of a text, "[LENGTH]" of an array, each with "/MOST" where that is not the usual one.
void append_length(std::string* line, const FunctionEventField& field) {
  if (!field.most) return;
  *line += (is_string(field) ? "/" : "[") + std::string(field.length_is_end ? "<" : "");
  *line += field.length;
  if (field.length.empty() || field.most != most_by_default(field))
    *line += "/" + std::to_string(field.most);
  if (!is_string(field)) *line += "]";
}

// A number as a line has it: what the parser reads as these bits.
std::string constant_text(const FunctionEventField& field) {
  char text[64];
  if (field.atom == "float") {
    float number = 0;
    std::memcpy(&number, &field.address, sizeof number);
    std::snprintf(text, sizeof text, "%.9g", double(number));
    return text;
  }
  if (field.atom == "double") {
    double number = 0;
    std::memcpy(&number, &field.address, sizeof number);
    std::snprintf(text, sizeof text, "%.17g", number);
    return text;
  }
  if (field.atom[0] == 'x') return hex_number(field.address);
  const bool is_signed = find_atom(field.atom)->is_signed && !field.is_unsigned_word;
  return is_signed ? std::to_string(int64_t(field.address)) : std::to_string(field.address);
}

// What is neither an argument nor at an address: "$errno", "%sp".
std::string special_of(const FunctionEventField& field) {
  using Source = FunctionEventField::Source;
  if (field.source == Source::kErrno) return "$" + std::string(kErrnoField);
  return field.source == Source::kStack ? "%" + std::string(kStackField) : "";
}

void append_field(std::string* line, const FunctionEventField& field) {
  if (field.source == FunctionEventField::Source::kFormatArgs) {
    *line += "...";
    return;
  }
  if (field.is_out) *line += "out ";
  if (field.is_unsigned_word) *line += "unsigned ";
  *line += field.atom;
  if (field.array_len) *line += "[" + std::to_string(field.array_len) + "]";
  append_length(line, field);
  const std::string special = special_of(field);
  if (!special.empty()) {
    const bool is_plain = field.name == special.substr(1);
    *line += is_plain ? " " + special : " " + field.name + "=" + special;
    return;
  }
  *line += " " + field.name;
  if (field.source == FunctionEventField::Source::kMissing) *line += "=?";
  if (field.source == FunctionEventField::Source::kConstant) *line += "=\\" + constant_text(field);
  for (const auto& suffix : field.suffixes) {
    std::string number = std::to_string(suffix.value);
    *line += suffix.is_index ? "[" + number + "]" : "+" + number;
  }
  if (!field.below.empty()) *line += "<" + field.below;
  // A field that is named after its address is written as the address alone.
  bool named_after = field.name == hex_number(field.address);
  if (field.source == FunctionEventField::Source::kAddress && !named_after)
    *line += "=" + hex_number(field.address);
}

[[gnu::cold]] void append_arg(std::string* line, const FunctionEventArg& arg) {
  if (arg.is_null) {
    *line += arg.null_atom.empty() ? "NULL" : arg.null_atom + " NULL";
    return;
  }
  if (arg.struct_size) *line += "struct {";
  for (size_t i = 0; i < arg.fields.size(); i++) {
    if (i) *line += arg.struct_size && !arg.fields[i].is_beside ? ", " : " | ";
    FunctionEventField field = arg.fields[i];
    if (arg.struct_size) field.name.erase(0, arg.struct_name.size() + 1);
    append_field(line, field);
  }
  if (arg.struct_size) *line += "} " + arg.struct_name;
}

}  // namespace

const FunctionEventAtom* find_atom(std::string_view name) {
  for (const FunctionEventAtom& atom : kAtoms)
    if (atom.name == name) return &atom;
  return nullptr;
}

bool is_printf_like(std::string_view function, std::string_view last_parameter) {
  std::string_view name = last_parameter;
  while (name.starts_with('_')) name.remove_prefix(1);
  while (name.ends_with('_')) name.remove_suffix(1);
  if (name != "format" && name != "fmt") return false;
  return function.find("scanf") == function.npos && function.find("strfmon") == function.npos;
}

std::vector<std::string_view> atom_names() {
  std::vector<std::string_view> names;
  for (const FunctionEventAtom& atom : kAtoms) names.push_back(atom.name);
  return names;
}

std::string make_identifier(std::string_view text) {
  std::string name;
  bool gap = false;
  for (char c : ascii_name(text)) {
    if (!is_name_char(c)) {
      gap = true;
      continue;
    }
    if (gap && !name.empty()) name += '_';
    gap = false;
    name += c;
  }
  if (name.empty() || is_digit(name[0])) name.insert(0, "_");
  return shorten(std::move(name));
}

FunctionEventArg::Passed FunctionEventArg::passed() const {
  if (is_null) return null_atom.empty() ? Passed::kInteger : Passed::kVector;
  if (struct_size) return Passed::kInteger;
  Passed result = Passed::kNowhere;
  for (const FunctionEventField& field : fields) {
    if (!field.is_passed()) continue;
    result = is_float(field) && !field.is_array() && field.suffixes.empty() ? Passed::kVector
                                                                            : Passed::kInteger;
  }
  return result;
}

namespace {

bool is_vector_value(const FunctionEventField& field) {
  return is_float(field) && !field.is_array() && field.suffixes.empty();
}

}  // namespace

// A structure of more than two words, or with a long double, is in memory. Of the others a word is
// a vector's when all that it has is.
ValueClass class_of(const FunctionEventArg& arg) {
  ValueClass value;
  if (arg.passed() == FunctionEventArg::Passed::kNowhere) return value;
  value.nr_words = arg.struct_size ? (arg.struct_size + 7) / 8 : 1;
  if (!arg.struct_size && !arg.fields.empty() && is_wide(arg.fields[0])) value.nr_words = 2;
  value.in_memory = value.nr_words > 2;
  value.is_vector[0] = value.is_vector[1] = arg.struct_size != 0;
  if (!arg.struct_size) value.is_vector[0] = arg.passed() == FunctionEventArg::Passed::kVector;
  value.is_aligned = arg.struct_alignment == 16;
  for (const FunctionEventField& field : arg.fields) {
    value.in_memory |= is_long_double(field);
    value.is_aligned |= is_wide(field);
    if (!arg.struct_size || value.nr_words > 2) continue;
    value.is_vector[field.member_at / 8] &= is_vector_value(field);
    if (is_wide(field)) value.is_vector[1] = false;
  }
  return value;
}

// A long double is returned on the stack of the x87; so is a structure that is one.
ValueClass class_of_result(const FunctionEventArg& result) {
  ValueClass value = class_of(result);
  value.is_x87 = value.nr_words == 2 && is_long_double(result.fields[0]);
  value.in_memory &= !value.is_x87;
  return value;
}

ArgumentPlaces first_place(const FunctionEventDef& def) {
  ArgumentPlaces places;
  places.integer = def.result && class_of_result(*def.result).in_memory;
  return places;
}

// A system's directory has files called enable and filter.
std::string FunctionEventDef::event_name() const {
  if (!event.empty()) return event;
  const std::string name = make_identifier(without_library(function));
  return name == "enable" || name == "filter" ? name + "_" : name;
}

std::string FunctionEventDef::canonical() const {
  std::string line = event.empty() ? "" : event + "=";
  if (result) append_arg(&line, *result);
  if (is_call) line += result ? " = " : "void = ";
  line += function + "(";
  for (size_t i = 0; i < args.size(); i++) {
    if (i) line += ", ";
    append_arg(&line, args[i]);
  }
  if (error) {
    if (!args.empty()) line += ", ";
    append_field(&line, *error);
  }
  return line + ")";
}

void FetchDeleter::operator()(FetchProgram* program) const {
  if (program) std::free(const_cast<FetchProgram*>(program->at_entry));
  std::free(program);
}

}  // namespace patchbay
