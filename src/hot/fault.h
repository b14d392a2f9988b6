// SPDX-License-Identifier: MIT
//
// What may fault in code of ours that runs in a traced thread: loads through the program's
// pointers, mostly. Each such instruction has an entry in one table, the section pb_faults, which
// says where the thread goes on:
//
//   load ──faults──> SIGSEGV/SIGBUS ──> the agent's handler ── fault_fixup(ip) ──> the place to
//                                                                                  continue at
//
// docs/fault_fixups.md lists them all, with the signal masks that they can run under.
#pragma once

#include <cstdint>

namespace patchbay {

// For asm statements: the instruction at label `ip` may fault, and the thread goes on at `fixup`.
// (hot/fault.inc is the same for assembler sources.)
#define PB_FAULT_ENTRY(ip, fixup)              \
  ".pushsection pb_faults, \"a\", @progbits\n" \
  ".balign 4\n"                                \
  ".long " ip " - ., 1, " fixup                \
  " - .\n"                                     \
  ".popsection\n"

extern "C" {
// Where a thread goes on that has taken a fault at `ip`; 0: the fault is the program's own.
// Async-signal-safe.
uint64_t fault_fixup(uint64_t ip) __attribute__((visibility("hidden")));
}

}  // namespace patchbay
