// SPDX-License-Identifier: MIT
//
// What may fault in code of ours that runs in a traced thread: loads through the program's
// pointers, mostly. Each such instruction has an entry in one table, the section pb_faults, which
// says where the thread goes on:
//
//   load ──faults──> SIGSEGV/SIGBUS ──> the agent's handler ── fault_fixup(ip) ──> the place to
//                                                                                  continue at
//
// Generated code loads inside its restartable sequence, which has no entry: the kernel takes the
// thread to the sequence's abort label before the handler sees it. The word kLoadAbort in front of
// the label says that the sequence has loads, and the thread goes on just there, the general way.
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

// In front of the signature (RSEQ_SIG) that stands in front of the abort label.
inline constexpr uint32_t kLoadAbort = 0x64616f6c;  // "load"
inline constexpr uint32_t kLoadAbortSize = 2 * sizeof(uint32_t);
// True where `code` is such a label; the bytes before it can be read.
inline bool is_load_abort(const uint8_t* code) {
  uint32_t word;
  __builtin_memcpy(&word, code - kLoadAbortSize, sizeof word);
  if (word != kLoadAbort) return false;
  __builtin_memcpy(&word, code - sizeof word, sizeof word);
  return word == 0x53053053;  // RSEQ_SIG of x86
}

extern "C" {
// Where a thread goes on that has taken a fault at `ip`; 0: the fault is the program's own.
// Async-signal-safe.
uint64_t fault_fixup(uint64_t ip) __attribute__((visibility("hidden")));
}

}  // namespace patchbay
