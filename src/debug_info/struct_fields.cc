// SPDX-License-Identifier: MIT
#include "debug_info/struct_fields.h"

#include <dwarf.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <iterator>

#include "event/function_event.h"
#include "event/function_event_atom.h"

namespace patchbay {
namespace {

using Kind = ObjectForm::Kind;
using Show = ObjectForm::Show;

constexpr uint64_t kMostBytes = 8 * kMaxStackArgs;
constexpr size_t kMostMembers = 64;     // with the elements of arrays
constexpr uint64_t kMostElements = 32;  // of an array inside
constexpr int kMaxNesting = 4;
constexpr size_t kMostTexts = 3;  // a call keeps few
constexpr char kUnshown[] = "{…}";

bool points_to_function(const TypeFacts& facts) {
  return facts.kind == TypeKind::kPointer && !facts.is_reference &&
         facts_of(element_of(facts)).kind == TypeKind::kFunction;
}

}  // namespace

Show show_of(const TypeFacts& facts) {
  if (facts.kind == TypeKind::kFloat) return Show::kFloat;
  if (points_to_function(facts)) return Show::kSymbol;
  if (facts.kind == TypeKind::kPointer) return Show::kPointer;
  if (facts.is_bool) return Show::kBool;
  if (facts.is_plain_char) return Show::kChar;
  return facts.is_signed ? Show::kSigned : Show::kUnsigned;
}

bool is_text_pointer(const TypeFacts& facts) {
  std::optional<Dwarf_Die> element = element_of(facts);
  bool is_const = false;
  for (int i = 0; element && i < kMaxDepth; i++) {
    const int tag = ::dwarf_tag(&*element);
    is_const |= tag == DW_TAG_const_type;
    if (tag != DW_TAG_const_type && tag != DW_TAG_volatile_type && tag != DW_TAG_typedef) break;
    element = type_of(*element);
  }
  return facts.kind == TypeKind::kPointer && is_const && facts_of(element).is_plain_char;
}

std::string number_word(const TypeFacts& facts) {
  if (points_to_function(facts)) return "symbol";
  if (facts.kind == TypeKind::kPointer || is_transparent_union(facts)) return "x64";
  return scalar_type(facts);
}

std::string wide_word(const TypeFacts& facts) {
  if (facts.size != 16 || !facts.die) return "";
  if (facts.kind == TypeKind::kInteger) return facts.is_signed ? "s128" : "u128";
  const bool is_long_double =
      facts.kind == TypeKind::kFloat && name_of(*facts.die) == "long double";
  return is_long_double ? "long double" : "";
}

namespace {

// The members of a structure, one behind the other.
class Layout {
 public:
  Layout(const std::string& name, const std::string& scope, const FieldName& field_name)
      : name_(name), scope_(scope), field_name_(field_name) {}

  // False: C would lay out a list of these members otherwise.
  bool add_all(const TypeFacts& structure, ObjectForm* form) {
    return add_members(structure, 0, "", 0, form) && pad_to_end(structure.size) && count_ > 0;
  }
  const std::string& text() const { return text_; }
  std::vector<std::string> take_fields() { return std::move(fields_); }

  bool add(const TypeFacts& facts, uint64_t offset, const std::string& path, int depth,
           ObjectForm* form);

 private:
  bool add_members(const TypeFacts& structure, uint64_t base, const std::string& path, int depth,
                   ObjectForm* form);
  bool add_array(const TypeFacts& facts, uint64_t offset, const std::string& path, int depth,
                 ObjectForm* form);
  bool add_number(const TypeFacts& facts, uint64_t offset, const std::string& path,
                  ObjectForm* form);
  bool pad_to(uint64_t offset);
  bool pad_to_end(uint64_t size) {
    const uint64_t natural = (end_ + alignment_ - 1) / alignment_ * alignment_;
    return natural == size || (natural < size && pad_to(size));
  }
  bool put(const std::string& word, uint64_t bytes, uint64_t offset, const std::string& path,
           std::string* field);

  const std::string& name_;
  const std::string& scope_;
  const FieldName& field_name_;
  std::string text_;
  std::vector<std::string> fields_;
  uint64_t end_ = 0, alignment_ = 1;
  size_t count_ = 0, texts_ = 0;
};

bool Layout::put(const std::string& word, uint64_t bytes, uint64_t offset, const std::string& path,
                 std::string* field) {
  const uint64_t next = (end_ + bytes - 1) / bytes * bytes;
  if (offset % bytes != 0 || next > offset || ++count_ > kMostMembers) return false;
  if (next < offset && !pad_to(offset)) return false;
  *field = field_name_(name_ + "_" + path);
  if (!field->starts_with(name_ + "_") || field->size() <= name_.size() + 1) return false;
  text_ += (text_.empty() ? "" : ", ") + word + " " + field->substr(name_.size() + 1);
  fields_.push_back(*field);
  end_ = offset + bytes;
  alignment_ = std::max(alignment_, bytes);
  return true;
}

// What C would not leave free by itself.
bool Layout::pad_to(uint64_t offset) {
  while (end_ < offset) {
    uint64_t bytes = 8;
    while (end_ % bytes != 0 || end_ + bytes > offset) bytes /= 2;
    std::string field;
    if (!put("x" + std::to_string(bytes * 8), bytes, end_, "free", &field)) return false;
  }
  return true;
}

bool Layout::add_number(const TypeFacts& facts, uint64_t offset, const std::string& path,
                        ObjectForm* form) {
  const bool is_text = is_text_pointer(facts) && texts_ < kMostTexts;
  std::string word = wide_word(facts);
  if (word.empty()) word = is_text ? "string" : number_word(facts);
  if (word.empty() || facts.size == 0) return false;
  form->kind = is_text                            ? Kind::kCText
               : facts.kind == TypeKind::kPointer ? Kind::kPointer
                                                  : Kind::kScalar;
  form->show = show_of(facts);
  if (form->show == Show::kSymbol) form->kind = Kind::kScalar;
  if (form->kind == Kind::kPointer) form->unit = "NULL";
  form->size = uint32_t(facts.size);
  form->names = value_names_of(facts, scope_);
  texts_ += is_text;
  return put(word, facts.size, offset, path, &form->field);
}

bool Layout::add_array(const TypeFacts& facts, uint64_t offset, const std::string& path, int depth,
                       ObjectForm* form) {
  const TypeFacts element = facts_of(element_of(facts));
  const uint64_t count = element.size ? facts.size / element.size : 0;
  if (dimensions_of(facts) != 1 || count == 0 || count > kMostElements ||
      flag_of(*facts.die, DW_AT_GNU_vector))
    return false;
  form->kind = element.is_plain_char ? Kind::kCharacters : Kind::kElements;
  for (uint64_t i = 0; i < count; i++) {
    ObjectForm& part = form->parts.emplace_back();
    const std::string here = path + "_" + std::to_string(i);
    if (!add(element, offset + i * element.size, here, depth + 1, &part)) return false;
  }
  return true;
}

bool Layout::add(const TypeFacts& facts, uint64_t offset, const std::string& path, int depth,
                 ObjectForm* form) {
  if (depth > kMaxNesting || !facts.die) return false;
  if (facts.kind == TypeKind::kArray) return add_array(facts, offset, path, depth, form);
  if (facts.kind == TypeKind::kAggregate && !is_transparent_union(facts))
    return add_members(facts, offset, path, depth, form) && offset + facts.size >= end_;
  return add_number(facts, offset, path, form);
}

bool Layout::add_members(const TypeFacts& structure, uint64_t base, const std::string& path,
                         int depth, ObjectForm* form) {
  form->kind = Kind::kMembers;
  for (const Member& member : members_of(structure)) {
    if (!member.has_offset) continue;
    const TypeFacts facts = facts_of(member.type);
    if (facts.kind == TypeKind::kAggregate && members_of(facts).empty()) continue;
    if (member.bit_size) return false;
    ObjectForm& part = form->parts.emplace_back();
    part.name = member.name;
    const std::string name = make_identifier(member.name);
    const std::string here = path.empty() ? name : path + "_" + name;
    if (!add(facts, base + member.offset, here, depth + 1, &part)) return false;
  }
  return true;
}

// Structures of which parts are passed: what each register has of them.
class PartialLayout {
 public:
  using Register = PassedParameter::Register;
  PartialLayout(const Where& parts, const std::string& name, const std::string& scope,
                const FieldName& field_name)
      : parts_(parts), name_(name), scope_(scope), field_name_(field_name) {}
  std::optional<PartialFields> make(const TypeFacts& structure,
                                    const std::function<bool(Register)>& can_have);

 private:
  struct Leaf {
    TypeFacts facts;
    std::string path;
    Where where;
    std::optional<Register> reg;
    std::string field;  // "": it is in none
  };
  bool collect(const TypeFacts& structure, uint64_t base, const std::string& path, int depth);
  bool place(Register reg, PartialFields* made);
  bool fill(const TypeFacts& structure, int depth, ObjectForm* form, PartialFields* made);
  ObjectForm shown(const Leaf& leaf, PartialFields* made) const;

  const Where& parts_;
  const std::string& name_;
  const std::string& scope_;
  const FieldName& field_name_;
  std::vector<Leaf> leaves_;
  size_t next_ = 0;  // of leaves_, as fill() goes through the members once more
};

std::optional<PassedParameter::Register> register_of(const Where& where) {
  const LoadChain& chain = where.chain;
  const bool is_plain = where.kind == Where::Kind::kValue && chain.loads.empty() && chain.add == 0;
  if (!is_plain) return std::nullopt;
  if (chain.start == LoadChain::Start::kVector && chain.number < 8)
    return PassedParameter::Register{true, unsigned(chain.number)};
  const auto* found =
      std::find(std::begin(kArgumentRegisters), std::end(kArgumentRegisters), chain.number);
  if (chain.start != LoadChain::Start::kRegister || found == std::end(kArgumentRegisters))
    return std::nullopt;
  return PassedParameter::Register{false, unsigned(found - std::begin(kArgumentRegisters))};
}

bool PartialLayout::collect(const TypeFacts& structure, uint64_t base, const std::string& path,
                            int depth) {
  if (depth > kMaxNesting) return false;
  for (const Member& member : members_of(structure)) {
    if (!member.has_offset) continue;
    const TypeFacts facts = facts_of(member.type);
    const std::string name = make_identifier(member.name);
    const std::string here = path.empty() ? name : path + "_" + name;
    const uint64_t offset = base + member.offset;
    if (member.bit_size || name.empty() || leaves_.size() == kMostMembers) return false;
    if (facts.kind == TypeKind::kAggregate) {
      if (!collect(facts, offset, here, depth + 1)) return false;
      continue;
    }
    Leaf leaf{facts, here, part_of(parts_, offset, facts.size), std::nullopt, ""};
    const bool is_whole = leaf.where.first_bit + facts.size * 8 <= leaf.where.chain.width;
    if (facts.size > 0 && facts.size <= 8 && is_whole) leaf.reg = register_of(leaf.where);
    leaves_.push_back(std::move(leaf));
  }
  return true;
}

// A structure of what is in it. False: C would lay it out otherwise.
bool PartialLayout::place(Register reg, PartialFields* made) {
  std::vector<Leaf*> inside;
  for (Leaf& leaf : leaves_)
    if (leaf.reg && leaf.reg->is_vector == reg.is_vector && leaf.reg->index == reg.index)
      inside.push_back(&leaf);
  std::sort(inside.begin(), inside.end(),
            [](const Leaf* a, const Leaf* b) { return a->where.first_bit < b->where.first_bit; });
  // A list of floating-point numbers alone is in a vector register, any other in a general one.
  const bool is_real = std::all_of(inside.begin(), inside.end(), [](const Leaf* leaf) {
    return leaf->facts.kind == TypeKind::kFloat;
  });
  if (is_real != reg.is_vector) return true;
  Layout layout(name_, scope_, field_name_);
  std::vector<ObjectForm> forms(inside.size());
  for (size_t i = 0; i < inside.size(); i++)
    if (!layout.add(inside[i]->facts, inside[i]->where.first_bit / 8, inside[i]->path, 0,
                    &forms[i]))
      return false;
  for (size_t i = 0; i < inside.size(); i++) inside[i]->field = forms[i].field;
  const std::vector<std::string> fields = layout.take_fields();
  made->argument.fields.insert(made->argument.fields.end(), fields.begin(), fields.end());
  made->positions.push_back({reg, "struct {" + layout.text() + "} " + name_});
  return true;
}

ObjectForm PartialLayout::shown(const Leaf& leaf, PartialFields* made) const {
  ObjectForm form;
  if (leaf.field.empty()) {
    form.kind = Kind::kMark;
    form.unit = "?";
    made->unknown.push_back(name_ + "_" + leaf.path);
    return form;
  }
  form.kind = is_text_pointer(leaf.facts)             ? Kind::kCText
              : leaf.facts.kind == TypeKind::kPointer ? Kind::kPointer
                                                      : Kind::kScalar;
  form.show = show_of(leaf.facts);
  if (form.show == Show::kSymbol) form.kind = Kind::kScalar;
  if (form.kind == Kind::kPointer) form.unit = "NULL";
  form.size = uint32_t(leaf.facts.size);
  form.names = value_names_of(leaf.facts, scope_);
  form.field = leaf.field;
  return form;
}

bool PartialLayout::fill(const TypeFacts& structure, int depth, ObjectForm* form,
                         PartialFields* made) {
  form->kind = Kind::kMembers;
  for (const Member& member : members_of(structure)) {
    if (!member.has_offset) continue;
    const TypeFacts facts = facts_of(member.type);
    ObjectForm part;
    if (facts.kind == TypeKind::kAggregate)
      fill(facts, depth + 1, &part, made);
    else
      part = shown(leaves_[next_++], made);
    part.name = member.name;
    form->parts.push_back(std::move(part));
  }
  return true;
}

std::optional<PartialFields> PartialLayout::make(const TypeFacts& structure,
                                                 const std::function<bool(Register)>& can_have) {
  if (!collect(structure, 0, "", 0)) return std::nullopt;
  PartialFields made;
  for (const bool is_vector : {false, true})
    for (unsigned i = 0; i < 8; i++)
      if (std::any_of(leaves_.begin(), leaves_.end(),
                      [&](const Leaf& leaf) {
                        return leaf.reg && leaf.reg->is_vector == is_vector && leaf.reg->index == i;
                      }) &&
          can_have({is_vector, i}) && !place({is_vector, i}, &made))
        return std::nullopt;
  if (made.positions.empty()) return std::nullopt;
  made.argument.name = name_;
  fill(structure, 0, &made.argument.form, &made);
  return made;
}

// Words of 8 bytes that are passed as the structure is, where its members say nothing to C.
std::string words_of(const TypeFacts& facts) {
  const PassedClass passed = passed_class(facts.die);
  const bool is_wide = passed.in_memory && passed.is_aligned;
  const uint64_t bytes = is_wide ? 16 : 8;
  std::string text;
  for (uint64_t i = 0; i < (facts.size + bytes - 1) / bytes; i++) {
    const bool is_vector = !passed.in_memory && i < 2 && passed.is_vector[i];
    text += (i ? ", " : "") +
            std::string(is_vector ? "double"
                        : is_wide ? "x128"
                                  : "x64") +
            " w" + std::to_string(i);
  }
  return text;
}

// Where it is virtual its first word is a number, which is no function's address.
StructFields member_function(const std::string& name) {
  StructFields made;
  made.position = "struct {symbol function, s64 adjusted} " + name;
  made.argument = {name, {name + "_function", name + "_adjusted"}, {}};
  made.argument.form.show = Show::kSymbol;
  made.argument.form.size = 8;
  made.argument.form.field = name + "_function";
  return made;
}

// A member of a member, by its name; null: there is none.
const ObjectForm* find_part(const ObjectForm& form, std::string_view name) {
  for (const ObjectForm& part : form.parts) {
    if (part.name == name && part.kind != Kind::kMembers) return &part;
    if (const ObjectForm* const found = find_part(part, name)) return found;
  }
  return nullptr;
}

// What the library's own structures are for a person: std::array its elements, std::optional its
// value or none. The members of others are no one's business.
void show_library_class(const TypeFacts& facts, ObjectForm* form) {
  const std::string name = type_name(facts.die);
  if (!name.starts_with("std::")) return;
  const ObjectForm* const value = find_part(*form, "_M_value");
  const ObjectForm* const flag = find_part(*form, "_M_engaged");
  ObjectForm shown;
  shown.kind = Kind::kMark;
  shown.unit = kUnshown;
  if (name_of(*facts.die).starts_with("array<") && form->parts.size() == 1) {
    shown = form->parts[0];
  } else if (name_of(*facts.die).starts_with("optional<") && value && flag) {
    shown.kind = Kind::kOptional;
    shown.flag = flag->field;
    shown.parts = {*value};
  } else if (find_part(*form, "first") && find_part(*form, "second")) {
    return;  // std::pair
  }
  *form = std::move(shown);
}

}  // namespace

std::optional<PartialFields> partial_fields(
    const PassedParameter& parameter, const std::string& name, const std::string& scope,
    const FieldName& field_name, const std::function<bool(PassedParameter::Register)>& can_have) {
  const TypeFacts facts = facts_of(parameter.type);
  Dwarf_Die die = facts.die.value_or(Dwarf_Die{});
  const bool is_structure = facts.kind == TypeKind::kAggregate && facts.die &&
                            ::dwarf_tag(&die) != DW_TAG_union_type &&
                            !type_name(facts.die).starts_with("std::") &&
                            !name_of(die).starts_with('&');  // Rust's texts and slices
  if (!is_structure) return std::nullopt;
  return PartialLayout(parameter.parts, name, scope, field_name).make(facts, can_have);
}

std::string constant_text(const TypeFacts& facts, const std::string& bytes,
                          const std::string& name) {
  const bool is_wide = !wide_word(facts).empty();
  const bool is_float = facts.kind == TypeKind::kFloat;
  // Of a long double 10 bytes are its own.
  constexpr size_t kOwn = 10;
  const std::string word = is_wide ? (is_float ? "double" : "s64") : number_word(facts);
  const size_t size = is_wide && is_float ? kOwn : facts.size;
  if (word.empty() || size == 0 || size > 16 || bytes.size() < size) return "";
  const std::string begin = word + " " + name + "=\\";
  if (is_float) {
    long double wide = 0;
    double number = 0;
    float narrow = 0;
    if (size == sizeof narrow) {
      std::memcpy(&narrow, bytes.data(), sizeof narrow);
      number = double(narrow);
    } else if (size == sizeof number) {
      std::memcpy(&number, bytes.data(), sizeof number);
    } else {
      std::memcpy(&wide, bytes.data(), kOwn);
      number = double(wide);
      if (static_cast<long double>(number) != wide) return "";
    }
    char text[40];
    std::snprintf(text, sizeof text, "%.17g", number);
    return begin + text;
  }
  uint64_t words[2] = {};
  std::memcpy(words, bytes.data(), std::min(size, sizeof words));
  const unsigned unused = unsigned(64 - std::min<size_t>(size, 8) * 8);
  const auto value = int64_t(words[0] << unused) >> unused;
  // 16 bytes that are a number of 8.
  if (is_wide && words[1] != (facts.is_signed && value < 0 ? ~uint64_t{0} : 0)) return "";
  if (is_wide && !facts.is_signed && value < 0) return "";
  return begin + (facts.is_signed ? std::to_string(value) : std::to_string(words[0]));
}

std::optional<StructFields> struct_fields(const TypeFacts& facts, const std::string& name,
                                          const std::string& scope, const FieldName& field_name) {
  if (is_member_function_pointer(facts)) return member_function(name);
  if (facts.kind != TypeKind::kAggregate || !facts.die || facts.size == 0 ||
      facts.size > kMostBytes || is_transparent_union(facts))
    return std::nullopt;
  StructFields made;
  made.argument.name = name;
  Layout layout(name, scope, field_name);
  Dwarf_Die die = *facts.die;
  const bool is_union = ::dwarf_tag(&die) == DW_TAG_union_type;
  if (!is_union && layout.add_all(facts, &made.argument.form)) {
    made.position = "struct {" + layout.text() + "} " + name;
    show_library_class(facts, &made.argument.form);
    made.argument.fields = layout.take_fields();
    return made;
  }
  made.argument.form = {};
  made.argument.form.kind = Kind::kMark;
  made.argument.form.unit = kUnshown;
  const std::string words = words_of(facts);
  made.position = "struct {" + words + "} " + name;
  for (size_t i = 0; i < size_t(std::count(words.begin(), words.end(), ',')) + 1; i++)
    made.argument.fields.push_back(name + "_w" + std::to_string(i));
  return made;
}

bool is_passed_alike(const std::string& position, const PassedParameter& parameter,
                     uint32_t* nr_stack) {
  const FunctionEventParse parsed =
      parse_function_event("f(" + position + ")", [](std::string_view) { return 1; });
  if (!parsed.def || parsed.def->args.size() != 1) return false;
  const ValueClass value = class_of(parsed.def->args[0]);
  if (!parameter.registers.empty()) {
    bool is_alike = !value.in_memory && value.nr_words == parameter.registers.size();
    for (size_t i = 0; is_alike && i < parameter.registers.size(); i++)
      is_alike = parameter.registers[i].is_vector == value.is_vector[i];
    return is_alike;
  }
  if (value.in_memory != parameter.in_memory) return false;
  const uint32_t begin = value.is_aligned ? (*nr_stack + 1) & ~1u : *nr_stack;
  const uint32_t end = begin + value.nr_words;
  if (!parameter.is_known || parameter.stack_offset != 8 * uint64_t{begin} || end > kMaxStackArgs)
    return false;
  *nr_stack = end;
  return true;
}

namespace {

// Whether function_events looks for a result where the function leaves it.
bool is_returned_alike(const std::string& text, std::optional<Dwarf_Die> type) {
  const FunctionEventParse parsed =
      parse_function_event(text + " = f()", [](std::string_view) { return 1; });
  if (!parsed.def || !parsed.def->result) return false;
  const ValueClass value = class_of_result(*parsed.def->result);
  const PassedClass passed = passed_class(type);
  if (value.is_x87) return true;
  bool is_alike = value.in_memory == passed.in_memory;
  for (uint32_t i = 0; !value.in_memory && i < std::min(value.nr_words, 2u); i++)
    is_alike &= value.is_vector[i] == passed.is_vector[i];
  return is_alike;
}

}  // namespace

std::optional<WholeResult> whole_result(std::optional<Dwarf_Die> type, const std::string& scope) {
  const TypeFacts facts = facts_of(type);
  const std::string name(kResultField), wide = wide_word(facts);
  WholeResult made;
  made.object.is_result = true;
  if (!wide.empty()) {
    made.text = wide + " " + name;
    made.object.fields = {"ret"};
    made.object.form.field = "ret";
    made.object.form.show = show_of(facts);
    made.object.form.size = 16;
    return made;
  }
  if (is_returned_by_reference(facts)) return std::nullopt;  // an object, or nobody knows
  std::optional<StructFields> fields =
      struct_fields(facts, name, scope, [](const std::string& wish) { return wish; });
  if (!fields || !is_returned_alike(fields->position, type)) return std::nullopt;
  made.text = fields->position;
  made.object.fields = fields->argument.fields;
  made.object.form = std::move(fields->argument.form);
  return made;
}

}  // namespace patchbay
