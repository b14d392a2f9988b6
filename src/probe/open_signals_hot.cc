// SPDX-License-Identifier: MIT
#include "probe/open_signals.h"

#include "base/raw_syscall.h"

namespace patchbay {

extern "C" {
OwnSignals pb_own_signals;
}

namespace {

constexpr long kBlock = 0, kUnblock = 1, kSetSize = 8;
constexpr int kFaults[2] = {11, 7};  // SIGSEGV, SIGBUS

long change_mask(long how, const uint64_t* set, uint64_t* old) {
  return raw_syscall(SYS_rt_sigprocmask, how, raw_pointer(set), raw_pointer(old), kSetSize);
}

// Those that were sent while they were open by our doing alone.
void send_again(uint64_t held) {
  for (; held; held &= held - 1)
    raw_syscall(SYS_tgkill, raw_syscall(SYS_getpid), raw_syscall(SYS_gettid),
                __builtin_ctzll(held) + 1);
}

}  // namespace

// A child of posix_spawn has actions of its own: nobody else sees these.
__attribute__((noinline, cold)) void OpenSignals::replace_handlers() {
  const KernelSignalAction& ours = pb_own_signals.action;
  for (int i = 0; i < 2; i++)
    raw_syscall(SYS_rt_sigaction, kFaults[i], 0, raw_pointer(&before_[i]), kSetSize);
  if (before_[0].handler == ours.handler && before_[1].handler == ours.handler) return;
  for (int sig : kFaults) raw_syscall(SYS_rt_sigaction, sig, raw_pointer(&ours), 0, kSetSize);
  replaced_ = true;
}

__attribute__((noinline, cold)) void OpenSignals::open() {
  if (pb_thread.is_lent()) replace_handlers();
  const uint64_t ours = pb_own_signals.ours;
  uint64_t before = 0;
  pb_thread.opened++;  // before a signal that waits comes
  if (change_mask(kUnblock, &ours, &before) == 0) blocked_ = before & ours;
  if (!blocked_) pb_thread.opened--;
}

__attribute__((noinline, cold)) void OpenSignals::close() {
  if (blocked_) {
    change_mask(kBlock, &blocked_, nullptr);
    if (--pb_thread.opened == 0) {
      const uint64_t held = pb_thread.held;
      pb_thread.held = 0;
      send_again(held);
    }
  }
  for (int i = 0; replaced_ && i < 2; i++)
    raw_syscall(SYS_rt_sigaction, kFaults[i], raw_pointer(&before_[i]), 0, kSetSize);
}

}  // namespace patchbay
