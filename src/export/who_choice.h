// SPDX-License-Identifier: MIT
// Whose events are wanted (export_who.h finds them).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace patchbay {

// Empty lists want everybody. All that is said has to be true of somebody who is wanted.
struct WhoChoice {
  std::vector<uint64_t> tids, pids;
  std::vector<uint64_t> trees;           // processes, each with all that it has started
  std::vector<std::string> comms, exes;  // globs
  bool has_any() const {
    return !tids.empty() || !pids.empty() || !trees.empty() || !comms.empty() || !exes.empty();
  }
  // A list that is empty takes each. A glob of `exes` is one of the path, or of its last part.
  bool takes_tid(int32_t tid) const;
  bool takes_pid(int32_t pid) const;
  bool takes_comm(const std::string& comm) const;
  bool takes_exe(const std::string& exe) const;
};

}  // namespace patchbay
