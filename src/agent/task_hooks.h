// SPDX-License-Identifier: MIT
//
// Threads and processes that the program makes, for the option event-fork; and the agent's lock
// over a fork.
#pragma once

#include <cstdint>

namespace patchbay {

void install_task_hooks();

// Where libc keeps a thread's value of the key whose destructor is called at the thread's end. A
// tool gives it to threads that are older than the agent (abi/attach_abi.h). Offsets are from the
// thread pointer; `data` is 0 where it has not been found out.
struct ExitKey {
  int64_t data = 0, used = 0;
  uint64_t sequence = 0, value = 0;
};
const ExitKey& exit_key();

}  // namespace patchbay
