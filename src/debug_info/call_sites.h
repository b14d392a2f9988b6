// SPDX-License-Identifier: MIT
//
// Who calls a function directly. A compiler uses what it knows of a function where it makes a call
// of it: in the same unit, or, with link time optimization, anywhere in the object.
#pragma once

#include <memory>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "debug_info/debug_info.h"

namespace patchbay {

class CallSites {
 public:
  struct Sites {
    // Of each place that is called, or jumped to: where it returns to, and where the jumps are.
    std::unordered_map<uint64_t, std::vector<uint64_t>> behind, jumps;
    // Functions of the object that are called, or jumped to, through its stubs: others may define
    // them, too.
    std::unordered_set<uint64_t> through_stubs;
    bool has(uint64_t entry) const { return behind.contains(entry) || jumps.contains(entry); }
  };
  explicit CallSites(const DebugInfo& info) : info_(info) {}
  // One for each object, which reads its code once.
  static CallSites& of(DebugInfo& info);
  const Sites& of_unit(Dwarf_Die unit);
  const Sites& of_object();
  // Whether the compiler may have known the function where it is called.
  bool may_be_known(Dwarf_Die function, uint64_t entry);

 private:
  void read_range(uint64_t begin, uint64_t end, Sites* sites);
  void find_stubs();

  const DebugInfo& info_;
  std::unordered_map<void*, Sites> sites_;                       // by unit
  std::optional<std::unordered_map<uint64_t, uint64_t>> stubs_;  // and what they lead to
};

}  // namespace patchbay
