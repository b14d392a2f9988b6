// SPDX-License-Identifier: MIT
//
// Functions of ours that stand in for a library's: the program's calls of fork() or sigaction()
// come to the agent first. They are traced there, where the caller and the arguments are the
// program's, and under the library's name and address:
//
//   program:  call fork@plt ---> fork of the agent: nops, or jmp to a stub  (patch_address)
//                                     | ...
//                                     +---> fork of libc                    (entry: what is shown)
//
// The agent does not use them for itself where a traced thread runs it: that would look like a call
// of the program's.
#pragma once

#include <vector>

#include "patch/patcher.h"

// Five bytes of nops at the function's entry, behind an endbr64.
#define PB_STAND_IN __attribute__((patchable_function_entry(5)))

namespace patchbay {

// Those that the program's calls come to. None, if the agent was loaded behind the libraries.
std::vector<StandIn> find_stand_ins();

}  // namespace patchbay
