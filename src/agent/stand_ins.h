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

// The stand-ins that the program's calls come to. None, if the libraries stand before the agent.
std::vector<StandIn> find_stand_ins();

// An agent that came late is behind the libraries in every order. Its stand-ins are reached by
// hooks of the functions' entries (libc_hooks.h): all that the loaded libraries have.
struct NamedStandIn {
  const char* name;
  StandIn at;
  bool is_needed;  // no agent comes where this cannot be hooked
};
std::vector<NamedStandIn> stand_ins_to_hook();

}  // namespace patchbay
