// SPDX-License-Identifier: MIT
//
// What a source has at an address of code: the function, those that were inlined there, the lines.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "debug_info/debug_info.h"

namespace patchbay {

struct SourceFrame {
  std::string function;  // of one that is inlined; "" of the one whose code it is
  std::string file;      // as the compiler was told; "": not known
  int line = 0;
};

class SourceFrames {
 public:
  explicit SourceFrames(const DebugInfo& info) : info_(info) {}
  // The innermost first, the one whose code it is last; empty: nothing is known there. `pc` is an
  // address of the file.
  std::vector<SourceFrame> at(uint64_t pc);

 private:
  bool find_unit(uint64_t pc, Dwarf_Die* unit);

  const DebugInfo& info_;
  std::vector<Dwarf_Die> units_;  // all, once one was not in the table of ranges
  bool has_units_ = false;
};

}  // namespace patchbay
