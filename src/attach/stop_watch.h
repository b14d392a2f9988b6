// SPDX-License-Identifier: MIT
//
// A tool that is stopped (Ctrl-Z, SIGSTOP) while it holds threads of a program would hold them for
// as long as it is stopped itself. So while this object lives a second process looks after it:
//
//   tool                                       second process
//     |-- clone(CLONE_VM) ---------------------->|  in a group of its own: Ctrl-Z is not for it
//     |   … holds threads of the target          |  every 20 ms: is the tool stopped?
//     |<-- SIGCONT, and `was_stopped` -----------|  yes: it goes on
//     |   … has let all go                       |
//     |-- SIGKILL, waited for ------------------>|
//     |-- SIGSTOP to itself, if it was stopped   |
//
// A tool that is killed takes it along (PR_SET_PDEATHSIG); the threads go on then, as the kernel
// lets go what a dead tracer has traced. Where no process can be made there is no such look.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <memory>

namespace patchbay::attach {

class StopWatch {
 public:
  StopWatch();
  // Afterwards the tool is stopped as it was asked to be.
  ~StopWatch();
  StopWatch(const StopWatch&) = delete;
  StopWatch& operator=(const StopWatch&) = delete;

 private:
  // The second process runs in our memory. It makes raw system calls only: the thread's words,
  // errno among them, are the tool's.
  static int run(void* watch);
  bool is_tool_stopped();

  static constexpr size_t kStackSize = 64 * 1024;
  std::unique_ptr<char[]> stack_;
  pid_t tool_, process_ = -1;
  int status_;  // of the tool, for its /proc/PID/stat; -1: not to be had
  // Written by the second process, read when it has ended: the wait orders them.
  std::atomic<bool> was_stopped_{false};
};

}  // namespace patchbay::attach
