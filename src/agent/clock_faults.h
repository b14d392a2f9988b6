// SPDX-License-Identifier: MIT
//
// A thread in strict seccomp mode, or one that has asked for PR_TSC_SIGSEGV, must not read the time
// stamp counter: RDTSC is a fault there. It cannot be recorded, and it must not be killed for it. A
// thread that asks for such a mode by prctl() is not recorded from then on. One that asks by a raw
// system call is noticed at the fault: the clock is taken to be 0, which the ring takes for the
// time of its last event, and the thread's next hits are counted as those of agent code are.
#pragma once

#include <signal.h>
#include <ucontext.h>

namespace patchbay {

// True: the fault was that of a RDTSC of ours, and `context` is where the thread goes on.
// Async-signal-safe; makes no system call.
bool clock_fault_fixup(const siginfo_t& info, ucontext_t* context);

// Likewise of an unaligned access of ours in a thread that calls a function with the flag AC set,
// where nobody can afford to look at it. Alignment checks are off from there on.
bool alignment_fault_fixup(const siginfo_t& info, ucontext_t* context);

}  // namespace patchbay
