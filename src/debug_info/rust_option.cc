// SPDX-License-Identifier: MIT
//
// A variant part has the place of the discriminant, and a variant for None and for Some, whose
// values of it are 0 and 1. Where Some has none, the discriminant is a part of the value, which
// cannot be 0.
#include "debug_info/rust_option.h"

#include <dwarf.h>

namespace patchbay {
namespace {

struct Variant {
  std::optional<uint64_t> when;  // of the discriminant; nothing: for all others
  std::optional<Dwarf_Die> type;
  bool is_there = false;
};

Variant variant_named(Dwarf_Die part, std::string_view name) {
  for (Dwarf_Die child : children_of(part)) {
    if (::dwarf_tag(&child) != DW_TAG_variant) continue;
    for (Dwarf_Die member : children_of(child)) {
      if (::dwarf_tag(&member) != DW_TAG_member || name_of(member) != name) continue;
      if (number_of(member, DW_AT_data_member_location).value_or(0) != 0) return {};
      return {number_of(child, DW_AT_discr_value), type_of(member), true};
    }
  }
  return {};
}

bool is_number(const TypeFacts& facts) {
  const bool is_one = facts.kind == TypeKind::kInteger || facts.kind == TypeKind::kFloat ||
                      facts.kind == TypeKind::kPointer;
  return is_one && facts.size > 0 && facts.size <= 8;
}

bool is_two_words(const TypeFacts& facts) {
  if (facts.kind != TypeKind::kAggregate || facts.size != 16) return false;
  const std::vector<Member> members = members_of(facts);
  return members.size() == 2 && members[0].name == "data_ptr" && members[0].offset == 0 &&
         members[1].name == "length" && members[1].offset == 8;
}

}  // namespace

std::optional<RustOption> rust_option(const TypeFacts& facts) {
  if (facts.kind != TypeKind::kAggregate || !facts.die) return std::nullopt;
  if (!name_of(*facts.die).starts_with("Option<")) return std::nullopt;
  for (Dwarf_Die child : children_of(*facts.die)) {
    if (::dwarf_tag(&child) != DW_TAG_variant_part) continue;
    const std::optional<Dwarf_Die> discriminant = reference_of(child, DW_AT_discr);
    const Variant none = variant_named(child, "None"), some = variant_named(child, "Some");
    if (!discriminant || !none.is_there || !some.is_there || none.when != 0) return std::nullopt;
    if (some.when && some.when != 1) return std::nullopt;
    if (number_of(*discriminant, DW_AT_data_member_location).value_or(0) != 0) return std::nullopt;
    const std::optional<Member> value = find_member(facts_of(some.type), "__0", nullptr);
    if (!value || !value->has_offset) return std::nullopt;
    RustOption option;
    option.value = facts_of(value->type);
    option.has_tag = some.when.has_value();
    option.tag_size = facts_of(type_of(*discriminant)).size;
    option.nr_words = is_number(option.value) ? 1 : is_two_words(option.value) ? 2 : 0;
    if (option.tag_size == 0 || option.tag_size > 8 || option.nr_words == 0) return std::nullopt;
    // One behind the other; or the value is an address, and where it is.
    const bool is_right = option.has_tag
                              ? option.nr_words == 1 && value->offset >= option.tag_size &&
                                    facts.size == value->offset + option.value.size
                              : value->offset == 0 && option.tag_size == 8 &&
                                    facts.size == option.value.size &&
                                    option.value.kind != TypeKind::kFloat;
    if (is_right) return option;
  }
  return std::nullopt;
}

}  // namespace patchbay
