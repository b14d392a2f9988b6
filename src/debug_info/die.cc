// SPDX-License-Identifier: MIT
#include "debug_info/die.h"

#include <dwarf.h>

#include <algorithm>

namespace patchbay {

std::string name_of(Dwarf_Die die) {
  const char* name = ::dwarf_diename(&die);
  return name ? name : "";
}

std::optional<Dwarf_Attribute> attribute_of(Dwarf_Die die, unsigned attribute) {
  Dwarf_Attribute found;
  if (!::dwarf_attr_integrate(&die, attribute, &found)) return std::nullopt;
  return found;
}

std::optional<uint64_t> number_of(Dwarf_Die die, unsigned attribute) {
  std::optional<Dwarf_Attribute> found = attribute_of(die, attribute);
  Dwarf_Word value = 0;
  if (!found || ::dwarf_formudata(&*found, &value) != 0) return std::nullopt;
  return value;
}

bool flag_of(Dwarf_Die die, unsigned attribute) {
  std::optional<Dwarf_Attribute> found = attribute_of(die, attribute);
  bool value = false;
  return found && ::dwarf_formflag(&*found, &value) == 0 && value;
}

std::string text_of(Dwarf_Die die, unsigned attribute) {
  std::optional<Dwarf_Attribute> found = attribute_of(die, attribute);
  const char* text = found ? ::dwarf_formstring(&*found) : nullptr;
  return text ? text : "";
}

bool is_unit_of_llvm(Dwarf_Die unit) { return !text_of(unit, DW_AT_producer).starts_with("GNU "); }

std::optional<Dwarf_Die> reference_of(Dwarf_Die die, unsigned attribute) {
  Dwarf_Attribute found;
  Dwarf_Die other;
  if (!::dwarf_attr(&die, attribute, &found) || !::dwarf_formref_die(&found, &other))
    return std::nullopt;
  return other;
}

std::optional<Dwarf_Die> type_of(Dwarf_Die die) {
  std::optional<Dwarf_Attribute> found = attribute_of(die, DW_AT_type);
  Dwarf_Die type, whole;
  if (!found || !::dwarf_formref_die(&*found, &type)) return std::nullopt;
  // Of a type that has a unit of its own (-fdebug-types-section), this is a declaration.
  Dwarf_Attribute signature;
  if (::dwarf_attr(&type, DW_AT_signature, &signature) && ::dwarf_formref_die(&signature, &whole))
    return whole;
  return type;
}

std::vector<Dwarf_Die> children_of(Dwarf_Die die) {
  std::vector<Dwarf_Die> children;
  Dwarf_Die child;
  if (::dwarf_child(&die, &child) != 0) return children;
  do {
    children.push_back(child);
  } while (children.size() < kMaxChildren && ::dwarf_siblingof(&child, &child) == 0);
  return children;
}

Dwarf_Die declaration_of(Dwarf_Die die) {
  for (int depth = 0; depth < kMaxDepth; depth++) {
    std::optional<Dwarf_Die> next = reference_of(die, DW_AT_abstract_origin);
    if (!next) next = reference_of(die, DW_AT_specification);
    if (!next) break;
    die = *next;
  }
  return die;
}

namespace {

std::string file_of_attribute(Dwarf_Die die, unsigned name) {
  std::optional<Dwarf_Attribute> attribute = attribute_of(die, name);
  Dwarf_Word index = 0;
  Dwarf_Die unit;
  Dwarf_Half version = 0;
  Dwarf_Files* files = nullptr;
  size_t count = 0;
  if (!attribute || ::dwarf_formudata(&*attribute, &index) != 0 ||
      !::dwarf_cu_die(attribute->cu, &unit, &version, nullptr, nullptr, nullptr, nullptr,
                      nullptr) ||
      (index == 0 && version < 5) || ::dwarf_getsrcfiles(&unit, &files, &count) != 0)
    return "";
  const char* file = index < count ? ::dwarf_filesrc(files, index, nullptr, nullptr) : nullptr;
  return file ? file : "";
}

}  // namespace

std::string declaration_file(Dwarf_Die die) { return file_of_attribute(die, DW_AT_decl_file); }
std::string call_file(Dwarf_Die die) { return file_of_attribute(die, DW_AT_call_file); }

bool same_entry(Dwarf_Die a, Dwarf_Die b) { return a.addr == b.addr; }

std::optional<uint64_t> entry_of(Dwarf_Die die) {
  Dwarf_Attribute attribute;
  Dwarf_Addr address = 0, low = 0, begin = 0, end = 0, base = 0;
  Dwarf_Word offset = 0;
  bool has_low = ::dwarf_lowpc(&die, &low) == 0;
  if (::dwarf_attr(&die, DW_AT_entry_pc, &attribute)) {
    if (::dwarf_formaddr(&attribute, &address) == 0) return address;
    if (has_low && ::dwarf_formudata(&attribute, &offset) == 0) return low + offset;
  }
  if (has_low) return low;
  // The first range of a function's own code is the hot one. Cold parts may lie before it.
  bool first_counts = ::dwarf_tag(&die) == DW_TAG_subprogram;
  std::optional<uint64_t> lowest;
  ptrdiff_t next = 0;
  for (int i = 0; i < 65536; i++) {
    next = ::dwarf_ranges(&die, next, &base, &begin, &end);
    if (next <= 0) break;
    if (begin < end && (!lowest || begin < *lowest)) lowest = begin;
    if (lowest && first_counts) break;
  }
  return lowest;
}

bool holds(Dwarf_Die die, uint64_t pc) { return ::dwarf_haspc(&die, pc) > 0; }

}  // namespace patchbay
