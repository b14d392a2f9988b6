// SPDX-License-Identifier: MIT
//
// What a tracer asks of the kernel, each with its sentence.
#pragma once

#include <sys/types.h>
#include <sys/user.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/result.h"

namespace patchbay::attach {

// "thread 7"
std::string thread_name(pid_t tid);

// One request of ptrace(). `what`: "read the registers of" …
Status trace(int request, pid_t tid, uint64_t address, void* data, const char* what);
// PTRACE_SEIZE of a thread of `pid` with these PTRACE_O_ options. A thread of ours, or of another
// tool, that has traced it and is just ending (own_thread.h) still does so for a moment: who joins
// it is woken before its tracees are let go. Waits for that, a second at most: a process that
// somebody traces for longer was refused before (may_attach.h).
Status seize(pid_t pid, pid_t tid, long options);
Status get_registers(pid_t tid, user_regs_struct* registers);  // ENOEXEC: it runs 32-bit code
Status set_registers(pid_t tid, const user_regs_struct& registers);
Status get_mask(pid_t tid, uint64_t* mask);
Status set_mask(pid_t tid, uint64_t mask);

// Memory of whatever has this number now: to look at. What depends on who it is, and all that is
// written, goes through a Target.
Status read_memory(pid_t pid, uint64_t address, void* out, size_t size);

// A thread that is seen behind PTRACE_EVENT_STOP has the answer EINTR: when the stop is the only
// reason for it, `registers` become those with which the system call is made again. True: they did;
// then `mask` has to be set. epoll_pwait() and its like still have the mask that they were given: a
// signal that comes now would run its handler before the call, and nothing would end the call then.
bool repair_answer(pid_t tid, uint64_t mask, user_regs_struct* registers);
// A signal has come after all: EINTR is its doing, and what the program expects.
void take_back_repair(user_regs_struct* registers);
// Signals wait for this thread, which is stopped, that it would take with this mask; also when that
// is not known.
bool has_deliverable_signal(pid_t tid, uint64_t mask);

inline constexpr uint64_t kSyscallLength = 2;
inline constexpr uint64_t kNoSystemCall = ~uint64_t{0};  // in orig_rax

// For tests: this process is killed at the (n + 1)th step in which it asks something of the other
// one. Negative: never.
void set_steps_to_live(int steps);
int steps_left();
void count_step();

}  // namespace patchbay::attach
