// SPDX-License-Identifier: MIT
// A signal handler that comes between any two instructions, in tests: as long as this lives, a
// timer sends its signal again and again.
#pragma once

#include <signal.h>
#include <sys/time.h>

namespace patchbay::test {

class SignalStorm {
 public:
  // ITIMER_REAL: SIGALRM by the clock on the wall; ITIMER_PROF: SIGPROF by CPU time.
  SignalStorm(__itimer_which timer, long every_us, void (*handler)(int)) : timer_(timer) {
    struct sigaction action = {};
    action.sa_handler = handler;
    action.sa_flags = SA_RESTART;
    ::sigaction(signal(), &action, &before_);
    const itimerval often = {{0, every_us}, {0, every_us}};
    ::setitimer(timer_, &often, nullptr);
  }
  ~SignalStorm() { stop(); }
  SignalStorm(const SignalStorm&) = delete;
  SignalStorm& operator=(const SignalStorm&) = delete;

  void stop() {
    if (is_over_) return;
    is_over_ = true;
    const itimerval never = {};
    ::setitimer(timer_, &never, nullptr);
    ::sigaction(signal(), &before_, nullptr);
  }

 private:
  int signal() const { return timer_ == ITIMER_PROF ? SIGPROF : SIGALRM; }

  const __itimer_which timer_;
  bool is_over_ = false;
  struct sigaction before_;
};

}  // namespace patchbay::test
