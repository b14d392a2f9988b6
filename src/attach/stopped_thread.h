// SPDX-License-Identifier: MIT
//
// One thread of another process, stopped for a moment, in which it makes system calls and calls for
// us. When it goes on its registers, its vector state, its mask of signals and what a system
// call was about to answer are as they were: a wait that was interrupted is waited for again, and
// the program sees no EINTR that it would not have seen without us (docs/attach.md).
//
//   stop() -> guard() -> system_call() … -> start(), our code runs, fetch() -> release()
//                                              \-> leave(): our code ends by itself
//
// guard() writes a signal frame on the thread's stack (signal_frame.h). From then on the thread
// comes back by itself wherever a killed tool leaves it; or one that does not wait any longer,
// because the thread was given no processor for ten seconds: then nothing is touched any more
// (EDEADLK), and the thread goes on when the one that traces it ends.
//
// A thread that executes another program while it works for us stops there once more, and is let go
// untouched: that program may be another user's.
//
// The thread that makes this object has to be the one that uses and destroys it: a tracer is one
// thread. Every wait has an end.
#pragma once

#include <sys/types.h>
#include <sys/user.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "attach/process_maps.h"
#include "attach/signal_frame.h"
#include "attach/target.h"
#include "attach/tracing.h"
#include "base/result.h"

namespace patchbay::attach {

class StoppedThread {
 public:
  // Seizes and stops thread `tid` of `target`, which has to outlive this. Fails, with the thread as
  // it was, when it ends, does not stop in time, is stopped by somebody else, stands in a
  // restartable sequence, or is not the target's any more.
  static Result<std::unique_ptr<StoppedThread>> stop(const Target& target, pid_t tid,
                                                     int timeout_ms);
  // Restores everything, and lets the thread go on.
  ~StoppedThread();
  StoppedThread(const StoppedThread&) = delete;
  StoppedThread& operator=(const StoppedThread&) = delete;

  // The system call that the stop has interrupted; -1: none.
  long call_at_stop() const { return call_at_stop_; }
  // True: it had been answered with EINTR because of us, and is made again when the thread goes on.
  bool repaired() const { return repaired_; }
  // With which it goes on.
  const user_regs_struct& registers() const { return saved_; }

  // Where the signal frame is to stand: on the thread's own stack, which reaches down to
  // `stack.start`. `restorer` is libc's __restore_rt. System calls have to be made through an
  // instruction `syscall` with a `ret` behind it then. EAGAIN: there is no room.
  Status guard(const Range& stack, uint64_t restorer);
  // rsp for a system call rt_sigreturn that restores the thread. 0: no guard.
  uint64_t frame_stack() const { return frame_.address ? frame_.address + 8 : 0; }

  // Makes a system call in the thread, through the instruction `syscall` at `instruction` of its
  // process. The answer is the kernel's: a value, or -errno.
  Result<long> system_call(uint64_t instruction, long number, long a = 0, long b = 0, long c = 0,
                           long d = 0, long e = 0, long f = 0);

  // Lets the thread run from `code`, on the stack `stack`, with `argument` in rbx.
  Status start(uint64_t code, uint64_t stack, uint64_t argument);
  // Whether it still does. ESRCH: it has ended; EFAULT: it has met a signal that it cannot go on
  // with, and is stopped there.
  Status still_runs();
  // Stops it again, wherever it is: it must be in a wait that may be left anywhere.
  Status fetch(int timeout_ms);
  // The code that runs there is not ours to interrupt: the thread goes on with it, untraced, and
  // has to restore itself.
  Status leave();

  // Everything is as it was, but the thread is still stopped. release() does the same first.
  Status restore();
  // Restores everything, and lets the thread go on. What fails does not keep it from the rest; the
  // first error is returned. Nothing else may be called afterwards.
  Status release();

 private:
  StoppedThread(const Target& target, pid_t tid) : target_(target), pid_(target.pid()), tid_(tid) {}
  Status wait_for_first_stop(int timeout_ms);
  Status save();
  Status block_signals();
  Status leave_system_call();
  user_regs_struct working_registers() const;
  bool in_restartable_sequence() const;
  Status wait_stop(int* status, int timeout_ms);
  Status interrupt(int timeout_ms);
  Status go_to_system_call_stop();
  Status lose();
  Status detach();
  Status has_executed();

  const Target& target_;
  pid_t pid_, tid_;
  bool attached_ = false, is_saved_ = false, repaired_ = false;
  bool is_in_system_call_ = false;  // stopped at the exit of one that it has made for us
  bool runs_ = false;               // between start() and fetch()
  bool is_lost_ = false;            // it had no processor in a system call of ours
  bool is_blocked_ = false;         // its mask is ours
  bool is_another_ = false;         // it has executed a program: it is only let go
  uint64_t code_ = 0;               // where start() has let it run
  int owed_signal_ = 0;             // a SIGSTOP that came while it was ours
  long call_at_stop_ = -1;
  user_regs_struct saved_ = {};
  uint64_t saved_mask_ = 0;
  std::vector<uint8_t> saved_vectors_;
  SignalFrame frame_;
  std::vector<uint8_t> under_frame_;  // the bytes of the stack that the frame covers
};

}  // namespace patchbay::attach
