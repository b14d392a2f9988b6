// SPDX-License-Identifier: MIT
//
// glibc runs parts of itself with every signal blocked: where it makes a thread, where a thread
// begins and ends, where one sends a signal to another, and in the child of posix_spawn until its
// exec. A trap there kills the process.
// So a transaction that writes int3 into libc, if only for a moment, shuts a gate first. What leads
// into such a part waits in front of it, and the transaction waits for what is inside:
//
//   pthread_create       trap_gate_enter() … trap_gate_leave()      the creator
//                        trap_gate_expect() … trap_gate_leave()     until its new thread runs
//   posix_spawn, popen   trap_gate_enter() … trap_gate_leave()
//   pthread_kill, pthread_cancel        the same
//   system               TrapGateSystem: it waits for its child with the signals open again
//   the end of a thread  trap_gate_ends(): inside until the kernel does not know the thread any
//   more
//
// Nobody waits for longer than a second or two: then all goes on, as without a gate. glibc's own
// threads (timer_create, aio) and thrd_create do not come by here.
#pragma once

#include <cstdint>

namespace patchbay {

// The program's side; async-signal-safe. A thread that is inside already is not held up.
void trap_gate_enter();
void trap_gate_leave();
// For a thread that is inside: one more is, and another thread is going to leave for it.
void trap_gate_expect();
void trap_gate_arrived();  // that thread
// This thread is going to end, soon and without coming back to the program.
void trap_gate_ends(uint32_t tid);
void trap_gate_after_fork();  // in the child, which has one thread

class TrapGateSystem {
 public:
  explicit TrapGateSystem(uint32_t tid);
  ~TrapGateSystem();
  TrapGateSystem(const TrapGateSystem&) = delete;
  TrapGateSystem& operator=(const TrapGateSystem&) = delete;

 private:
  int slot_ = -1;
};

// The patcher's side, one at a time: shuts the gate and waits until nobody is inside, but not
// longer than `limit_us`. False: a thread still is.
bool trap_gate_shut(uint64_t limit_us);
void trap_gate_open();

}  // namespace patchbay
