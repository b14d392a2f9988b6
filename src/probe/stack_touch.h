// SPDX-License-Identifier: MIT
//
// The end of the stack. A program may run into its guard page and survive it: its handler, on an
// alternate stack, looks where the fault was (OCaml, virtual machines). Our code at a probe needs
// more stack than the function itself, so it would be there first, at a place that the program does
// not know. Therefore each piece of it begins with a first look at the lowest word that it is going
// to need, while all registers are as they were:
//
//     stub            mov %rax, -16(%rsp) | push %rax     what a call of probe_entry needs
//                     mov %rax, -72(%rsp)                 what generated code needs, and where it
//                     mov %rax, -128(%rsp)                copies texts (CodeFrame::lowest())
//     function_entry.S, probe_entry.S                     in the table pb_stack_touches
//
// Where that look faults, the hit is given up (and counted as those of agent code are): the thread
// goes on behind the prologue, with the program's registers. It is the program's own instruction
// then that faults, or it has room enough and goes on.
#pragma once

#include <ucontext.h>

#include <cstdint>

namespace patchbay {

// What of the program's state has changed at a look.
enum class StackTouch : int32_t {
  kBelow,     // nothing; the stack pointer neither
  kFrame,     // the stack pointer is lower by a frame
  kFrameRdi,  // and rdi is in the frame
};
// Below the frame: what probe_hit() usually needs.
inline constexpr uint32_t kStackTouchDepth = 2048;

// True: the fault was such a look, and `context` is where the program goes on. Async-signal-safe.
bool stack_touch_fixup(ucontext_t* context);

}  // namespace patchbay
