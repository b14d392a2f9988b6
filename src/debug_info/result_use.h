// SPDX-License-Identifier: MIT
//
// Whether anybody reads what a local function returns. LLVM takes a result away that no caller
// needs, because all know it without the function, and gcc does so in its clones. Nothing in the
// debug information says it. Its callers do: they are in the same unit, or, of link time
// optimization, anywhere in the object.
#pragma once

#include <unordered_map>
#include <vector>

#include "debug_info/debug_info.h"

namespace patchbay {

class ResultUses {
 public:
  explicit ResultUses(const DebugInfo& info) : info_(info) {}
  // Whether direct calls of `entry` are known, and none of them reads rax, or xmm0, before it is
  // written again.
  bool is_never_read(Dwarf_Die function, uint64_t entry, bool is_vector);

 private:
  struct Sites {
    std::unordered_map<uint64_t, std::vector<uint64_t>> behind;  // of each function that is called
    std::unordered_map<uint64_t, bool> is_jumped_to;
  };
  const Sites& sites_of(Dwarf_Die unit);
  const Sites& sites_of_object();
  void read_range(uint64_t begin, uint64_t end, Sites* sites) const;
  bool is_read_from(uint64_t address, bool is_vector, int* budget) const;

  const DebugInfo& info_;
  std::unordered_map<void*, Sites> sites_;  // by unit
};

}  // namespace patchbay
