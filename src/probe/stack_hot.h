// SPDX-License-Identifier: MIT
//
// The program's call stack as a record of its own behind the record of an event: options stacktrace
// (ftrace:kernel_stack), userstacktrace (ftrace:user_stack), func_stack_trace, the command and the
// trigger stacktrace. All have the same unwinder (probe/unwind_hot.h): by the tables that were made
// of .eh_frame where they are there, else by frame pointers; each stack says how.
#pragma once

#include <cstdint>

#include "probe/probe_abi.h"

namespace patchbay {

// Where a stack begins.
struct StackStart {
  uint64_t ip;  // the first frame
  uint64_t sp;  // of that frame: at a function's entry, where the return address stands
  uint64_t fp;  // rbp
};

// Records the stack in the rings that `event` records in, as EventProgram.stack says.
// Async-signal-safe; no lock, no allocation, bounded; bad memory ends the stack.
void record_stack(const EventProgram* event, const StackStart& start, uint32_t tid);

// The stack tracer: is this thread's stack deeper than the deepest one? Then it is kept.
void stack_depth_hit(const SiteEvent& event, const StackStart& start);

}  // namespace patchbay
