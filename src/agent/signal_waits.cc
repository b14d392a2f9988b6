// SPDX-License-Identifier: MIT
//
// Calls that wait under a mask, or for signals. Ours are open in the kernel all the time, and what
// was sent while the program has one blocked is held by us (signal_hooks.cc):
//
//   sigsuspend, ppoll, pselect, epoll_pwait, sigpause    WaitMask: what the mask opens comes
//   sigwait, sigwaitinfo, sigtimedwait                   what is held is pending in the kernel for
//                                                        the length of the call, which takes it
//   sigpending                                           what is held, too
//
// A signal that comes while a thread is in sigwait() is taken by it whether it is blocked or not.
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <time.h>

#include <cstdint>
#include <cstring>

#include "agent/next_function.h"
#include "agent/signal_view.h"
#include "agent/stand_ins.h"
#include "patch/trap_gate.h"
#include "ring_buffer/ring_set.h"

namespace patchbay {
namespace {

// For a call that waits for signals of `set`.
class WaitedFor {
 public:
  explicit WaitedFor(const sigset_t* set) {
    uint64_t wanted = 0;
    if (!pb_thread.held_blocked || !set) return;
    std::memcpy(&wanted, set, sizeof wanted);
    pending_.send(pb_thread.held_blocked & wanted);
  }

 private:
  PendingSignals pending_;
};

int suspend(const sigset_t* set) {
  const WaitMask mask(set);
  return next_function<decltype(&sigsuspend)>(Next::kSigsuspend)(mask.set());
}

// As libc's: the mask without one signal.
int suspend_without(int sig) {
  sigset_t set;
  ::sigemptyset(&set);
  if (::sigprocmask(SIG_BLOCK, nullptr, &set) != 0 || ::sigdelset(&set, sig) != 0) return -1;
  return suspend(&set);
}
int suspend_under(int old_mask) {
  sigset_t set;
  ::sigemptyset(&set);
  std::memcpy(&set, &old_mask, sizeof old_mask);  // the first 32, as sigblock() has them
  return suspend(&set);
}

}  // namespace
}  // namespace patchbay

#pragma GCC visibility push(default)
extern "C" {

PB_STAND_IN int sigsuspend(const sigset_t* set) { return patchbay::suspend(set); }
int __sigsuspend(const sigset_t* set) __attribute__((alias("sigsuspend"), nonnull(1)));

PB_STAND_IN int __sigpause(int sig_or_mask, int is_sig) {
  return is_sig ? patchbay::suspend_without(sig_or_mask) : patchbay::suspend_under(sig_or_mask);
}
PB_STAND_IN int __xpg_sigpause(int sig) { return patchbay::suspend_without(sig); }

PB_STAND_IN int ppoll(pollfd* fds, nfds_t count, const timespec* timeout, const sigset_t* set) {
  const patchbay::WaitMask mask(set);
  return patchbay::next_function<decltype(&ppoll)>(patchbay::Next::kPpoll)(fds, count, timeout,
                                                                           mask.set());
}
// Of programs that are built with _FORTIFY_SOURCE. libc's goes on to its own ppoll().
PB_STAND_IN int __ppoll_chk(pollfd* fds, nfds_t count, const timespec* timeout, const sigset_t* set,
                            size_t size) {
  const patchbay::WaitMask mask(set);
  using Function = int (*)(pollfd*, nfds_t, const timespec*, const sigset_t*, size_t);
  return patchbay::next_function<Function>(patchbay::Next::kPpollChk)(fds, count, timeout,
                                                                      mask.set(), size);
}
PB_STAND_IN int pselect(int count, fd_set* in, fd_set* out, fd_set* urgent, const timespec* timeout,
                        const sigset_t* set) {
  const patchbay::WaitMask mask(set);
  return patchbay::next_function<decltype(&pselect)>(patchbay::Next::kPselect)(
      count, in, out, urgent, timeout, mask.set());
}
PB_STAND_IN int epoll_pwait(int epoll, epoll_event* events, int count, int timeout,
                            const sigset_t* set) {
  const patchbay::WaitMask mask(set);
  return patchbay::next_function<decltype(&epoll_pwait)>(patchbay::Next::kEpollPwait)(
      epoll, events, count, timeout, mask.set());
}
PB_STAND_IN int epoll_pwait2(int epoll, epoll_event* events, int count, const timespec* timeout,
                             const sigset_t* set) {
  const patchbay::WaitMask mask(set);
  return patchbay::next_function<decltype(&epoll_pwait2)>(patchbay::Next::kEpollPwait2)(
      epoll, events, count, timeout, mask.set());
}

PB_STAND_IN int sigwait(const sigset_t* set, int* sig) {
  const patchbay::WaitedFor waited(set);
  return patchbay::next_function<decltype(&sigwait)>(patchbay::Next::kSigwait)(set, sig);
}
PB_STAND_IN int sigwaitinfo(const sigset_t* set, siginfo_t* info) {
  const patchbay::WaitedFor waited(set);
  return patchbay::next_function<decltype(&sigwaitinfo)>(patchbay::Next::kSigwaitinfo)(set, info);
}
PB_STAND_IN int sigtimedwait(const sigset_t* set, siginfo_t* info, const timespec* timeout) {
  const patchbay::WaitedFor waited(set);
  return patchbay::next_function<decltype(&sigtimedwait)>(patchbay::Next::kSigtimedwait)(set, info,
                                                                                         timeout);
}
PB_STAND_IN int sigpending(sigset_t* set) noexcept {
  const int result =
      patchbay::next_function<decltype(&sigpending)>(patchbay::Next::kSigpending)(set);
  uint64_t pending = 0;
  if (result != 0 || !patchbay::signals_are_installed()) return result;
  std::memcpy(&pending, set, sizeof pending);
  pending |= patchbay::pb_thread.held_blocked;
  std::memcpy(set, &pending, sizeof pending);
  return result;
}
}
#pragma GCC visibility pop

// sigpause() of <signal.h> is one of the two, by the macros of a program. This is the old one.
__asm__(".globl sigpause\n.type sigpause, @function\n.set sigpause, patchbay_old_sigpause");
extern "C" __attribute__((used, visibility("hidden"))) PB_STAND_IN int patchbay_old_sigpause(
    int mask) {
  return patchbay::suspend_under(mask);
}
