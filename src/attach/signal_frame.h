// SPDX-License-Identifier: MIT
//
// What the kernel writes on a thread's stack before it calls a signal's handler, made by hand. A
// thread that makes the system call rt_sigreturn on it goes on with everything as it was, without
// anybody's help: that is how a thread that we have stopped goes back when the tool is killed.
//
//   lower addresses                                                     rsp of the thread
//   | return address | ucontext: registers, mask | siginfo | vectors, 64-aligned | red zone |
//   ^ frame            ^ frame + 8 is rsp at the system call
//
// A function that returns with rsp at `frame` comes to the return address, libc's __restore_rt,
// which makes that system call.
#pragma once

#include <sys/user.h>

#include <cstdint>
#include <vector>

namespace patchbay::attach {

struct SignalFrame {
  uint64_t address = 0;
  std::vector<uint8_t> bytes;
};

// The frame that restores `registers` (behind a PTRACE_EVENT_STOP), `mask` and `vectors`
// (NT_X86_XSTATE). It ends below `top`. A system call that the kernel would restart is made again
// by the registers in it; one with a time limit waits for all of its time again.
SignalFrame signal_frame(const user_regs_struct& registers, uint64_t mask,
                         const std::vector<uint8_t>& vectors, uint64_t top,
                         uint64_t return_address);

}  // namespace patchbay::attach
