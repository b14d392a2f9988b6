// SPDX-License-Identifier: MIT
//
// Running processes and all that they have started. The kernel knows the parent of a process as
// long as that lives; so who was once seen in a tree stays in it, and its children with it.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"

namespace patchbay::cmd {

class ProcessTrees {
 public:
  // ESRCH with a sentence: one of the processes is not there.
  Status begin(const std::vector<uint64_t>& roots);
  // Looks who is there now. Without roots it is nobody.
  void look();
  // At the last look.
  const std::set<int>& living() const { return living_; }
  bool has(int pid) const { return living_.contains(pid); }
  bool lives() const { return !living_.empty(); }  // somebody, who may start others

 private:
  std::map<int, std::string> starts_;  // of those that were there at the last look
  std::set<int> living_;
};

}  // namespace patchbay::cmd
