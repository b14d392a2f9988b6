// SPDX-License-Identifier: MIT
#include "debug_info/probe_type.h"

#include <dwarf.h>

#include <algorithm>
#include <functional>

namespace patchbay {
namespace {

constexpr int kMaxMembers = 10000;  // that one question looks at; damaged types lead in circles

bool is_wrapper(int tag) {
  return tag == DW_TAG_typedef || tag == DW_TAG_const_type || tag == DW_TAG_volatile_type ||
         tag == DW_TAG_restrict_type || tag == DW_TAG_atomic_type || tag == DW_TAG_immutable_type;
}

bool is_aggregate(int tag) {
  return tag == DW_TAG_structure_type || tag == DW_TAG_class_type || tag == DW_TAG_union_type;
}

TypeKind kind_of(int tag) {
  switch (tag) {
    case DW_TAG_base_type:
      return TypeKind::kInteger;
    case DW_TAG_enumeration_type:
      return TypeKind::kEnum;
    case DW_TAG_pointer_type:
    case DW_TAG_reference_type:
    case DW_TAG_rvalue_reference_type:
      return TypeKind::kPointer;
    case DW_TAG_structure_type:
    case DW_TAG_class_type:
    case DW_TAG_union_type:
      return TypeKind::kAggregate;
    case DW_TAG_array_type:
      return TypeKind::kArray;
    case DW_TAG_subroutine_type:
      return TypeKind::kFunction;
    default:
      return TypeKind::kOther;
  }
}

void take_encoding(Dwarf_Die die, TypeFacts* facts) {
  uint64_t encoding = number_of(die, DW_AT_encoding).value_or(0);
  facts->is_bool = encoding == DW_ATE_boolean;
  facts->is_character = encoding == DW_ATE_signed_char || encoding == DW_ATE_unsigned_char;
  facts->is_plain_char = facts->is_character && name_of(die) == "char";
  facts->is_signed = encoding == DW_ATE_signed || encoding == DW_ATE_signed_char;
  if (encoding == DW_ATE_float) facts->kind = TypeKind::kFloat;
  if (encoding == DW_ATE_complex_float || encoding == DW_ATE_decimal_float)
    facts->kind = TypeKind::kOther;
}

// An enum is signed unless its underlying type says otherwise.
bool is_signed_enum(Dwarf_Die die) {
  std::optional<Dwarf_Die> underlying = type_of(die);
  if (!underlying) return true;
  return facts_of(underlying).is_signed;
}

// A declaration `struct node;` of this unit: the definition of the same name beside it.
Dwarf_Die definition_of(Dwarf_Die die) {
  Dwarf_Die unit;
  std::string name = name_of(die);
  if (!flag_of(die, DW_AT_declaration) || name.empty() ||
      !::dwarf_diecu(&die, &unit, nullptr, nullptr))
    return die;
  for (Dwarf_Die child : children_of(unit)) {
    bool is_it = is_aggregate(::dwarf_tag(&child)) && !flag_of(child, DW_AT_declaration) &&
                 name_of(child) == name;
    if (is_it) return child;
  }
  return die;
}

std::string name_with_scope(Dwarf_Die die) {
  Dwarf_Die* scopes = nullptr;
  std::string name = name_of(die);
  int count = ::dwarf_getscopes_die(&die, &scopes);
  for (int i = 1; i < count; i++) {
    int tag = ::dwarf_tag(&scopes[i]);
    if (tag != DW_TAG_namespace && !is_aggregate(tag)) break;
    std::string scope = name_of(scopes[i]);
    name = (scope.empty() ? "(anonymous)" : scope) + "::" + name;
  }
  if (count > 0) ::free(scopes);
  return name;
}

std::string keyword_of(Dwarf_Die die, int tag) {
  Dwarf_Die unit;
  bool is_c = ::dwarf_diecu(&die, &unit, nullptr, nullptr) &&
              (::dwarf_srclang(&unit) == DW_LANG_C99 || ::dwarf_srclang(&unit) == DW_LANG_C11 ||
               ::dwarf_srclang(&unit) == DW_LANG_C89 || ::dwarf_srclang(&unit) == DW_LANG_C);
  if (!is_c) return "";
  return tag == DW_TAG_enumeration_type ? "enum " : tag == DW_TAG_union_type ? "union " : "struct ";
}

std::string named(std::optional<Dwarf_Die> type, int depth) {
  if (!type) return "void";
  if (depth > kMaxDepth) return "?";
  Dwarf_Die die = *type;
  int tag = ::dwarf_tag(&die);
  std::string name = name_of(die);
  auto inner = [&] { return named(type_of(die), depth + 1); };
  switch (tag) {
    case DW_TAG_pointer_type:
      return inner() + "*";
    case DW_TAG_reference_type:
      return inner() + "&";
    case DW_TAG_rvalue_reference_type:
      return inner() + "&&";
    case DW_TAG_const_type:
      return "const " + inner();
    case DW_TAG_volatile_type:
      return "volatile " + inner();
    case DW_TAG_restrict_type:
    case DW_TAG_atomic_type:
      return inner();
    case DW_TAG_subroutine_type:
      return inner() + "()";
    case DW_TAG_array_type: {
      std::string text = inner();
      for (const auto& length : lengths_of(facts_of(type)))
        text += "[" + (length ? std::to_string(*length) : "") + "]";
      return text;
    }
    case DW_TAG_structure_type:
    case DW_TAG_class_type:
    case DW_TAG_union_type:
    case DW_TAG_enumeration_type:
      if (name.empty()) return keyword_of(die, tag) + "(anonymous)";
      return keyword_of(die, tag) + name_with_scope(die);
    default:
      return name.empty() ? "?" : name;
  }
}

uint64_t member_offset(Dwarf_Die die, bool* is_known) {
  Dwarf_Attribute attribute;
  Dwarf_Word number = 0;
  if (!::dwarf_attr(&die, DW_AT_data_member_location, &attribute)) return 0;
  if (::dwarf_formudata(&attribute, &number) == 0) return number;
  Dwarf_Op* ops = nullptr;
  size_t count = 0;
  bool is_plain = ::dwarf_getlocation(&attribute, &ops, &count) == 0 && count == 1 &&
                  ops[0].atom == DW_OP_plus_uconst;
  if (!is_plain) *is_known = false;
  return is_plain ? ops[0].number : 0;
}

Member member_from(Dwarf_Die die, uint64_t base) {
  Member member;
  member.name = name_of(die);
  member.type = type_of(die);
  member.offset = base + member_offset(die, &member.has_offset);
  member.alignment = number_of(die, DW_AT_alignment).value_or(0);
  member.bit_size = unsigned(std::min<uint64_t>(number_of(die, DW_AT_bit_size).value_or(0), 64));
  if (!member.bit_size) return member;
  if (std::optional<uint64_t> bit = number_of(die, DW_AT_data_bit_offset)) {
    member.first_bit = base * 8 + *bit;
  } else {
    // Before DWARF 4: counted from the most significant bit of a storage unit.
    uint64_t storage = number_of(die, DW_AT_byte_size).value_or(facts_of(member.type).size) * 8;
    uint64_t from_top = number_of(die, DW_AT_bit_offset).value_or(0);
    member.first_bit = member.offset * 8 + storage - from_top - member.bit_size;
  }
  return member;
}

// Calls back with each data member (its name may be empty for a base class's place) until it
// returns true.
using Visit = std::function<bool(const std::string& name, const Member& member)>;
bool visit_members(Dwarf_Die aggregate, uint64_t base, bool has_offset, int depth, int* budget,
                   const Visit& visit) {
  if (depth > 16) return false;
  for (Dwarf_Die child : children_of(aggregate)) {
    int tag = ::dwarf_tag(&child);
    if (tag != DW_TAG_member && tag != DW_TAG_inheritance) continue;
    if (--*budget < 0) return true;
    Member member = member_from(child, base);
    member.has_offset &=
        has_offset && !flag_of(child, DW_AT_external) && !flag_of(child, DW_AT_declaration);
    std::string name = name_of(child);
    TypeFacts facts = facts_of(member.type);
    bool is_inside = name.empty() || tag == DW_TAG_inheritance;
    if (is_inside && facts.kind == TypeKind::kAggregate && facts.die) {
      if (visit_members(*facts.die, member.offset, member.has_offset, depth + 1, budget, visit))
        return true;
    } else if (visit(name, member)) {
      return true;
    }
  }
  return false;
}

}  // namespace

bool is_data_member_pointer(Dwarf_Die die) {
  if (::dwarf_tag(&die) != DW_TAG_ptr_to_member_type) return false;
  return facts_of(type_of(die)).kind != TypeKind::kFunction;
}

bool is_member_function_pointer(const TypeFacts& facts) {
  if (!facts.die || facts.kind != TypeKind::kOther) return false;
  Dwarf_Die die = *facts.die;
  return ::dwarf_tag(&die) == DW_TAG_ptr_to_member_type;
}

TypeFacts facts_of(std::optional<Dwarf_Die> type) {
  TypeFacts facts;
  for (int depth = 0; type && is_wrapper(::dwarf_tag(&*type)); depth++) {
    if (depth > kMaxDepth) return facts;
    type = type_of(*type);
  }
  if (!type) return facts;
  int tag = ::dwarf_tag(&*type);
  facts.kind = kind_of(tag);
  facts.die = facts.kind == TypeKind::kAggregate ? definition_of(*type) : *type;
  facts.size = number_of(*facts.die, DW_AT_byte_size).value_or(0);
  facts.is_reference = facts.kind == TypeKind::kPointer && tag != DW_TAG_pointer_type;
  if (facts.kind == TypeKind::kPointer) facts.size = 8;
  if (tag == DW_TAG_base_type) take_encoding(*type, &facts);
  if (tag == DW_TAG_unspecified_type && name_of(*type) == "decltype(nullptr)") {
    facts.kind = TypeKind::kPointer;
    facts.size = 8;
  }
  if (is_data_member_pointer(*type)) {
    facts.kind = TypeKind::kInteger;
    facts.size = 8;
    facts.is_signed = true;
  }
  if (facts.kind == TypeKind::kEnum) facts.is_signed = is_signed_enum(*type);
  if (facts.kind == TypeKind::kArray) {
    Dwarf_Word size = 0;
    if (::dwarf_aggregate_size(&*type, &size) == 0) facts.size = size;
  }
  return facts;
}

std::string type_name(std::optional<Dwarf_Die> type) { return named(type, 0); }

std::string scalar_type(const TypeFacts& facts) {
  bool is_word = facts.size == 1 || facts.size == 2 || facts.size == 4 || facts.size == 8;
  if (!is_word) return "";
  std::string bits = std::to_string(facts.size * 8);
  switch (facts.kind) {
    case TypeKind::kInteger:
      if (facts.is_plain_char) return "char";
      return (facts.is_signed ? "s" : "u") + bits;
    case TypeKind::kEnum:
      return (facts.is_signed ? "s" : "u") + bits;
    case TypeKind::kFloat:
      return facts.size == 4 ? "float" : facts.size == 8 ? "double" : "x" + bits;
    case TypeKind::kPointer:
      return "x" + bits;
    default:
      return "";
  }
}

std::optional<Dwarf_Die> element_of(const TypeFacts& facts) {
  return facts.die ? type_of(*facts.die) : std::nullopt;
}

std::vector<std::optional<uint64_t>> lengths_of(const TypeFacts& array) {
  std::vector<std::optional<uint64_t>> lengths;
  if (!array.die || array.kind != TypeKind::kArray) return lengths;
  for (Dwarf_Die child : children_of(*array.die)) {
    if (::dwarf_tag(&child) != DW_TAG_subrange_type || lengths.size() > 16) continue;
    std::optional<uint64_t> length = number_of(child, DW_AT_count);
    std::optional<uint64_t> last = number_of(child, DW_AT_upper_bound);
    if (!length && last && *last < UINT32_MAX) length = *last + 1;
    lengths.push_back(length);
  }
  return lengths;
}

std::optional<uint64_t> length_of(const TypeFacts& array) {
  std::vector<std::optional<uint64_t>> lengths = lengths_of(array);
  return lengths.empty() ? std::nullopt : lengths.front();
}

size_t dimensions_of(const TypeFacts& array) { return lengths_of(array).size(); }

uint64_t stride_of(const TypeFacts& array) {
  if (array.kind != TypeKind::kArray) return 0;
  uint64_t size = facts_of(element_of(array)).size;
  std::vector<std::optional<uint64_t>> lengths = lengths_of(array);
  for (size_t i = 1; i < lengths.size(); i++) size *= lengths[i].value_or(0);
  return size;
}

std::optional<Member> find_member(const TypeFacts& aggregate, std::string_view wanted,
                                  std::vector<std::string>* names) {
  std::optional<Member> found;
  if (!aggregate.die || aggregate.kind != TypeKind::kAggregate) return found;
  int budget = kMaxMembers;
  auto look = [&](const std::string& name, const Member& member) {
    if (names) names->push_back(name);
    if (name == wanted) found = member;
    return found.has_value();
  };
  visit_members(*aggregate.die, 0, true, 0, &budget, look);
  return found;
}

std::vector<Member> members_of(const TypeFacts& aggregate) {
  std::vector<Member> members;
  if (!aggregate.die || aggregate.kind != TypeKind::kAggregate) return members;
  int budget = kMaxMembers;
  visit_members(*aggregate.die, 0, true, 0, &budget, [&](const std::string&, const Member& member) {
    members.push_back(member);
    return false;
  });
  return members;
}

namespace {

constexpr size_t kMaxEnumerators = 1 << 16;

// What has a sign is in a form that has one; of all others the bits are the value.
std::optional<int64_t> value_of(Dwarf_Die enumerator) {
  std::optional<Dwarf_Attribute> attribute = attribute_of(enumerator, DW_AT_const_value);
  if (!attribute) return std::nullopt;
  const unsigned form = ::dwarf_whatform(&*attribute);
  Dwarf_Sword value = 0;
  Dwarf_Word bits = 0;
  if (form == DW_FORM_sdata || form == DW_FORM_implicit_const)
    return ::dwarf_formsdata(&*attribute, &value) == 0 ? std::optional(int64_t(value))
                                                       : std::nullopt;
  return ::dwarf_formudata(&*attribute, &bits) == 0 ? std::optional(int64_t(bits)) : std::nullopt;
}

// Calls `take(name, value)` until it says false.
template <typename Take>
void visit_enumerators(Dwarf_Die die, const Take& take) {
  for (Dwarf_Die child : children_of(die)) {
    if (::dwarf_tag(&child) != DW_TAG_enumerator) continue;
    const std::optional<int64_t> value = value_of(child);
    if (value && !take(name_of(child), *value)) return;
  }
}

// "a::Box<b::C>::d" -> "a", "Box<b::C>", "d".
std::vector<std::string_view> components_of(std::string_view name) {
  std::vector<std::string_view> parts;
  size_t begin = 0;
  int depth = 0;
  for (size_t at = 0; at < name.size(); at++) {
    depth += name[at] == '<' || name[at] == '(' ? 1 : name[at] == '>' || name[at] == ')' ? -1 : 0;
    if (depth > 0 || name.substr(at, 2) != "::") continue;
    parts.push_back(name.substr(begin, at - begin));
    begin = at + 2;
    at++;
  }
  parts.push_back(name.substr(begin));
  return parts;
}

// What stands before an enumerator where the source is in `scope`.
std::string prefix_of(Dwarf_Die enumeration, std::string_view scope) {
  const std::string whole = name_with_scope(enumeration);
  std::vector<std::string_view> parts = components_of(whole);
  // Without `class` its enumerators are names of what is around it.
  if (!flag_of(enumeration, DW_AT_enum_class)) parts.pop_back();
  const std::vector<std::string_view> around = components_of(scope);
  static constexpr std::string_view kUnnamed = "(anonymous";
  const auto are_same = [](std::string_view a, std::string_view b) {
    return a == b || (a.starts_with(kUnnamed) && b.starts_with(kUnnamed));
  };
  size_t same = 0;
  while (same < std::min(parts.size(), around.size()) && are_same(parts[same], around[same]))
    same++;
  std::string prefix;
  for (size_t i = same; i < parts.size(); i++)
    if (!parts[i].starts_with(kUnnamed)) prefix += std::string(parts[i]) + "::";
  return prefix;
}

// A pointer to a data member is how far that is from the beginning: "&Point::x".
SharedValueNames names_of_members(Dwarf_Die pointer) {
  const std::optional<Dwarf_Die> holder = reference_of(pointer, DW_AT_containing_type);
  if (!holder) return nullptr;
  std::vector<NamedValue> names{{"nullptr", -1}};
  for (const Member& member : members_of(facts_of(holder)))
    if (member.has_offset && !member.bit_size && !member.name.empty())
      names.push_back(
          {"&" + name_with_scope(*holder) + "::" + member.name, int64_t(member.offset)});
  return std::make_shared<const ValueNames>(std::move(names), ValueNames::Kind::kEnumeration);
}

}  // namespace

SharedValueNames value_names_of(const TypeFacts& facts, std::string_view scope,
                                ValueNamesCache* cache) {
  if (facts.is_bool && facts.size == 1) return names_of_bool();
  if (facts.die && is_data_member_pointer(*facts.die)) return names_of_members(*facts.die);
  if (facts.kind != TypeKind::kEnum || !facts.die) return nullptr;
  const std::string prefix = prefix_of(*facts.die, scope);
  ValueNamesCache none;
  if (!cache) cache = &none;
  const auto [at, is_new] = cache->by_place.try_emplace({facts.die->addr, prefix});
  if (!is_new) return at->second;
  std::vector<NamedValue> names;
  std::string content = name_of(*facts.die) + ':';
  visit_enumerators(*facts.die, [&](const std::string& name, int64_t value) {
    names.push_back({prefix + name, value});
    content += names.back().name + '=' + std::to_string(value) + ',';
    return names.size() < kMaxEnumerators;
  });
  if (names.empty()) return nullptr;
  SharedValueNames& known = cache->by_content[std::move(content)];
  if (!known) {
    const ValueNames::Kind kind = ValueNames::kind_of(name_of(*facts.die), names);
    known = std::make_shared<const ValueNames>(std::move(names), kind);
  }
  return at->second = known;
}

std::string enumerators_of(const TypeFacts& facts) {
  std::string text;
  size_t count = 0;
  if (facts.kind != TypeKind::kEnum || !facts.die) return text;
  visit_enumerators(*facts.die, [&](const std::string& name, int64_t value) {
    const bool is_enough = ++count > 16;
    text += is_enough ? ", ..." : (text.empty() ? "" : ", ") + name + "=" + std::to_string(value);
    return !is_enough;
  });
  return text;
}

}  // namespace patchbay
