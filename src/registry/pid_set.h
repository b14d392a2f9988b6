// SPDX-License-Identifier: MIT
//
// Making and changing the tables of thread ids that traced threads look into (PidSet). A task that
// forks or exits changes a table in place, one atomic word, while threads read it: its programs
// stay as they are.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "probe/probe_abi.h"

namespace patchbay {

struct PidSetDeleter {
  void operator()(PidSet* set) const;
};
using PidSetPtr = std::unique_ptr<PidSet, PidSetDeleter>;

// With room for twice as many. Null: no memory.
PidSetPtr make_pid_set(std::span<const uint32_t> pids);
// False: no room, make another. Adding a pid that is there changes nothing. 0 is in no set.
bool pid_set_insert(PidSet* set, uint32_t pid);
void pid_set_erase(PidSet* set, uint32_t pid);

}  // namespace patchbay
