// SPDX-License-Identifier: MIT
//
// What the program believes of its signals (signal_hooks.cc), for those stand-ins that do not set
// it: calls that wait under a mask of their own, and masks that come by another way.
#pragma once

#include <signal.h>

#include <cstdint>

namespace patchbay {

// SIGTRAP, SIGSEGV, SIGBUS, SIGFPE and SIGILL, by number - 1.
inline constexpr uint64_t kOwnSignals = 0x4d8;

bool signals_are_installed();
// Which of ours the calling thread has blocked; which it has blocked from now on.
uint64_t blocked_of_ours();
void believe_blocked(uint64_t ours);
// In a thread that libc has made for itself, and that goes on with a function of the program's.
void begin_thread_of_libc();

// Signals that we hold, because the program has them blocked, become the kernel's: blocked and
// pending there.
class PendingSignals {
 public:
  PendingSignals() = default;
  ~PendingSignals();
  PendingSignals(const PendingSignals&) = delete;
  PendingSignals& operator=(const PendingSignals&) = delete;
  void send(uint64_t signals);

 private:
  uint64_t signals_ = 0;
};

// Around a call that waits under the mask `set`: ours stay open there, or a trap in a handler would
// kill. The program believes in `set` meanwhile, and what it held back comes, if `set` opens it.
class WaitMask {
 public:
  explicit WaitMask(const sigset_t* set);
  ~WaitMask();
  WaitMask(const WaitMask&) = delete;
  WaitMask& operator=(const WaitMask&) = delete;
  const sigset_t* set() const { return set_; }

 private:
  PendingSignals sent_;  // goes last
  const sigset_t* set_;
  sigset_t copy_;
  uint64_t was_ = 0, was_with_ = 0;
  bool is_other_ = false;
};

}  // namespace patchbay
