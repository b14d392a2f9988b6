// SPDX-License-Identifier: MIT
#include "cmd/target/c_declaration.h"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <optional>
#include <set>

#include "base/text.h"
#include "cmd/target/c_structure.h"
#include "cmd/target/c_tokens.h"
#include "event/function_event.h"
#include "event/function_event_atom.h"

namespace patchbay::cmd {
namespace {

constexpr size_t kMaxDeclaration = 4096;
constexpr int kMaxTypedefs = 32;  // one leads to the next

constexpr std::string_view kQualifiers[] = {
    "const",    "volatile",      "restrict", "__restrict", "__restrict__",
    "register", "extern",        "static",   "inline",     "_Noreturn",
    "__const",  "__extension__", "__inline", "noexcept",   "__volatile__"};
// Words that are a part of a type. One word that is none of these is a typedef's name.
constexpr std::string_view kBuiltin[] = {"void",   "char",     "short",   "int",    "long",
                                         "signed", "unsigned", "float",   "double", "_Bool",
                                         "bool",   "__int128", "_Complex"};

constexpr std::string_view kTags[] = {"struct", "union", "enum", "class"};

bool is_in(std::string_view word, const auto& list) {
  return std::find(std::begin(list), std::end(list), word) != std::end(list);
}

// The words of a type as one text: "const char *", "void (*)(int)".
std::string joined(const std::vector<CToken>& tokens, size_t begin, size_t end, size_t left_out) {
  std::string text;
  bool after_word = false;
  for (size_t i = begin; i < end; i++) {
    if (i == left_out) continue;
    const bool word = is_word(tokens[i]);
    const bool star = tokens[i].text == "*" || tokens[i].text == "&";
    if (!text.empty() && (word || (star && after_word))) text += ' ';
    if (tokens[i].text == "(" && after_word) text += ' ';
    text += tokens[i].text;
    after_word = word;
  }
  return text;
}

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text), tokens_(tokens_of(text)) {
    take_attributes();
  }

  Result<CDeclaration> run() {
    if (text_.size() > kMaxDeclaration) return wrong(0, "A declaration is shorter");
    while (!tokens_.empty() && tokens_.back().text == ";") tokens_.pop_back();
    PB_ASSIGN(const size_t open, find_list());
    CDeclaration declaration;
    declaration.format_language = format_language_;
    declaration.format_parameter = format_parameter_;
    const size_t name = begin_of_name(open);
    const size_t end_of_name = tokens_[open - 1].at + tokens_[open - 1].text.size();
    declaration.name = text_.substr(tokens_[name].at, end_of_name - tokens_[name].at);
    declaration.result = joined(tokens_, 0, name, tokens_.size());
    PB_ASSIGN(const size_t close, closing(open));
    if (close + 1 != tokens_.size())
      return wrong(tokens_[close + 1].at, "Nothing may stand behind the parameters");
    for (size_t begin = open + 1; begin < close;) {
      const size_t end = end_of_parameter(begin, close);
      PB_TRY(add_parameter(begin, end, &declaration));
      if (end < close && end + 1 == close)
        return wrong(tokens_[close].at, "A parameter is missing");
      begin = end + 1;
    }
    return declaration;
  }

 private:
  // `__attribute__((…))`: of those only format() is of interest.
  void take_attributes() {
    for (size_t i = 0; i + 1 < tokens_.size();) {
      const size_t end = end_of_attribute(i);
      for (size_t at = i + 2; at + 4 < end; at++)
        if (without_underscores(tokens_[at].text) == "format" && tokens_[at + 1].text == "(")
          take_format(at + 2);
      const auto begin = tokens_.begin() + std::ptrdiff_t(i);
      tokens_.erase(begin, tokens_.begin() + std::ptrdiff_t(end));
      i += end == i;
    }
  }
  // Behind its ')'; `i`: there is none.
  size_t end_of_attribute(size_t i) const {
    const std::string_view word = tokens_[i].text;
    if (word != "__attribute__" && word != "__attribute") return i;
    if (tokens_[i + 1].text != "(") return i;
    Result<size_t> close = closing(i + 1);
    return close.ok() ? *close + 1 : i;
  }
  static std::string_view without_underscores(std::string_view word) {
    const bool has_them = word.size() > 4 && word.starts_with("__") && word.ends_with("__");
    return has_them ? word.substr(2, word.size() - 4) : word;
  }
  // "printf , 1": the language, and which parameter.
  void take_format(size_t at) {
    std::string_view language = without_underscores(tokens_[at].text);
    if (language.starts_with("gnu_")) language.remove_prefix(4);
    uint64_t parameter = 0;
    if (!to_number(tokens_[at + 2].text, &parameter, 10)) return;
    format_language_ = language;
    format_parameter_ = parameter;
  }

  Error wrong(size_t at, const std::string& what) const {
    const size_t column = nr_columns(text_.substr(0, at));
    return user_error(EINVAL,
                      what + ":\n" + std::string(text_) + "\n" + std::string(column, ' ') + "^");
  }

  // "operator new", "operator new[]", or one word.
  size_t begin_of_name(size_t open) const {
    for (size_t words : {size_t{2}, size_t{4}})
      if (open >= words && tokens_[open - words].text == "operator" &&
          is_word(tokens_[open - words + 1]))
        return open - words;
    return open - 1;
  }

  // The '(' of the parameters: the first behind a name.
  Result<size_t> find_list() const {
    for (size_t i = 1; i < tokens_.size(); i++) {
      if (tokens_[i].text != "(") continue;
      const std::string_view name = tokens_[i - 1].text;
      if (is_word(tokens_[i - 1]) && !is_in(name, kBuiltin) && !is_in(name, kQualifiers) &&
          !std::isdigit(uint8_t(name[0])))
        return i;
      if (begin_of_name(i) + 1 < i) return i;
      return wrong(tokens_[i].at, "The name of a function has to stand here");
    }
    return wrong(text_.size(), "A function has its parameters in parentheses");
  }

  Result<size_t> closing(size_t open) const {
    int depth = 0;
    for (size_t i = open; i < tokens_.size(); i++) {
      if (tokens_[i].text == "(" || tokens_[i].text == "[") depth++;
      if (tokens_[i].text == ")" || tokens_[i].text == "]") depth--;
      if (depth == 0) return i;
    }
    return wrong(text_.size(), "A ')' is missing");
  }

  size_t end_of_parameter(size_t begin, size_t close) const {
    int depth = 0;
    for (size_t i = begin; i < close; i++) {
      const std::string_view text = tokens_[i].text;
      if (text == "(" || text == "[" || text == "<") depth++;
      if (text == ")" || text == "]" || text == ">") depth--;
      if (text == "," && depth == 0) return i;
    }
    return close;
  }

  // "void (*f)(int)": the word in the inner parentheses. "int a[3]", "const char *p": the last word
  // before a '[', if there is a type before it.
  size_t name_of_parameter(size_t begin, size_t end) const {
    for (size_t i = begin; i + 1 < end; i++) {
      if (tokens_[i].text != "(" || tokens_[i + 1].text != "*") continue;
      for (size_t j = i + 1; j < end && tokens_[j].text != ")"; j++)
        if (is_word(tokens_[j]) && !is_in(tokens_[j].text, kQualifiers)) return j;
      return end;
    }
    size_t last = end, nr_types = 0;
    for (size_t i = begin; i < end && tokens_[i].text != "["; i++) {
      if (is_word(tokens_[i]) && is_in(tokens_[i].text, kQualifiers)) continue;
      if (tokens_[i].text == "*" || tokens_[i].text == "&") last = end;
      if (!is_word(tokens_[i])) continue;
      const bool is_tag = is_in(tokens_[i].text, kTags);
      if (!is_tag && nr_types > 0 && !is_in(tokens_[i].text, kBuiltin)) last = i;
      if (!is_tag) nr_types++;
    }
    return last;
  }

  Status add_parameter(size_t begin, size_t end, CDeclaration* declaration) const {
    if (begin == end) return wrong(tokens_[begin].at, "A parameter is missing");
    if (tokens_[begin].text == "...") {
      declaration->is_variadic = true;
      return end == begin + 1 ? Status() : wrong(tokens_[begin + 1].at, "'...' stands alone");
    }
    if (end == begin + 1 && tokens_[begin].text == "void") return {};
    if (!is_word(tokens_[begin])) return wrong(tokens_[begin].at, "A type has to stand here");
    for (size_t i = begin; i < end; i++)
      if (!is_word(tokens_[i]) &&
          std::string_view("*&()[],<>.").find(tokens_[i].text[0]) == std::string_view::npos)
        return wrong(tokens_[i].at, "No declaration of C has this");
    const size_t name = name_of_parameter(begin, end);
    CDeclaration::Parameter parameter;
    if (name < end) parameter.name = ascii_name(tokens_[name].text);
    parameter.type = joined(tokens_, begin, end, name);
    declaration->parameters.push_back(std::move(parameter));
    return {};
  }

  std::string_view text_;
  std::vector<CToken> tokens_;
  std::string format_language_;
  size_t format_parameter_ = 0;
};

// "unsigned long int" and the like, by its words.
std::string atom_of_words(const std::multiset<std::string_view>& words) {
  const bool is_unsigned = words.contains("unsigned");
  const size_t longs = words.count("long");
  if (words.contains("_Complex")) return "";
  if (words.contains("__int128")) return is_unsigned ? "u128" : "s128";
  if (words.contains("double")) return longs ? "long double" : "double";
  if (words.contains("float")) return "float";
  if (words.contains("bool") || words.contains("_Bool")) return "u8";
  if (words.contains("char")) return is_unsigned ? "u8" : words.contains("signed") ? "s8" : "char";
  if (words.contains("short")) return is_unsigned ? "u16" : "s16";
  if (longs) return is_unsigned ? "u64" : "s64";
  return is_unsigned ? "u32" : "int";
}

// Words of a type without qualifiers.
std::vector<std::string_view> words_of(std::string_view type) {
  std::vector<std::string_view> words;
  for (const CToken& token : tokens_of(type))
    if (!is_in(token.text, kQualifiers)) words.push_back(token.text);
  return words;
}

std::string pointer_atom(const std::string& type) {
  if (type.find("(*") != type.npos) return "symbol";
  const std::vector<std::string_view> words = words_of(type);
  const std::vector<CToken> all = tokens_of(type);
  // In a texts's place only what the function reads: `char *` may be a buffer without a NUL.
  const bool is_const =
      std::any_of(all.begin(), all.end(), [](const CToken& one) { return one.text == "const"; });
  const bool is_text = is_const && words.size() == 2 && words[0] == "char" && words[1] == "*";
  // `char *const p`: the pointer is const, what it points at is not.
  const size_t star = type.find('*'), found = type.find("const");
  return is_text && found < star ? "string" : "x64";
}

// The second word of one is the address of its name.
bool is_type_info(const std::string& type) {
  const std::vector<std::string_view> words = words_of(type);
  return words.size() == 2 && words[0] == "std::type_info" && (words[1] == "*" || words[1] == "&");
}

// As C chooses it: of four bytes if that is wide enough.
std::string enum_atom(const std::vector<NamedValue>& names) {
  int64_t least = 0, most = 0;
  for (const NamedValue& one : names) {
    least = std::min(least, one.value);
    most = std::max(most, one.value);
  }
  if (least < INT32_MIN || most > UINT32_MAX || (least < 0 && most > INT32_MAX)) return "s64";
  return most > INT32_MAX ? "u32" : "int";
}

}  // namespace

Result<CDeclaration> parse_c_declaration(std::string_view text) { return Parser(text).run(); }

bool is_printf_like(const CDeclaration& declaration) {
  const std::vector<CDeclaration::Parameter>& parameters = declaration.parameters;
  if (!declaration.is_variadic || parameters.empty()) return false;
  if (declaration.format_language.empty())
    return patchbay::is_printf_like(declaration.name, parameters.back().name);
  return declaration.format_language == "printf" &&
         declaration.format_parameter == parameters.size();
}

bool CTypes::add_typedef(std::string_view line) {
  constexpr std::string_view kWord = "typedef ";
  if (!line.starts_with(kWord)) return false;
  // As a parameter of a function it is a type and a name.
  const std::string_view body = line.substr(kWord.size(), line.find_last_of(';') - kWord.size());
  Result<CDeclaration> as_parameter = parse_c_declaration("f(" + std::string(body) + ")");
  if (!as_parameter.ok() || as_parameter->parameters.size() != 1) return false;
  const CDeclaration::Parameter& one = as_parameter->parameters[0];
  if (one.name.empty()) return false;
  typedefs_[one.name] = one.type;
  return true;
}

Status CTypes::add_enum(std::string_view line) {
  PB_ASSIGN(CEnumeration parsed, parse_c_enumeration(line));
  const std::string tag = parsed.tag.empty() ? parsed.other_name : parsed.tag;
  if (!parsed.other_name.empty()) typedefs_[parsed.other_name] = "enum " + tag;
  const auto [found, is_new] = enums_.try_emplace(tag);
  if (!is_new) return {};
  Enumeration& made = found->second;
  bool is_known = true;
  made.atom =
      parsed.underlying.empty() ? enum_atom(parsed.names) : atom_of(parsed.underlying, &is_known);
  const ValueNames::Kind kind =
      parsed.are_flags ? ValueNames::Kind::kFlags : ValueNames::kind_of(tag, parsed.names);
  made.names = std::make_shared<const ValueNames>(std::move(parsed.names), kind);
  return {};
}

Status CTypes::add_struct(std::string_view line) {
  PB_ASSIGN(CStructure parsed, parse_c_structure(line));
  const std::string tag = parsed.tag.empty() ? parsed.other_name : parsed.tag;
  if (!parsed.other_name.empty()) typedefs_.try_emplace(parsed.other_name, "struct " + tag);
  structs_.try_emplace(tag, std::move(parsed.members));
  return {};
}

// "struct point"; C++ leaves out the first word.
const std::vector<CDeclaration::Parameter>* CTypes::members_of(const std::string& meaning) const {
  if (meaning.find_first_of("*[&(") != meaning.npos) return nullptr;
  const std::vector<std::string_view> words = words_of(meaning);
  if (words.empty() || words.size() > 2 || (words.size() == 2 && words[0] != "struct"))
    return nullptr;
  const auto found = structs_.find(std::string(words.back()));
  if (found != structs_.end()) return &found->second;
  return others_ ? others_()->members_of(meaning) : nullptr;
}

const std::string* CTypes::find_typedef(const std::string& name) const {
  const auto found = typedefs_.find(name);
  if (found != typedefs_.end()) return &found->second;
  return others_ ? others_()->find_typedef(name) : nullptr;
}

std::string CTypes::meaning_of(const std::string& type) const {
  std::string now = type;
  for (int i = 0; i < kMaxTypedefs; i++) {
    if (now.find_first_of("*[&(") != now.npos) return now;
    const std::vector<std::string_view> words = words_of(now);
    if (words.empty() || is_in(words[0], kTags) || is_in(words[0], kBuiltin)) return now;
    const std::string* const found = find_typedef(std::string(words[0]));
    if (!found) return now;
    now = *found;
  }
  return type;
}

// "enum color"; C++ leaves out the first word.
const CTypes::Enumeration* CTypes::enum_of(const std::string& meaning) const {
  const std::vector<std::string_view> words = words_of(meaning);
  if (words.empty() || words.size() > 2 || (words.size() == 2 && words[0] != "enum"))
    return nullptr;
  if (is_in(words.back(), kBuiltin)) return nullptr;
  const auto found = enums_.find(std::string(words.back()));
  if (found != enums_.end()) return &found->second;
  return others_ ? others_()->enum_of(meaning) : nullptr;
}

SharedValueNames CTypes::names_of(const std::string& type) const {
  const std::string meaning = meaning_of(type);
  const std::vector<std::string_view> words = words_of(meaning);
  if (words.size() == 1 && (words[0] == "bool" || words[0] == "_Bool")) return names_of_bool();
  const Enumeration* const found = enum_of(meaning);
  return found ? found->names : nullptr;
}

std::string CTypes::atom_of(const std::string& type, bool* is_known) const {
  const std::string meaning = meaning_of(type);
  if (meaning.find_first_of("*[&(") != meaning.npos) return pointer_atom(meaning);
  if (const Enumeration* found = enum_of(meaning)) return found->atom;
  if (members_of(meaning)) return "";
  const std::vector<std::string_view> words = words_of(meaning);
  if (!words.empty() && words[0] == "enum") return "int";
  if (!words.empty() && is_in(words[0], kTags)) return "";
  const bool is_builtin = std::all_of(words.begin(), words.end(),
                                      [](std::string_view word) { return is_in(word, kBuiltin); });
  if (!words.empty() && is_builtin) return atom_of_words({words.begin(), words.end()});
  *is_known = false;
  return "x64";
}

namespace {

bool is_in_memory(const std::string& text) {
  const FunctionEventParse parsed =
      parse_function_event("f(" + text + ")", [](std::string_view) { return 1; });
  return parsed.def && !parsed.def->args.empty() && class_of(parsed.def->args[0]).in_memory;
}

// Counts what the parameters take, as function_events will.
class Places {
 public:
  // False: it is behind the words of the stack that are read.
  bool take(const std::string& text) {
    const FunctionEventParse parsed =
        parse_function_event("f(" + text + ")", [](std::string_view) { return 1; });
    if (!parsed.def || parsed.def->args.size() != 1) return false;
    const ValueClass value = class_of(parsed.def->args[0]);
    ArgumentPlaces with = places_;
    with.take(value);
    if (with.stack > kMaxStackArgs) return false;
    places_ = with;
    return true;
  }

 private:
  ArgumentPlaces places_;
};

// A number of 16 bytes is shown as one (object_form.h).
ObjectArgument wide_number(const std::string& atom, const std::string& name) {
  ObjectForm form;
  form.show = atom == "s128"   ? ObjectForm::Show::kSigned
              : atom == "u128" ? ObjectForm::Show::kUnsigned
                               : ObjectForm::Show::kFloat;
  form.size = 16;
  form.field = name;
  return {name, {name}, std::move(form)};
}

bool is_wide_atom(const std::string& atom) {
  return atom == "s128" || atom == "u128" || atom == "long double";
}

WholeResult whole_result(const CDeclaration& declaration, const CTypes& types) {
  const std::string name(kResultField);
  bool is_known = true;
  const std::string atom = types.atom_of(declaration.result, &is_known);
  WholeResult made;
  // A long double is in a register of its own.
  if (is_wide_atom(atom) && atom != "long double") {
    made.text = atom + " " + name;
    made.object = wide_number(atom, "ret");
  } else if (std::optional<StructureArgument> structure =
                 structure_argument(types, declaration.result, name)) {
    made.text = structure->text;
    made.object = std::move(structure->object);
  }
  made.object.is_result = true;
  return made;
}

void add_value_names(const CDeclaration::Parameter& parameter, const CTypes& types,
                     FunctionValueNames* all) {
  if (SharedValueNames names = types.names_of(parameter.type))
    all->arguments.emplace_back(parameter.name, std::move(names));
  if (parameter.type == "mode_t" || parameter.type == "__mode_t")
    all->octal.push_back(parameter.name);
}

}  // namespace

namespace {

struct RestParameter {
  CDeclaration::Parameter parameter;
  ArgumentCondition condition;
};

// "mode_t mode if oflag & 0x410040", "int arg if cmd = 0 2 4", "void *arg".
std::optional<RestParameter> rest_parameter(std::string_view text) {
  constexpr std::string_view kIf = " if ";
  const size_t at = text.find(kIf);
  Result<CDeclaration> made = parse_c_declaration("f(" + std::string(text.substr(0, at)) + ")");
  if (!made.ok() || made->parameters.size() != 1 || made->parameters[0].name.empty())
    return std::nullopt;
  RestParameter rest{made->parameters[0], {}};
  rest.condition.argument = rest.parameter.name;
  if (at == text.npos) return rest;
  const std::vector<std::string_view> words = split_words(text.substr(at + kIf.size()));
  if (words.size() < 3 || (words[1] != "&" && words[1] != "=")) return std::nullopt;
  rest.condition.of = words[0];
  for (size_t i = 2; i < words.size(); i++) {
    const bool is_hex = words[i].starts_with("0x");
    uint64_t number = 0;
    if (!to_number(is_hex ? words[i].substr(2) : words[i], &number, is_hex ? 16 : 10))
      return std::nullopt;
    if (words[1] == "&")
      rest.condition.mask |= number;
    else
      rest.condition.values.push_back(number);
  }
  return rest;
}

// What `rest` says, to the end of the list.
void add_rest(const std::string& rest, const CTypes& types, Places* places, std::string* list,
              FunctionLine* made) {
  std::string_view positions = rest;
  while (!trim(positions).empty()) {
    std::string_view one = cut_at(&positions, ';');
    std::string text;
    while (!trim(one).empty()) {
      const std::optional<RestParameter> parameter = rest_parameter(trim(cut_at(&one, '|')));
      bool is_known = true;
      const std::string atom = parameter ? types.atom_of(parameter->parameter.type, &is_known) : "";
      if (atom.empty() || is_wide_atom(atom)) return;
      text += (text.empty() ? "" : " | ") + atom + " " + parameter->parameter.name;
      if (!parameter->condition.of.empty()) made->names.conditions.push_back(parameter->condition);
      add_value_names(parameter->parameter, types, &made->names);
    }
    if (!places->take(text)) return;
    *list += (list->empty() ? "" : ", ") + text;
  }
}

}  // namespace

FunctionLine function_line(const CDeclaration& declaration, const CTypes& types,
                           const std::string& name, const std::string& rest) {
  FunctionLine made;
  std::string list;
  Places places;
  size_t number = 0;
  bool is_whole = true;  // nothing is left out
  std::string last_atom;
  const auto left_out = [&](const CDeclaration::Parameter& parameter, const char* why) {
    const std::string shown = parameter.name.empty() ? "?" : parameter.name;
    made.notes.push_back("'" + shown + "' (" + parameter.type + ") of " + declaration.name + "() " +
                         why + " and left out");
    made.objects.push_back(left_out_argument(shown, number - 1));
    is_whole = false;
  };
  // The address of a result in memory is passed before all others.
  if (std::optional<StructureArgument> result = structure_argument(types, declaration.result, "r"))
    if (is_in_memory(result->text) && places.take("NULL")) list = "NULL";
  for (const CDeclaration::Parameter& parameter : declaration.parameters) {
    number++;
    bool is_known = true;
    const std::string shown =
        parameter.name.empty() ? "arg" + std::to_string(number) : parameter.name;
    const std::string atom = types.atom_of(parameter.type, &is_known);
    std::optional<StructureArgument> structure = structure_argument(types, parameter.type, shown);
    if (atom.empty() && !structure) {
      // What follows depends on whether it is passed in registers.
      left_out(parameter, "is passed by value, as all behind it may be,");
      break;
    }
    if (!is_known && !structure)
      made.notes.push_back("the type '" + parameter.type + "' of '" + parameter.name +
                           "' is not known: it is shown as a hexadecimal word");
    const std::string text = structure ? structure->text : atom + " " + shown;
    if (!places.take(text)) {
      left_out(parameter, "is behind the 32 words of the stack that are read,");
      continue;
    }
    last_atom = structure ? "" : atom;
    list += list.empty() ? "" : ", ";
    if (is_type_info(parameter.type)) {
      list += "string " + shown + "+8[0]+0";
      ObjectForm form;
      form.kind = ObjectForm::Kind::kTypeName;
      form.field = shown;
      made.objects.push_back({shown, {shown}, std::move(form)});
      continue;
    }
    list += text;
    if (structure) made.objects.push_back(std::move(structure->object));
    if (!structure && is_wide_atom(atom)) made.objects.push_back(wide_number(atom, shown));
    add_value_names({parameter.type, shown}, types, &made.names);
  }
  if (is_printf_like(declaration) && is_whole && last_atom == "string")
    list += ", ...";
  else if (made.notes.empty())
    add_rest(rest, types, &places, &list, &made);
  made.names.result = types.names_of(declaration.result);
  made.whole = whole_result(declaration, types);
  made.line = name + "(" + list + ")";
  return made;
}

std::string result_atom(const CDeclaration& declaration, const CTypes& types) {
  const std::vector<std::string_view> words = words_of(declaration.result);
  if (words.size() == 1 && words[0] == "void") return "void";
  // What a function returns as `char *` ends with a NUL, unlike a buffer that it is given.
  if (words.size() == 2 && words[0] == "char" && words[1] == "*") return "string";
  if (words.size() == 2 && words[0] == "long" && words[1] == "double") return "float80";
  bool is_known = !words.empty();
  const std::string atom = types.atom_of(declaration.result, &is_known);
  return is_known && !is_wide_atom(atom) ? atom : "";
}

}  // namespace patchbay::cmd
