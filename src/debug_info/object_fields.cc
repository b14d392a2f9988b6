// SPDX-License-Identifier: MIT
#include "debug_info/object_fields.h"

#include <dwarf.h>

#include <algorithm>
#include <initializer_list>

#include "base/text.h"
#include "debug_info/rust_option.h"
#include "event/function_event_atom.h"

namespace patchbay {
namespace {

using Kind = ObjectForm::Kind;
using Show = ObjectForm::Show;

constexpr uint32_t kMostTextBytes = 255;  // of a text
constexpr uint32_t kMostPartBytes = 63;   // of each text of a list
constexpr uint32_t kMostWide = 64;        // characters of a text of wide ones
constexpr int kMaxNesting = 3;            // optional<unique_ptr<string>>
constexpr uint64_t kMaxStride = 1 << 20;  // of the elements of a vector
constexpr size_t kMostMembers = 6;        // of a structure at an address
constexpr size_t kMostAlternatives = 4;   // of a variant
constexpr size_t kMostFields = 32;        // of all: parts that would begin behind it have a mark

// A place in an object: how far it is, and of which type. `is_there`: all members were found.
struct Step {
  uint64_t offset = 0;
  TypeFacts facts;
  bool is_there = false;
};

Step step_to(Step from, std::initializer_list<std::string_view> members) {
  from.is_there = true;
  for (std::string_view name : members) {
    const std::optional<Member> found = find_member(from.facts, name, nullptr);
    from.is_there = found && found->has_offset && found->bit_size == 0;
    if (!from.is_there) return from;
    from.offset += found->offset;
    from.facts = facts_of(found->type);
  }
  return from;
}

Step at_member(const TypeFacts& facts, std::initializer_list<std::string_view> members) {
  return step_to({0, facts, true}, members);
}

// Each library, and its versions, has names of its own: the first of these that is there.
Step first_of(const TypeFacts& facts,
              std::initializer_list<std::initializer_list<std::string_view>> ways) {
  Step found;
  for (const auto& way : ways)
    if (!found.is_there) found = at_member(facts, way);
  return found;
}

// "vector<int, std::allocator<int> >" -> "vector".
std::string class_name(const TypeFacts& facts) {
  if (facts.kind != TypeKind::kAggregate || !facts.die) return "";
  const std::string name = name_of(*facts.die);
  return name.substr(0, name.find('<'));
}

// Bytes of a character of std::basic_string<char, …> and its like; 0: it is none.
uint32_t character_size(const TypeFacts& facts, std::string_view name) {
  if (facts.kind != TypeKind::kAggregate || !facts.die) return 0;
  static constexpr std::pair<std::string_view, uint32_t> kCharacters[] = {
      {"char", 1}, {"wchar_t", 4}, {"char16_t", 2}, {"char32_t", 4}};
  for (const auto& [type, size] : kCharacters)
    if (name_of(*facts.die).starts_with(std::string(name) + "<" + std::string(type) + ","))
      return size;
  return 0;
}

bool is_std(const TypeFacts& facts) { return facts.die && type_name(facts.die).find("std::") == 0; }

bool is_one_of(std::string_view name, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::optional<Dwarf_Die> template_type(const TypeFacts& facts, std::string_view parameter) {
  if (!facts.die) return std::nullopt;
  for (Dwarf_Die child : children_of(*facts.die))
    if (::dwarf_tag(&child) == DW_TAG_template_type_parameter && name_of(child) == parameter)
      return type_of(child);
  return std::nullopt;
}

std::optional<uint64_t> template_number(const TypeFacts& facts, std::string_view parameter) {
  if (!facts.die) return std::nullopt;
  for (Dwarf_Die child : children_of(*facts.die))
    if (::dwarf_tag(&child) == DW_TAG_template_value_parameter && name_of(child) == parameter)
      return number_of(child, DW_AT_const_value);
  return std::nullopt;
}

// Of std::ratio.
std::string unit_of(const TypeFacts& ratio) {
  const uint64_t numerator = template_number(ratio, "_Num").value_or(0);
  const uint64_t denominator = template_number(ratio, "_Den").value_or(0);
  static constexpr struct {
    uint64_t numerator, denominator;
    const char* unit;
  } kUnits[] = {{1, 1'000'000'000, "ns"}, {1, 1'000'000, "us"}, {1, 1000, "ms"}, {1, 1, "s"},
                {60, 1, "min"},           {3600, 1, "h"},       {86400, 1, "d"}};
  for (const auto& row : kUnits)
    if (row.numerator == numerator && row.denominator == denominator) return row.unit;
  return "*" + std::to_string(numerator) + "/" + std::to_string(denominator) + "s";
}

// The word of function_events for a number; "": it is none.
std::string atom_of(const TypeFacts& facts) {
  const std::string type = scalar_type(facts);
  return type == "char" ? "s8" : facts.kind == TypeKind::kFloat && facts.size > 8 ? "" : type;
}

// The suffixes of a field that lead from a register to the address of something.
class Path {
 public:
  Path plus(uint64_t offset) const {
    Path path = *this;
    path.offset_ += offset;
    return path;
  }
  // To where the pointer points that is here.
  Path followed() const {
    Path path;
    path.loads_ = value();
    return path;
  }
  // Of a text or an array here; of a number here.
  std::string address() const { return !offset_ && !loads_.empty() ? loads_ + "+0" : here(); }
  std::string value() const { return here() + "[0]"; }
  // In the object itself, at `offset`.
  bool is_own() const { return loads_.empty(); }
  int64_t offset() const { return int64_t(offset_); }

 private:
  std::string here() const { return loads_ + (offset_ ? "+" + std::to_string(offset_) : ""); }

  std::string loads_;  // ends with a pointer that is loaded
  uint64_t offset_ = 0;
};

// libstdc++'s older std::string is a pointer: its length stands this far in front of the text.
constexpr uint64_t kOldLengthInFront = 24;

struct TextMembers {
  Step pointer, length;
  bool is_length_in_front = false;  // of the text, and `length` is not there
  // libc++: a short text is in the object, behind a byte with twice its length. That byte is odd
  // where the text is elsewhere. 0: there is no such form.
  uint64_t size_of_short = 0;
  uint32_t character = 1;  // its bytes

  bool is_wide() const { return character > 1; }
  // `length`: the field with it.
  std::string type(const std::string& length, uint32_t most) const {
    if (!is_wide()) return "string/" + length + "/" + std::to_string(most);
    return "u" + std::to_string(8 * character) + "[" + length + "/" +
           std::to_string(std::min(most, kMostWide)) + "]";
  }
};

// Rust's Vec: the pointer is wrapped several times, in each version of its library otherwise.
Step pointer_of_vec(const Step& vec) {
  Step step = step_to(vec, {"buf"});
  for (int depth = 0; step.is_there && step.facts.kind != TypeKind::kPointer; depth++) {
    Step next;
    for (std::string_view name : {"inner", "ptr", "pointer"})
      if (!next.is_there) next = step_to(step, {name});
    if (depth == 8 || !next.is_there) return {};
    step = next;
  }
  return step;
}

// Rust's &str and &[T].
bool is_slice(const TypeFacts& facts) { return at_member(facts, {"data_ptr"}).is_there; }

TextMembers string_members(const TypeFacts& facts) {
  const Step whole = first_of(facts, {{"__r_", "__value_"}, {"__rep_"}});
  if (!whole.is_there) {
    TextMembers members{at_member(facts, {"_M_dataplus", "_M_p"}),
                        at_member(facts, {"_M_string_length"})};
    members.is_length_in_front = !members.length.is_there && facts.size == 8;
    return members;
  }
  TextMembers members{step_to(whole, {"__l", "__data_"}), step_to(whole, {"__l", "__size_"})};
  const Step characters = step_to(whole, {"__s", "__data_"});
  members.size_of_short = facts.size;
  // In the other layout, which Apple's has, the byte with the length is the last one.
  if (!characters.is_there || characters.offset != 1 || facts.size > 64) return {};
  return members;
}

// Of a string or a string_view.
std::optional<TextMembers> text_members(const TypeFacts& facts) {
  TextMembers members;
  const uint32_t of_string = character_size(facts, "basic_string");
  const uint32_t of_view = character_size(facts, "basic_string_view");
  if (of_string)
    members = string_members(facts);
  else if (of_view)
    members = {first_of(facts, {{"_M_str"}, {"__data"}, {"__data_"}}),
               first_of(facts, {{"_M_len"}, {"__size"}, {"__size_"}})};
  else if (is_slice(facts) && name_of(*facts.die).ends_with("str"))
    members = {at_member(facts, {"data_ptr"}), at_member(facts, {"length"})};
  else if (class_name(facts) == "String")
    members = {pointer_of_vec(at_member(facts, {"vec"})), at_member(facts, {"vec", "len"})};
  else
    return std::nullopt;
  members.character = std::max({of_string, of_view, 1u});
  // libc++'s short wide text stands elsewhere in the object than a short text of bytes.
  if (!members.pointer.is_there || (members.is_wide() && members.size_of_short))
    return std::nullopt;
  if (!members.length.is_there && !members.is_length_in_front) return std::nullopt;
  return members;
}

// Makes the fields of one object.
class Maker {
 public:
  Maker(const std::string& name, const FieldName& field_name)
      : name_(name), field_name_(field_name) {}

  // The object at an address that a register leads to.
  std::optional<ObjectForm> at(const TypeFacts& facts, const Path& path, const std::string& name,
                               int depth);
  // The object in registers.
  bool in_registers(const PassedParameter& parameter);

  // The first field has the parameter's own name.
  std::string own(const std::string& wish) {
    std::string name = wish == name_ ? wish : field_name_(wish);
    result_.argument.fields.push_back(name);
    return name;
  }
  void add(const std::string& type, const std::string& field, const std::string& suffixes) {
    fields_.push_back(type + " " + field + suffixes);
  }
  std::string add_number(const std::string& type, const std::string& wish, const Path& path) {
    const std::string field = own(wish);
    add(type, field, path.value());
    return field;
  }
  void end_position() {
    result_.positions.push_back(fields_.empty() ? "NULL" : join(fields_, " | "));
    fields_.clear();
  }
  // All fields, to be read when the call returns.
  std::string at_return() const { return fields_.empty() ? "" : "out " + join(fields_, " | out "); }
  ObjectFields take(ObjectForm form) {
    result_.argument.name = name_;
    result_.argument.form = std::move(form);
    return std::move(result_);
  }
  ObjectForm form_in_registers;
  // What of the object has been stored for sure; nothing: all.
  std::optional<ReadBytes> read;
  bool is_stored(const TypeFacts& facts, const Path& path) const;

 private:
  // An object whose words are in registers, and whether a member is one that begins a word.
  struct Held {
    TypeFacts facts;
    const std::vector<PassedParameter::Register>& registers;
    bool has(const Step& member) const {
      const size_t word = member.offset / 8;
      const bool is_float = member.facts.kind == TypeKind::kFloat;
      return member.is_there && member.offset % 8 == 0 && word < registers.size() &&
             registers[word].is_vector == is_float;
    }
  };
  bool text_in_registers(const Held& held);
  bool span_in_registers(const Held& held);
  bool duration_in_registers(const Held& held);
  bool optional_in_registers(const Held& held);
  bool rust_option_in_registers(const Held& held);
  void put(const Step& member, std::string field) {
    words_[member.offset / 8].push_back(std::move(field));
  }
  std::string number_at(const std::string& type, const Path& path, const std::string& name,
                        ObjectForm* form);
  std::optional<ObjectForm> scalar(const TypeFacts& facts, const Path& path,
                                   const std::string& name);
  std::optional<ObjectForm> text(const TypeFacts& facts, const Path& path, const std::string& name,
                                 int depth);
  std::optional<ObjectForm> vector(const TypeFacts& facts, const Path& path,
                                   const std::string& name);
  std::optional<ObjectForm> vec(const TypeFacts& facts, const Path& path, const std::string& name);
  ObjectForm text_at(const TextMembers& members, const Path& object, const std::string& name,
                     uint32_t most, const std::string& end);
  void texts(const TextMembers& members, const Path& first, uint32_t count, const std::string& name,
             ObjectForm* form);
  std::optional<ObjectForm> array(const TypeFacts& facts, const Path& path,
                                  const std::string& name);
  std::optional<ObjectForm> span(const TypeFacts& facts, const Path& path, const std::string& name);
  std::optional<ObjectForm> optional(const TypeFacts& facts, const Path& path,
                                     const std::string& name, int depth);
  std::optional<ObjectForm> pointer(const TypeFacts& facts, const Path& path,
                                    const std::string& name, int depth);
  std::optional<ObjectForm> entries(const TypeFacts& facts, const Path& path,
                                    const std::string& name);
  std::optional<ObjectForm> variant(const TypeFacts& facts, const Path& path,
                                    const std::string& name, int depth);
  std::optional<ObjectForm> function(const TypeFacts& facts, const Path& path,
                                     const std::string& name);
  ObjectForm held_function(const Path& held, const std::string& name);
  std::optional<ObjectForm> members(const TypeFacts& facts, const Path& path,
                                    const std::string& name, int depth);
  ObjectForm member_at(const TypeFacts& facts, const Path& path, const std::string& name,
                       int depth);

  const std::string name_;
  const FieldName& field_name_;
  ObjectFields result_;
  std::vector<std::string> fields_;              // of this position
  std::vector<std::vector<std::string>> words_;  // fields of each register
};

// A number that cannot be read is 0: what is beside it says whether it was.
std::string Maker::number_at(const std::string& type, const Path& path, const std::string& name,
                             ObjectForm* form) {
  const std::string field = add_number(type, name, path);
  form->there = own(name + "_ok");
  add("u8[/1]", form->there, path.address());
  return field;
}

std::optional<ObjectForm> Maker::scalar(const TypeFacts& facts, const Path& path,
                                        const std::string& name) {
  const std::string atom = atom_of(facts);
  if (atom.empty()) return std::nullopt;
  ObjectForm form;
  form.kind = facts.kind == TypeKind::kPointer ? Kind::kPointer : Kind::kScalar;
  form.show = show_of(facts);
  form.size = uint32_t(facts.size);
  form.names = value_names_of(facts, "");
  form.field = number_at(atom, path, name, &form);
  return form;
}

std::optional<ObjectForm> Maker::text(const TypeFacts& facts, const Path& path,
                                      const std::string& name, int depth) {
  // std::filesystem::path keeps its text in a string.
  const Step inner = first_of(facts, {{"_M_pathname"}, {"__pn_"}});
  const std::optional<TextMembers> members = text_members(inner.is_there ? inner.facts : facts);
  const Path object = inner.is_there ? path.plus(inner.offset) : path;
  if (!members) return std::nullopt;
  return text_at(*members, object, name, depth ? kMostPartBytes : kMostTextBytes, "");
}

// `end`: the field with the address that nothing is read from on; "" if there is none.
ObjectForm Maker::text_at(const TextMembers& members, const Path& object, const std::string& name,
                          uint32_t most, const std::string& end) {
  ObjectForm form;
  form.kind = members.is_wide()       ? Kind::kWideText
              : members.size_of_short ? Kind::kEitherText
                                      : Kind::kText;
  form.size = members.character;
  form.field = own(name);
  form.length = own(name + "_len");
  const Path text = object.plus(members.pointer.offset).followed();
  const Path length = members.is_length_in_front ? text.plus(-kOldLengthInFront)
                                                 : object.plus(members.length.offset);
  add(members.type(form.length, most), form.field, text.address());
  add("u64", form.length, length.value() + (end.empty() ? "" : "<" + end));
  if (!members.size_of_short) return form;
  form.there = own(name + "_short");
  add("u8[/" + std::to_string(members.size_of_short) + "]", form.there, object.address());
  return form;
}

// The first elements of a list of texts. Where it has an end, nothing behind that is read.
void Maker::texts(const TextMembers& members, const Path& first, uint32_t count,
                  const std::string& name, ObjectForm* form) {
  form->kind = Kind::kParts;
  for (uint32_t i = 0; i < count; i++) {
    const Path element = first.plus(uint64_t{i} * form->size);
    const std::string wish = name + "_" + std::to_string(i);
    ObjectForm part = text_at(members, element, wish, kMostPartBytes, form->end);
    form->parts.push_back(std::move(part));
  }
}

std::optional<ObjectForm> Maker::vector(const TypeFacts& facts, const Path& path,
                                        const std::string& name) {
  const Step begin = first_of(facts, {{"_M_impl", "_M_start"}, {"__begin_"}});
  const Step end = first_of(facts, {{"_M_impl", "_M_finish"}, {"__end_"}});
  if (!begin.is_there || !end.is_there || begin.facts.kind != TypeKind::kPointer)
    return std::nullopt;
  const TypeFacts element = facts_of(element_of(begin.facts));
  const Path first = path.plus(begin.offset).followed();
  ObjectForm form;
  form.show = show_of(element);
  form.size = uint32_t(element.size);
  if (element.size == 0 || element.size > kMaxStride) return std::nullopt;
  if (const std::optional<TextMembers> members = text_members(element)) {
    // No field says of a length elsewhere whether its element is one of the vector's.
    if (members->is_length_in_front) return std::nullopt;
    form.end = own(name + "_end");
    form.begin = own(name + "_begin");
    form.there = own(name + "_ok");
    texts(*members, first, kShownTexts, name, &form);
    add("x64", form.end, path.plus(end.offset).value());
    add("x64", form.begin, path.plus(begin.offset).value());
    add("u8[/1]", form.there, path.plus(begin.offset).address());
    return form;
  }
  const std::string atom = atom_of(element);
  if (atom.empty()) return std::nullopt;
  form.kind = element.is_plain_char ? Kind::kText : Kind::kList;
  form.names = value_names_of(element, "");
  form.field = own(name);
  form.end = own(name + "_end");
  form.begin = own(name + "_begin");
  if (element.is_plain_char)
    add("string/<" + form.end + "/" + std::to_string(kMostTextBytes), form.field, first.address());
  else
    add(atom + "[<" + form.end + "/" + std::to_string(kShownElements) + "]", form.field,
        first.address());
  add("x64", form.end, path.plus(end.offset).value());
  add("x64", form.begin, path.plus(begin.offset).value());
  return form;
}

std::optional<ObjectForm> Maker::vec(const TypeFacts& facts, const Path& path,
                                     const std::string& name) {
  const Step pointer = pointer_of_vec({0, facts, true}), length = at_member(facts, {"len"});
  const TypeFacts element = facts_of(template_type(facts, "T"));
  const std::string atom = atom_of(element);
  if (!pointer.is_there || !length.is_there || atom.empty()) return std::nullopt;
  ObjectForm form;
  form.kind = Kind::kList;
  form.show = show_of(element);
  form.size = uint32_t(element.size);
  form.names = value_names_of(element, "");
  form.field = own(name);
  form.length = own(name + "_len");
  add(atom + "[" + form.length + "/" + std::to_string(kShownElements) + "]", form.field,
      path.plus(pointer.offset).followed().address());
  add("u64", form.length, path.plus(length.offset).value());
  return form;
}

std::optional<ObjectForm> Maker::array(const TypeFacts& facts, const Path& path,
                                       const std::string& name) {
  const Step elements = first_of(facts, {{"_M_elems"}, {"__elems_"}});
  if (!elements.is_there || elements.facts.kind != TypeKind::kArray) return std::nullopt;
  const TypeFacts element = facts_of(element_of(elements.facts));
  if (element.size == 0 || element.size > kMaxStride || dimensions_of(elements.facts) != 1)
    return std::nullopt;
  ObjectForm form;
  form.kind = Kind::kList;
  form.show = show_of(element);
  form.size = uint32_t(element.size);
  form.names = value_names_of(element, "");
  form.count = elements.facts.size / element.size;
  if (form.count == 0) return std::nullopt;
  if (const std::optional<TextMembers> members = text_members(element)) {
    const auto count = uint32_t(std::min<uint64_t>(form.count, kShownTexts));
    texts(*members, path.plus(elements.offset), count, name, &form);
    form.there = own(name + "_ok");
    add("u8[/1]", form.there, path.plus(elements.offset).address());
    return form;
  }
  const std::string atom = atom_of(element);
  if (atom.empty()) return std::nullopt;
  form.field = own(name);
  add(atom + "[/" + std::to_string(std::min<uint64_t>(form.count, kShownElements)) + "]",
      form.field, path.plus(elements.offset).address());
  return form;
}

struct SpanMembers {
  Step pointer;
  TypeFacts element;
  std::optional<Step> length;  // else `count`
  uint64_t count = 0;
};
std::optional<SpanMembers> span_members(const TypeFacts& facts) {
  SpanMembers members;
  members.pointer = first_of(facts, {{"data_ptr"}, {"_M_ptr"}, {"__data"}, {"__data_"}});
  if (!members.pointer.is_there || members.pointer.facts.kind != TypeKind::kPointer)
    return std::nullopt;
  members.element = facts_of(element_of(members.pointer.facts));
  if (atom_of(members.element).empty()) return std::nullopt;
  const Step length =
      first_of(facts, {{"length"}, {"_M_extent", "_M_extent_value"}, {"__size"}, {"__size_"}});
  if (length.is_there) members.length = length;
  members.count = template_number(facts, "_Extent").value_or(0);
  if (!length.is_there && members.count == 0) return std::nullopt;
  return members;
}

ObjectForm span_form(const SpanMembers& members) {
  ObjectForm form;
  form.kind = Kind::kList;
  form.show = show_of(members.element);
  form.size = uint32_t(members.element.size);
  form.names = value_names_of(members.element, "");
  return form;
}

std::string span_type(const SpanMembers& members, const std::string& length) {
  const uint64_t most = members.length ? kShownElements : std::min<uint64_t>(members.count, 8);
  return atom_of(members.element) + "[" + length + "/" + std::to_string(most) + "]";
}

std::optional<ObjectForm> Maker::span(const TypeFacts& facts, const Path& path,
                                      const std::string& name) {
  const std::optional<SpanMembers> members = span_members(facts);
  if (!members) return std::nullopt;
  ObjectForm form = span_form(*members);
  form.field = own(name);
  if (members->length)
    form.length = own(name + "_len");
  else
    form.count = members->count;
  add(span_type(*members, form.length), form.field,
      path.plus(members->pointer.offset).followed().address());
  if (members->length) add("u64", form.length, path.plus(members->length->offset).value());
  return form;
}

struct OptionalMembers {
  Step flag, value;
};
std::optional<OptionalMembers> optional_members(const TypeFacts& facts) {
  OptionalMembers members{first_of(facts, {{"_M_payload", "_M_engaged"}, {"__engaged_"}}),
                          first_of(facts, {{"_M_payload", "_M_payload", "_M_value"}, {"__val_"}})};
  if (!members.flag.is_there || !members.value.is_there || members.flag.facts.size != 1)
    return std::nullopt;
  return members;
}

std::optional<ObjectForm> Maker::optional(const TypeFacts& facts, const Path& path,
                                          const std::string& name, int depth) {
  const std::optional<OptionalMembers> members = optional_members(facts);
  if (!members) return std::nullopt;
  std::optional<ObjectForm> value =
      at(members->value.facts, path.plus(members->value.offset), name, depth + 1);
  if (!value) return std::nullopt;
  ObjectForm form;
  form.kind = Kind::kOptional;
  form.size = 1;
  form.flag = number_at("u8", path.plus(members->flag.offset), name + "_has", &form);
  form.parts.push_back(std::move(*value));
  return form;
}

// The first element of libstdc++'s std::tuple, which keeps its elements in base classes, the last
// one first. An element without members is a base class itself.
Step first_of_tuple(const Step& tuple) {
  if (class_name(tuple.facts) == "_Head_base" && template_number(tuple.facts, "_Idx") == 0u)
    return step_to(tuple, {"_M_head_impl"});
  if (!tuple.facts.die) return {};
  for (Dwarf_Die child : children_of(*tuple.facts.die)) {
    const std::optional<uint64_t> offset = number_of(child, DW_AT_data_member_location);
    if (::dwarf_tag(&child) != DW_TAG_inheritance || !offset) continue;
    const Step found = first_of_tuple({tuple.offset + *offset, facts_of(type_of(child)), true});
    if (found.is_there) return found;
  }
  return {};
}

// The one pointer of unique_ptr or shared_ptr.
Step owned_pointer(const TypeFacts& facts, const std::string& name) {
  if (name == "shared_ptr") return first_of(facts, {{"_M_ptr"}, {"__ptr_"}});
  const Step plain = first_of(facts, {{"__ptr_", "__value_"}, {"__ptr_"}});
  if (plain.is_there) return plain;
  const Step tuple = first_of(facts, {{"_M_t", "_M_t"}, {"_M_t"}});
  return tuple.is_there ? first_of_tuple(tuple) : tuple;
}

std::optional<ObjectForm> Maker::pointer(const TypeFacts& facts, const Path& path,
                                         const std::string& name, int depth) {
  const Step pointer = owned_pointer(facts, class_name(facts));
  if (!pointer.is_there || pointer.facts.kind != TypeKind::kPointer) return std::nullopt;
  ObjectForm form;
  form.kind = Kind::kPointer;
  form.show = Show::kPointer;
  form.size = 8;
  form.field = number_at("x64", path.plus(pointer.offset), name, &form);
  // Of an array nobody knows how long it is.
  const bool is_array = name_of(*facts.die).find("[]") != std::string::npos;
  const TypeFacts target = facts_of(element_of(pointer.facts));
  if (is_array || depth + 1 > kMaxNesting) return form;
  std::optional<ObjectForm> value =
      at(target, path.plus(pointer.offset).followed(), name + "_value", depth + 1);
  if (value) form.parts.push_back(std::move(*value));
  return form;
}

std::optional<ObjectForm> Maker::entries(const TypeFacts& facts, const Path& path,
                                         const std::string& name) {
  const std::string container = class_name(facts);
  Step size;
  if (is_one_of(container, {"map", "set", "multimap", "multiset"}))
    size = first_of(facts, {{"_M_t", "_M_impl", "_M_node_count"},
                            {"__tree_", "__pair3_", "__value_"},
                            {"__tree_", "__size_"}});
  else if (container.starts_with("unordered_"))
    size = first_of(
        facts,
        {{"_M_h", "_M_element_count"}, {"__table_", "__p2_", "__value_"}, {"__table_", "__size_"}});
  else if (container == "list")
    size = first_of(
        facts, {{"_M_impl", "_M_node", "_M_size"}, {"__size_alloc_", "__value_"}, {"__size_"}});
  if (!size.is_there || size.facts.size != 8) return std::nullopt;
  ObjectForm form;
  form.kind = Kind::kSize;
  form.size = 8;
  form.field = number_at("u64", path.plus(size.offset), name + "_size", &form);
  return form;
}

// The types of a parameter pack.
std::vector<TypeFacts> types_of_pack(const TypeFacts& facts) {
  std::vector<TypeFacts> types;
  for (Dwarf_Die child : children_of(*facts.die)) {
    if (::dwarf_tag(&child) != DW_TAG_GNU_template_parameter_pack) continue;
    for (Dwarf_Die type : children_of(child)) types.push_back(facts_of(type_of(type)));
  }
  return types;
}

// All alternatives begin where the object does.
std::optional<ObjectForm> Maker::variant(const TypeFacts& facts, const Path& path,
                                         const std::string& name, int depth) {
  const Step value = first_of(facts, {{"_M_u"}, {"__impl_", "__data"}, {"__impl", "__data"}});
  const Step index = first_of(facts, {{"_M_index"}, {"__impl_", "__index"}, {"__impl", "__index"}});
  const std::vector<TypeFacts> types = types_of_pack(facts);
  if (!value.is_there || !index.is_there || atom_of(index.facts).empty() || types.empty())
    return std::nullopt;
  ObjectForm form;
  form.kind = Kind::kVariant;
  form.flag = number_at(atom_of(index.facts), path.plus(index.offset), name, &form);
  for (size_t i = 0; i < std::min(types.size(), kMostAlternatives); i++)
    form.parts.push_back(
        member_at(types[i], path.plus(value.offset), name + "_" + std::to_string(i), depth + 1));
  return form;
}

// libc++'s: a pointer to an object with virtual functions, whose third one has the type of what is
// called in its name. A pointer to a function stands behind the pointer to these.
ObjectForm Maker::held_function(const Path& held, const std::string& name) {
  ObjectForm form;
  form.kind = Kind::kTarget;
  form.size = 8;
  form.flag = number_at("x64", held, name, &form);
  form.field = add_number("x64", name + "_kept", held.followed().plus(8));
  form.address = add_number("x64", name + "_invoker", held.followed().followed().plus(16));
  return form;
}

// libstdc++'s: a pointer to a function is kept in its first word, and what calls it has the type in
// its name. Nothing manages an empty one.
std::optional<ObjectForm> Maker::function(const TypeFacts& facts, const Path& path,
                                          const std::string& name) {
  if (const Step held = at_member(facts, {"__f_", "__f_"}); held.is_there)
    return held_function(path.plus(held.offset), name);
  const Step kept = at_member(facts, {"_M_functor"}), manager = at_member(facts, {"_M_manager"});
  const Step invoker = at_member(facts, {"_M_invoker"});
  if (!kept.is_there || !manager.is_there || !invoker.is_there) return std::nullopt;
  ObjectForm form;
  form.kind = Kind::kTarget;
  form.size = 8;
  form.field = number_at("x64", path.plus(kept.offset), name, &form);
  form.flag = add_number("x64", name + "_manager", path.plus(manager.offset));
  form.address = add_number("x64", name + "_invoker", path.plus(invoker.offset));
  return form;
}

// A part of an object; one that is none of ours, or one too many, has a mark.
// Of the library's classes it is enough that the function looks at what leads to the rest.
bool Maker::is_stored(const TypeFacts& facts, const Path& path) const {
  if (!read || !path.is_own()) return true;
  const int64_t begin = path.offset();
  const auto end = begin + int64_t(facts.size);
  if (facts.kind != TypeKind::kAggregate) return read->all_of(begin, end);
  constexpr int64_t kWord = 8;
  if (class_name(facts) == "vector") return read->all_of(begin, begin + 2 * kWord);
  if (const std::optional<TextMembers> text = text_members(facts)) {
    const auto pointer = begin + int64_t(text->pointer.offset);
    return read->all_of(pointer, pointer + kWord);
  }
  return !is_std(facts) || read->any_of(begin, end);
}

ObjectForm Maker::member_at(const TypeFacts& facts, const Path& path, const std::string& name,
                            int depth) {
  std::optional<ObjectForm> made;
  const bool is_known = is_stored(facts, path);
  if (is_known && result_.argument.fields.size() < kMostFields) made = at(facts, path, name, depth);
  if (made) return std::move(*made);
  ObjectForm mark;
  mark.kind = Kind::kMark;
  mark.unit = is_known ? "{…}" : "?";
  return mark;
}

// What is written as `struct` is data for all to see.
std::optional<ObjectForm> Maker::members(const TypeFacts& facts, const Path& path,
                                         const std::string& name, int depth) {
  Dwarf_Die die = *facts.die;
  const std::vector<Member> all = members_of(facts);
  if (::dwarf_tag(&die) != DW_TAG_structure_type || all.empty() || all.size() > kMostMembers)
    return std::nullopt;
  ObjectForm form;
  form.kind = Kind::kMembers;
  for (const Member& member : all)
    if (!member.has_offset || member.bit_size || member.name.starts_with("_")) return std::nullopt;
  for (const Member& member : all) {
    const std::string wish = name + "_" + make_identifier(member.name);
    const TypeFacts inner = facts_of(member.type);
    form.parts.push_back(member_at(inner, path.plus(member.offset), wish, depth + 1));
    form.parts.back().name = member.name;
  }
  form.there = own(name + "_ok");
  add("u8[/1]", form.there, path.address());
  return form;
}

std::optional<ObjectForm> Maker::at(const TypeFacts& facts, const Path& path,
                                    const std::string& name, int depth) {
  if (depth > kMaxNesting) return std::nullopt;
  if (depth > 0 && facts.kind != TypeKind::kAggregate) return scalar(facts, path, name);
  const std::string what = class_name(facts);
  if (is_one_of(what, {"basic_string", "basic_string_view", "path", "String"}) ||
      (is_slice(facts) && text_members(facts)))
    return text(facts, path, name, depth);
  if (what == "Vec") return vec(facts, path, name);
  if (what == "vector") return vector(facts, path, name);
  if (what == "array") return array(facts, path, name);
  if (what == "span" || is_slice(facts)) return span(facts, path, name);
  if (what == "optional") return optional(facts, path, name, depth);
  if (what == "unique_ptr" || what == "shared_ptr") return pointer(facts, path, name, depth);
  if (what == "duration") {
    const Step count = first_of(facts, {{"__r"}, {"__rep_"}});
    std::optional<ObjectForm> form =
        count.is_there ? scalar(count.facts, path.plus(count.offset), name) : std::nullopt;
    if (form) form->unit = unit_of(facts_of(template_type(facts, "_Period")));
    return form;
  }
  if (what == "variant") return variant(facts, path, name, depth);
  if (what == "function") return function(facts, path, name);
  if (std::optional<ObjectForm> sized = entries(facts, path, name)) return sized;
  return is_std(facts) ? std::nullopt : members(facts, path, name, depth);
}

// --- objects that are values in registers: each register is a position of its own, with a word of
// the object

bool Maker::text_in_registers(const Held& held) {
  const std::optional<TextMembers> text = text_members(held.facts);
  if (!text || !held.has(text->pointer) || !held.has(text->length)) return false;
  form_in_registers.kind = text->is_wide() ? Kind::kWideText : Kind::kText;
  form_in_registers.size = text->character;
  const std::string field = form_in_registers.field = own(name_);
  const std::string length = form_in_registers.length = own(name_ + "_len");
  put(text->pointer, text->type(length, kMostTextBytes) + " " + field);
  put(text->length, "u64 " + length);
  return true;
}

bool Maker::span_in_registers(const Held& held) {
  const std::optional<SpanMembers> members = span_members(held.facts);
  if (!members || !held.has(members->pointer)) return false;
  if (members->length && !held.has(*members->length)) return false;
  ObjectForm& form = form_in_registers = span_form(*members);
  form.field = own(name_);
  if (members->length) {
    form.length = own(name_ + "_len");
    put(*members->length, "u64 " + form.length);
  } else {
    form.count = members->count;
  }
  put(members->pointer, span_type(*members, form.length) + " " + form.field);
  return true;
}

bool Maker::duration_in_registers(const Held& held) {
  const Step count = first_of(held.facts, {{"__r"}, {"__rep_"}});
  const std::string atom = count.is_there ? atom_of(count.facts) : "";
  if (atom.empty() || !held.has(count)) return false;
  form_in_registers.show = show_of(count.facts);
  form_in_registers.size = uint32_t(count.facts.size);
  form_in_registers.unit = unit_of(facts_of(template_type(held.facts, "_Period")));
  form_in_registers.field = own(name_);
  put(count, atom + " " + form_in_registers.field);
  return true;
}

// Value and flag may lie in one word.
bool Maker::optional_in_registers(const Held& held) {
  const std::optional<OptionalMembers> members = optional_members(held.facts);
  if (!members || !held.has(members->value)) return false;
  const size_t flag = members->flag.offset / 8;
  if (flag >= held.registers.size() || held.registers[flag].is_vector) return false;
  const TypeFacts& value = members->value.facts;
  const std::string atom = atom_of(value);
  if (atom.empty()) return false;
  ObjectForm part;
  part.kind = value.kind == TypeKind::kPointer ? Kind::kPointer : Kind::kScalar;
  part.show = show_of(value);
  part.size = uint32_t(value.size);
  part.names = value_names_of(value, "");
  part.field = own(name_);
  ObjectForm& form = form_in_registers;
  form.kind = Kind::kOptional;
  form.size = 8;
  form.flag = own(name_ + "_has");
  form.flag_bit = uint32_t(members->flag.offset % 8 * 8);
  put(members->value, atom + " " + part.field);
  put(members->flag, "x64 " + form.flag);
  form.parts.push_back(std::move(part));
  return true;
}

// Each part has a register of its own, wherever it lies.
bool Maker::rust_option_in_registers(const Held& held) {
  const std::optional<RustOption> option = rust_option(held.facts);
  const size_t first = option && option->has_tag;
  if (!option || held.registers.size() != first + option->nr_words) return false;
  ObjectForm value;
  std::string flag;
  if (option->nr_words == 2) {
    if (!text_in_registers({option->value, held.registers}) &&
        !span_in_registers({option->value, held.registers}))
      return false;
    value = std::move(form_in_registers);
  } else {
    const std::string atom = atom_of(option->value);
    if (atom.empty()) return false;
    value.kind = option->value.kind == TypeKind::kPointer ? Kind::kPointer : Kind::kScalar;
    value.show = show_of(option->value);
    value.size = uint32_t(option->value.size);
    value.names = value_names_of(option->value, "");
    value.field = own(name_);
    words_[first].push_back(atom + " " + value.field);
  }
  flag = own(name_ + "_has");
  words_[0].push_back((option->has_tag ? "u" + std::to_string(option->tag_size * 8) : "x64") + " " +
                      flag);
  form_in_registers = {};
  form_in_registers.kind = Kind::kOptional;
  form_in_registers.show = option->has_tag ? Show::kUnsigned : Show::kPointer;
  form_in_registers.size = uint32_t(option->tag_size);
  form_in_registers.flag = flag;
  form_in_registers.unit = "None";
  form_in_registers.parts.push_back(std::move(value));
  return true;
}

bool Maker::in_registers(const PassedParameter& parameter) {
  const Held held{facts_of(parameter.type), parameter.registers};
  const std::string what = class_name(held.facts);
  words_.resize(held.registers.size());
  const bool is_text = text_members(held.facts).has_value();
  const bool is_span = what == "span" || (is_slice(held.facts) && !is_text);
  const bool is_known = is_span              ? span_in_registers(held)
                        : what == "duration" ? duration_in_registers(held)
                        : what == "optional" ? optional_in_registers(held)
                        : what == "Option"   ? rust_option_in_registers(held)
                                             : text_in_registers(held);
  if (!is_known) return false;
  for (size_t i = 0; i < words_.size(); i++) {
    const std::string nothing = held.registers[i].is_vector ? "double NULL" : "NULL";
    result_.positions.push_back(words_[i].empty() ? nothing : join(words_[i], " | "));
  }
  return true;
}

// A reference to what is const; in Rust all are but `&mut`.
bool is_constant(const TypeFacts& reference) {
  std::optional<Dwarf_Die> target = element_of(reference);
  const std::string name = name_of(*reference.die);
  if (name.starts_with('&')) return !name.starts_with("&mut");
  for (int i = 0; target && i < kMaxDepth; i++) {
    const int tag = ::dwarf_tag(&*target);
    if (tag == DW_TAG_const_type) return true;
    if (tag != DW_TAG_volatile_type && tag != DW_TAG_typedef) return false;
    target = type_of(*target);
  }
  return false;
}

// Whether an object at a reference has its values when the function is called. A structure that the
// function may change is often what it fills; what is moved, and what Rust calls `&mut`, is there.
bool is_made_before(const TypeFacts& reference) {
  Dwarf_Die die = *reference.die;
  return is_constant(reference) || ::dwarf_tag(&die) == DW_TAG_rvalue_reference_type ||
         name_of(die).starts_with('&');
}

// Without a constructor, an object has whatever lay there.
bool may_lack_values(const TypeFacts& object, const ObjectForm& form) {
  return form.kind == Kind::kMembers || is_one_of(class_name(object), {"array", "duration"});
}

}  // namespace

std::optional<ObjectFields> object_fields(const PassedParameter& parameter, const std::string& name,
                                          const FieldName& field_name) {
  TypeFacts facts = facts_of(parameter.type);
  facts.is_reference |= is_rust_reference(facts);
  const TypeFacts object = facts.is_reference ? facts_of(element_of(facts)) : facts;
  if (parameter.registers.empty()) return std::nullopt;
  Maker maker(name, field_name);
  maker.read = parameter.read;
  if ((facts.is_reference || parameter.by_reference) && !maker.is_stored(object, Path()))
    return std::nullopt;
  if (facts.is_reference && object.kind != TypeKind::kAggregate) {
    // What the function may change is not known yet.
    std::optional<ObjectForm> value =
        is_constant(facts) ? maker.at(object, Path(), name, 1) : std::nullopt;
    if (!value) return std::nullopt;
    maker.end_position();
    return maker.take(std::move(*value));
  }
  if (object.kind != TypeKind::kAggregate) return std::nullopt;
  if (!facts.is_reference && !parameter.by_reference) {
    if (!maker.in_registers(parameter)) return std::nullopt;
    ObjectForm form = std::move(maker.form_in_registers);
    return maker.take(std::move(form));
  }
  std::optional<ObjectForm> form = maker.at(object, Path(), name, 0);
  if (!form) return std::nullopt;
  // What the function may change is not known yet.
  if (facts.is_reference && may_lack_values(object, *form) && !is_made_before(facts))
    return std::nullopt;
  maker.end_position();
  return maker.take(std::move(*form));
}

std::optional<WholeResult> object_result(std::optional<Dwarf_Die> type,
                                         const FieldName& field_name) {
  const TypeFacts facts = facts_of(type);
  const std::string name(kResultField);
  if (facts.kind != TypeKind::kAggregate || !is_returned_by_reference(facts)) return std::nullopt;
  Maker maker(name, field_name);
  std::optional<ObjectForm> form = maker.at(facts, Path(), name, 0);
  WholeResult made;
  made.hidden = maker.at_return();
  if (!form || made.hidden.empty()) return std::nullopt;
  made.text = "x64 " + name + "_at";
  made.object = maker.take(std::move(*form)).argument;
  made.object.is_result = true;
  return made;
}

}  // namespace patchbay
