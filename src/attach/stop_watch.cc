// SPDX-License-Identifier: MIT
#include "attach/stop_watch.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>

#include "base/raw_syscall.h"

namespace patchbay::attach {

// The descriptor is opened before: the second process has a copy of our table.
StopWatch::StopWatch()
    : stack_(new char[kStackSize]),
      tool_(::getpid()),
      status_(::open("/proc/self/stat", O_RDONLY | O_CLOEXEC)) {
  if (status_ < 0) return;
  // No signal for its end: nobody who waits for children is to find this one.
  process_ = ::clone(run, stack_.get() + kStackSize, CLONE_VM, this);
}

StopWatch::~StopWatch() {
  if (process_ > 0) {
    ::kill(process_, SIGKILL);
    while (::waitpid(process_, nullptr, __WCLONE) < 0 && errno == EINTR) {
    }
  }
  if (status_ >= 0) ::close(status_);
  if (was_stopped_.load(std::memory_order_relaxed)) ::kill(tool_, SIGSTOP);
}

int StopWatch::run(void* watch) {
  auto& self = *static_cast<StopWatch*>(watch);
  constexpr timespec kBetween = {0, 20'000'000};
  const uint64_t all = ~uint64_t{0};
  raw_syscall(SYS_rt_sigprocmask, SIG_SETMASK, raw_pointer(&all), 0, sizeof all);
  raw_syscall(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL);
  raw_syscall(SYS_setpgid, 0, 0);
  while (raw_syscall(SYS_getppid) == self.tool_) {
    raw_syscall(SYS_nanosleep, raw_pointer(&kBetween), 0);
    if (!self.is_tool_stopped()) continue;
    self.was_stopped_.store(true, std::memory_order_relaxed);
    raw_syscall(SYS_kill, self.tool_, SIGCONT);
  }
  return 0;
}

// "PID (NAME) STATE …": the name is the tool's own and has no parenthesis that closes.
bool StopWatch::is_tool_stopped() {
  char text[64] = {};
  const long size = raw_syscall(SYS_pread64, status_, raw_pointer(text), sizeof text, 0);
  for (long i = 0; i + 2 < size; i++)
    if (text[i] == ')') return text[i + 2] == 'T';
  return false;
}

}  // namespace patchbay::attach
