// SPDX-License-Identifier: MIT
//
// From a place in the program to its callers, by the tables that were made of .eh_frame
// (symbol/unwind_row.h), on the probe path:
//
//   frame (ip, sp, fp) -- find the module -- find the row -- CFA, caller's rbp --.
//     ^                                                                          |
//     '-- ip = *(CFA - 8), the real one if that is a return trampoline; sp = CFA '
//
// Code that no table covers (made at run time, or hand-written) is taken to have a frame pointer.
// Every load of a stack word is in the fault table: what is not mapped ends the walk.
#pragma once

#include <cstdint>

#include "event/stack_how.h"
#include "symbol/unwind_row.h"

namespace patchbay {

// What one loaded object has. Run-time addresses.
struct UnwindModule {
  uint64_t first, last;
  const UnwindRow* rows;
  const uint32_t* blocks;
};
// Sorted by address, not overlapping. Replaced as a whole.
struct UnwindModules {
  uint64_t count;
  const UnwindModule* module;
};

// Where a stack begins.
struct StackStart {
  uint64_t ip;    // the first frame; an instruction that has not run yet, not a return address
  uint64_t sp;    // of that frame: at a function's entry, where the return address stands
  uint64_t fp;    // rbp
  bool at_entry;  // of a function: the return address stands at sp, table or not
  uint8_t depth =
      0;  // of synthetic events that histograms fire at this hit (probe/triggers/hist_hot.h)
  bool is_inside = false;  // ip is in code that an event brings along: the stack is its caller's
};

// Arrays of `max` words, or null.
struct UnwindOutput {
  uint64_t* ip;       // where each frame is, or goes on
  uint64_t* sp;       // its stack pointer there
  uint64_t* last_sp;  // one word: that of the last frame
  uint32_t max;
};

// The number of frames, at most `max`. Async-signal-safe, no lock.
uint32_t unwind(const StackStart& start, const UnwindOutput& out, StackHow* how);

extern "C" {
extern const UnwindModules* pb_unwind_modules
    __attribute__((visibility("hidden")));  // atomic; null: no tables were made
}

}  // namespace patchbay
