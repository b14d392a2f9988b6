// SPDX-License-Identifier: MIT
//
// The entries of libc's functions that the agent has to see, as jumps to its stand-ins, for an
// agent that came into a running program:
//
//   program:  call sigaction@plt ---> sigaction of libc: jmp ---> sigaction of the agent
//                                        |                           |
//                                        +5 <--- displaced <---------+   next_function.h
//
// They are made here, and written by the tool while no thread runs (abi/attach_abi.h). So calls
// through pointers, from libraries that are loaded later, and libc's own ones come by as well.
#pragma once

#include <vector>

#include "abi/attach_abi.h"
#include "agent/agent.h"
#include "patch/patcher.h"

namespace patchbay {

struct LibcHooks {
  std::vector<EntryHook> entries;
  // The code that asks the kernel for masks and dispositions of signals. A thread in there has
  // passed the hooks' places. When they are written it would still see, and set, what is the
  // agent's: a thread that blocks SIGTRAP there dies of the next int3.
  std::vector<abi::AttachRange> signal_askers;
};
// Makes them at the first call, the next functions of the stand-ins with them. Fails where a
// function that has to be hooked cannot be. They stay the same for the life of the process.
Result<const LibcHooks*> libc_hooks(Agent* agent);

// In the constructor, with the handlers of signals there: replace_libc_entries() beside threads.
void write_libc_entries(Agent* agent);

}  // namespace patchbay
