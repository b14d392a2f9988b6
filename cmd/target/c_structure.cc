// SPDX-License-Identifier: MIT
#include "cmd/target/c_structure.h"

#include <algorithm>
#include <cerrno>
#include <charconv>

#include "base/text.h"
#include "cmd/target/c_tokens.h"
#include "event/function_event_atom.h"

namespace patchbay::cmd {
namespace {

using Kind = ObjectForm::Kind;
using Show = ObjectForm::Show;

constexpr size_t kMaxStructureText = 1 << 16, kMostMembers = 64;
constexpr uint64_t kMostElements = 32;  // of an array
constexpr int kMaxNesting = 4;

// "int x, *y[3]" -> "int x", "int *y[3]".
Status add_members(std::string_view text, std::vector<CDeclaration::Parameter>* members) {
  std::string base;
  for (size_t begin = 0; begin < text.size();) {
    int depth = 0;
    size_t end = begin;
    for (; end < text.size() && (depth || text[end] != ','); end++)
      depth += text[end] == '(' || text[end] == '['   ? 1
               : text[end] == ')' || text[end] == ']' ? -1
                                                      : 0;
    const std::string one = base + std::string(text.substr(begin, end - begin));
    PB_ASSIGN(CDeclaration parsed, parse_c_declaration("f(" + one + ")"));
    if (parsed.parameters.size() != 1 || parsed.parameters[0].name.empty())
      return user_error(EINVAL, "A member has a type and a name: " + one);
    members->push_back(parsed.parameters[0]);
    // The type alone, for those behind a ','.
    if (base.empty()) {
      const std::string& name = parsed.parameters[0].name;
      const size_t at = one.find_first_of("*[(");
      base = one.substr(0, std::min(at, one.rfind(name))) + " ";
    }
    begin = end + 1;
  }
  return {};
}

}  // namespace

bool is_c_structure(std::string_view line) {
  if (line.starts_with("typedef ")) line.remove_prefix(8);
  const size_t open = line.find('{');
  return line.starts_with("struct ") && open != line.npos && line.find('(') > open;
}

Result<CStructure> parse_c_structure(std::string_view line) {
  const auto wrong = [&](const char* what) {
    return user_error(EINVAL, std::string(what) + ": " + std::string(line.substr(0, 200)));
  };
  if (line.size() > kMaxStructureText) return wrong("A structure is shorter");
  CStructure made;
  const bool is_typedef = line.starts_with("typedef ");
  const size_t open = line.find('{'), close = line.rfind('}');
  if (open == line.npos || close == line.npos || close < open)
    return wrong("A structure has its members in braces");
  const std::vector<std::string_view> head = split_words(line.substr(0, open));
  const size_t nr_words = is_typedef ? 2 : 1;
  if (head.size() > nr_words) made.tag = head[nr_words];
  std::string_view body = line.substr(open + 1, close - open - 1);
  if (body.find_first_of("{:") != body.npos)
    return wrong("A structure's members are numbers, pointers, arrays and structures by name");
  while (!trim(body).empty()) {
    const size_t end = body.find(';');
    if (end == body.npos) return wrong("A ';' is missing");
    PB_TRY(add_members(trim(body.substr(0, end)), &made.members));
    if (made.members.size() > kMostMembers) return wrong("A structure has fewer members");
    body.remove_prefix(end + 1);
  }
  const std::string_view behind = trim(line.substr(close + 1));
  const std::string_view name = trim(behind.substr(0, behind.find(';')));
  if (is_typedef) made.other_name = name;
  const bool has_name = !made.tag.empty() || !made.other_name.empty();
  const bool is_word_alone = std::all_of(name.begin(), name.end(), is_word_char);
  if (!has_name || !is_word_alone || (!is_typedef && !name.empty()) || made.members.empty())
    return wrong("A structure has a name and members");
  return made;
}

namespace {

ObjectForm::Show show_of(const FunctionEventAtom& atom) {
  if (atom.name == "float" || atom.name == "double" || atom.name == "float80") return Show::kFloat;
  if (atom.name == "symbol") return Show::kSymbol;
  if (atom.name == "x64") return Show::kPointer;
  if (atom.name == "char") return Show::kChar;
  return atom.is_signed ? Show::kSigned : Show::kUnsigned;
}

// The members of a structure one behind the other, with what C leaves free behind one inside.
class Members {
 public:
  Members(const CTypes& types, const std::string& name) : types_(types), name_(name) {}

  bool add_all(const std::string& type, const std::string& path, int depth, ObjectForm* form);
  std::string text_;
  std::vector<std::string> fields_;

 private:
  bool add(const std::string& type, const std::string& path, int depth, ObjectForm* form);
  bool add_array(const std::string& type, const std::string& path, int depth, ObjectForm* form);
  bool add_number(const std::string& type, const std::string& path, ObjectForm* form);
  std::string put(const std::string& word, uint32_t bytes, const std::string& path);
  void pad(uint32_t alignment) {
    while (end_ % alignment != 0) {
      uint32_t bytes = 1;
      while (end_ % (bytes * 2) == 0 && end_ + bytes * 2 <= (end_ / alignment + 1) * alignment)
        bytes *= 2;
      // What is free beside a float is passed as that is.
      const bool is_float = last_is_float_ && bytes == 4;
      put(is_float ? "float" : "x" + std::to_string(bytes * 8), bytes,
          "free" + std::to_string(fields_.size()));
    }
  }

  const CTypes& types_;
  const std::string& name_;
  uint32_t end_ = 0, alignment_ = 1;
  bool last_is_float_ = false;
};

std::string Members::put(const std::string& word, uint32_t bytes, const std::string& path) {
  text_ += (text_.empty() ? "" : ", ") + word + " " + path;
  end_ = (end_ + bytes - 1) / bytes * bytes + bytes;
  alignment_ = std::max(alignment_, bytes);
  last_is_float_ = word == "float" || word == "double";
  fields_.push_back(name_ + "_" + path);
  return fields_.back();
}

bool Members::add_number(const std::string& type, const std::string& path, ObjectForm* form) {
  bool is_known = true;
  const std::string word = types_.atom_of(type, &is_known);
  const bool is_long_double = word == "long double";
  const FunctionEventAtom* const atom = find_atom(is_long_double ? "float80" : word);
  if (!atom || !is_known || fields_.size() == kMostMembers) return false;
  const bool is_text = word == "string";
  form->kind = is_text ? Kind::kCText : word == "x64" ? Kind::kPointer : Kind::kScalar;
  form->size = is_text ? 8 : atom->size;
  form->show = show_of(*atom);
  if (form->kind == Kind::kPointer) form->unit = "NULL";
  form->names = types_.names_of(type);
  form->field = put(word, form->size, path);
  return true;
}

// "int[3]".
bool Members::add_array(const std::string& type, const std::string& path, int depth,
                        ObjectForm* form) {
  const size_t open = type.find('[');
  uint64_t count = 0;
  const std::string number(trim(std::string_view(type).substr(open + 1, type.size() - open - 2)));
  const char* const end = number.data() + number.size();
  const auto [at, error] = std::from_chars(number.data(), end, count, 10);
  if (error != std::errc() || at != end || count == 0 || count > kMostElements) return false;
  const std::string element(trim(std::string_view(type).substr(0, open)));
  bool is_known = true;
  form->kind = types_.atom_of(element, &is_known) == "char" ? Kind::kCharacters : Kind::kElements;
  for (uint64_t i = 0; i < count; i++)
    if (!add(element, path + "_" + std::to_string(i), depth + 1, &form->parts.emplace_back()))
      return false;
  return true;
}

bool Members::add(const std::string& type, const std::string& path, int depth, ObjectForm* form) {
  if (depth > kMaxNesting) return false;
  const std::string meaning = types_.meaning_of(type);
  if (meaning.ends_with(']')) return add_array(meaning, path, depth, form);
  if (!types_.members_of(meaning)) return add_number(type, path, form);
  // Where it begins and ends is decided by the widest of its members.
  ObjectForm unused;
  Members alone(types_, name_);
  if (!alone.add_all(meaning, path, depth, &unused)) return false;
  pad(alone.alignment_);
  const bool is_added = add_all(meaning, path, depth, form);
  pad(alone.alignment_);
  return is_added;
}

bool Members::add_all(const std::string& type, const std::string& path, int depth,
                      ObjectForm* form) {
  const std::vector<CDeclaration::Parameter>* const members = types_.members_of(type);
  if (!members) return false;
  form->kind = Kind::kMembers;
  for (const CDeclaration::Parameter& member : *members) {
    ObjectForm& part = form->parts.emplace_back();
    part.name = member.name;
    const std::string here = path.empty() ? member.name : path + "_" + member.name;
    if (!add(member.type, here, depth + 1, &part)) return false;
  }
  return true;
}

}  // namespace

std::optional<StructureArgument> structure_argument(const CTypes& types, const std::string& type,
                                                    const std::string& name) {
  const std::string meaning = types.meaning_of(type);
  if (!types.members_of(meaning)) return std::nullopt;
  StructureArgument made;
  Members members(types, name);
  if (!members.add_all(meaning, "", 0, &made.object.form)) return std::nullopt;
  made.text = "struct {" + members.text_ + "} " + name;
  made.object.name = name;
  made.object.fields = std::move(members.fields_);
  return made;
}

}  // namespace patchbay::cmd
