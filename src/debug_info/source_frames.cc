// SPDX-License-Identifier: MIT
#include "debug_info/source_frames.h"

#include <dwarf.h>

#include <vector>

#include "debug_info/die.h"
#include "symbol/symbol.h"

namespace patchbay {
namespace {

constexpr size_t kMostInlined = 64;

// Entries that are looked at for one address. Files are foreign: they may nest and refer without
// end.
constexpr size_t kMostEntries = 1 << 20;

// From the unit inwards, what is inlined and whose code it is. False: nothing there holds `pc`.
bool find_scopes(Dwarf_Die die, uint64_t pc, int depth, size_t* left,
                 std::vector<Dwarf_Die>* scopes) {
  if (depth > kMaxDepth) return false;
  for (Dwarf_Die child : children_of(die)) {
    if (*left == 0) return false;
    --*left;
    switch (::dwarf_tag(&child)) {
      case DW_TAG_namespace:
      case DW_TAG_class_type:
      case DW_TAG_structure_type:
        if (find_scopes(child, pc, depth + 1, left, scopes)) return true;
        break;
      case DW_TAG_subprogram:
      case DW_TAG_inlined_subroutine:
        if (!holds(child, pc)) break;
        scopes->push_back(child);
        (void)find_scopes(child, pc, depth + 1, left, scopes);
        return true;
      case DW_TAG_lexical_block:
      case DW_TAG_try_block:
      case DW_TAG_catch_block:
        if (!holds(child, pc)) break;
        (void)find_scopes(child, pc, depth + 1, left, scopes);
        return true;
    }
  }
  return false;
}

std::string inlined_name(Dwarf_Die die) {
  const std::string mangled = text_of(die, DW_AT_linkage_name);
  return mangled.empty() ? name_of(die) : demangle(mangled, false);
}

}  // namespace

// Compilers may leave the table of ranges out.
bool SourceFrames::find_unit(uint64_t pc, Dwarf_Die* unit) {
  if (::dwarf_addrdie(info_.dwarf(), pc, unit)) return true;
  if (!has_units_) {
    has_units_ = true;
    Dwarf_Off next = 0, at = 0;
    size_t header = 0;
    while (::dwarf_nextcu(info_.dwarf(), at = next, &next, &header, nullptr, nullptr, nullptr) ==
           0) {
      Dwarf_Die die;
      if (::dwarf_offdie(info_.dwarf(), at + header, &die)) units_.push_back(die);
    }
  }
  for (const Dwarf_Die& one : units_)
    if (holds(one, pc)) return *unit = one, true;
  return false;
}

std::vector<SourceFrame> SourceFrames::at(uint64_t pc) {
  std::vector<SourceFrame> frames;
  Dwarf_Die unit;
  if (!find_unit(pc, &unit)) return frames;
  SourceFrame inner;
  if (Dwarf_Line* const line = ::dwarf_getsrc_die(&unit, pc)) {
    (void)::dwarf_lineno(line, &inner.line);
    if (const char* const file = ::dwarf_linesrc(line, nullptr, nullptr)) inner.file = file;
  }
  std::vector<Dwarf_Die> scopes;
  size_t left = kMostEntries;
  (void)find_scopes(unit, pc, 0, &left, &scopes);
  for (size_t i = scopes.size(); i-- > 0 && frames.size() < kMostInlined;) {
    Dwarf_Die die = scopes[i];
    if (::dwarf_tag(&die) == DW_TAG_subprogram) break;
    inner.function = inlined_name(die);
    frames.push_back(inner);
    inner = {"", call_file(die), int(number_of(die, DW_AT_call_line).value_or(0))};
  }
  if (inner.line > 0 || !frames.empty()) frames.push_back(inner);
  return frames;
}

}  // namespace patchbay
