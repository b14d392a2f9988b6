// SPDX-License-Identifier: MIT
#include "debug_info/source_frames.h"

#include <dwarf.h>

#include <cstdlib>
#include <memory>

#include "debug_info/die.h"
#include "symbol/symbol.h"

namespace patchbay {
namespace {

constexpr size_t kMostInlined = 64;

struct Free {
  void operator()(Dwarf_Die* scopes) const { std::free(scopes); }
};
using Scopes = std::unique_ptr<Dwarf_Die, Free>;

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
  Dwarf_Die* found = nullptr;
  if (::dwarf_getscopes(&unit, pc, &found) > 0) {
    const Scopes innermost(found);
    found = nullptr;
    const int count = ::dwarf_getscopes_die(innermost.get(), &found);
    const Scopes scopes(found);
    for (int i = 0; i < count && frames.size() < kMostInlined; i++) {
      Dwarf_Die die = scopes.get()[i];
      if (::dwarf_tag(&die) == DW_TAG_subprogram) break;
      if (::dwarf_tag(&die) != DW_TAG_inlined_subroutine) continue;
      inner.function = inlined_name(die);
      frames.push_back(inner);
      inner = {"", call_file(die), int(number_of(die, DW_AT_call_line).value_or(0))};
    }
  }
  if (inner.line > 0 || !frames.empty()) frames.push_back(inner);
  return frames;
}

}  // namespace patchbay
