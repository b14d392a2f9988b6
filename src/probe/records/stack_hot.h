// SPDX-License-Identifier: MIT
//
// The program's call stack as a record of its own behind the record of an event: options stacktrace
// (ftrace:kernel_stack), userstacktrace (ftrace:user_stack), func_stack_trace, the command and the
// trigger stacktrace. All have the same unwinder (unwind_hot.h): by the tables that were made
// of .eh_frame where they are there, else by frame pointers; each stack says how
// (event/stack_how.h has the form of the records, and the line for texts).
#pragma once

#include <cstdint>

#include "event/stack_how.h"
#include "probe/probe_abi.h"
#include "probe/records/unwind_hot.h"

namespace patchbay {

inline constexpr uint16_t kKernelStackId = 4, kUserStackId = 13;

// Of a hit at a place, or at a return, as offer_events() has it: `word` is where the return address
// of the call stands; at a place inside a function, the program's stack pointer.
StackStart stack_start(const CallSite* at, const FetchRegisters* registers, const uint64_t* word);

// Records the stack in the rings that `event` records in, as `stacks` or EventProgram.stack say (0,
// of a command: a kernel_stack). Async-signal-safe; no lock, no allocation, bounded; bad memory
// ends the stack.
// `skip`: how many of the first frames are left away.
void record_stacks(const EventProgram* event, uint8_t stacks, const StackStart& start, uint32_t tid,
                   uint32_t skip = 0);
inline void record_stack(const EventProgram* event, const StackStart& start, uint32_t tid) {
  record_stacks(event, event->stack, start, tid);
}

// --- The stack tracer

inline constexpr uint32_t kMaxDepthFrames = 500;
inline constexpr uint32_t kMaxDepthSteps = 1 << 16;  // to the end of a stack

// The deepest stack that was seen.
struct StackDepth {
  uint64_t size;    // atomic; bytes; what a stack has to exceed
  uint32_t locked;  // atomic; 1: the following are being written or read
  uint32_t count;
  uint64_t ip[kMaxDepthFrames];
  uint64_t depth[kMaxDepthFrames];  // bytes from each frame's stack pointer to the stack's end
  StackHow how;
};
extern "C" {
extern StackDepth pb_stack_depth __attribute__((visibility("hidden")));
// The process's id, for user_stack records; set by the control side.
extern uint32_t pb_stack_tgid __attribute__((visibility("hidden")));
}

// The stack tracer: is this thread's stack deeper than the deepest one? Then it is kept.
void stack_depth_hit(const SiteEvent& event, const StackStart& start);

// Bounded waiting: false if somebody else has it all the time.
bool lock_stack_depth();
void unlock_stack_depth();

}  // namespace patchbay
