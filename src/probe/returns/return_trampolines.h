// SPDX-License-Identifier: MIT
//
// Which trampoline stands for a return address (return_hook.h). A trampoline is given to one return
// address and never to another, so that it may be met at any time and in any copy of a stack.
//
//   return address ── its hash ── pb_quick_trampolines ─────────────> number    the quick entry
//                        │
//                        '── the table: what is used now ──> a ring of all that it has
//
// One is enough, mostly. Where a call has been left without a return, or may have been, its
// trampoline is retired: no call gets it any more, and the return address takes another. When it
// has kMaxOfOneCaller of them, or none is left, the oldest is used again, after the calls that are
// in doubt under its number are given up.
#pragma once

#include <cstdint>

#include "probe/returns/return_hook.h"

namespace patchbay {

inline constexpr uint32_t kMaxOfOneCaller = 1024;
inline constexpr int kQuickHashBits = 18, kQuickNumberBits = 17;
inline constexpr uint32_t kQuickHashFactor = 0x9e3779b1;  // function_entry.S

extern "C" {
// At its hash a return address that may be hooked, and below it the number of its trampoline; 0:
// none. Addresses above 47 bits are not there. Written by the slow way, taken away by
// set_return_callers() and when a trampoline is retired; both after the word that note_trampoline()
// looks at again.
extern uint64_t pb_quick_trampolines[1 << kQuickHashBits] __attribute__((visibility("hidden")));
}

// The trampoline that calls from there take now; 0: there is none any more. *again: it was retired,
// and calls that are in doubt under its number are to be given up before it is used.
uint32_t trampoline_for(uint64_t return_address, bool* again);
// No call gets it any more.
void retire_trampoline(uint32_t number);
bool is_retired(uint32_t number);
// For the quick entry. `version` is pb_callers_version from before the return address was looked
// at.
void note_trampoline(uint64_t return_address, uint32_t number, uint32_t version);
// The control side, after pb_callers_version was counted up.
void forget_quick_trampolines();

}  // namespace patchbay
