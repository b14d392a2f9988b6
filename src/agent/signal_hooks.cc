// SPDX-License-Identifier: MIT
//
// Handlers and interposers use raw system calls only: libc's functions may be patched, and errno is
// the program's.
//
// Two things differ from a run without us. Inside the program's own handler for one of our signals
// the signal is not shown as blocked. A second fault there calls the handler again instead of
// killing the process, because a handler may leave by siglongjmp and we do not hear of it.

#include "agent/signal_hooks.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <threads.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>

#include "agent/clock_faults.h"
#include "agent/next_function.h"
#include "agent/stand_ins.h"
#include "base/mapped_files.h"
#include "base/raw_syscall.h"
#include "fetch/fetch_abi.h"
#include "hot/fault.h"
#include "patch/patcher.h"
#include "patch/stub_views.h"
#include "patch/trap_gate.h"
#include "probe/open_signals.h"
#include "probe/probe_abi.h"
#include "probe/records/printk_hot.h"
#include "probe/records/unwind_hot.h"
#include "probe/returns/return_hook.h"
#include "probe/stack_touch.h"
#include "probe/thread_blocks.h"
#include "probe/triggers/synthetic_hot.h"

extern "C" void patchbay_sigreturn() __attribute__((visibility("hidden")));

namespace patchbay {
namespace {

// The kernel's struct sigaction and signal sets are not libc's.
struct KernelAction {
  void (*handler)(int, siginfo_t*, void*);
  uint64_t flags;
  void (*restorer)();
  uint64_t mask;
};
constexpr uint64_t kRestorer = 0x04000000;
constexpr size_t kKernelSetSize = 8;
constexpr int kSignals = 64;

constexpr uint64_t bit(int sig) { return uint64_t{1} << (sig - 1); }
// The first three are needed for ourselves; all five are what a moved instruction may raise.
constexpr int kOurSignals[] = {SIGTRAP, SIGSEGV, SIGBUS, SIGFPE, SIGILL};
constexpr int kNrOurs = sizeof kOurSignals / sizeof kOurSignals[0];
constexpr uint64_t kOurs = bit(SIGTRAP) | bit(SIGSEGV) | bit(SIGBUS) | bit(SIGFPE) | bit(SIGILL);
static_assert(kOurs <= UINT16_MAX);                    // ProbeThread.held
constexpr uint64_t kLibcInternal = bit(32) | bit(33);  // cancellation, setxid

int slot_of(int sig) {
  for (int i = 0; i < kNrOurs; i++)
    if (kOurSignals[i] == sig) return i;
  return kNrOurs;
}
bool is_ours(int sig) { return slot_of(sig) < kNrOurs; }

long kernel_sigaction(int sig, const KernelAction* action, KernelAction* old) {
  return raw_syscall(SYS_rt_sigaction, sig, raw_pointer(action), raw_pointer(old), kKernelSetSize);
}
long kernel_sigmask(int how, const uint64_t* set, uint64_t* old) {
  return raw_syscall(SYS_rt_sigprocmask, how, raw_pointer(set), raw_pointer(old), kKernelSetSize);
}

// --- what the program believes

std::atomic<bool> g_installed{false};
std::atomic<long> g_pid{0};               // of the process that installed
std::atomic<uint32_t> g_view_version{0};  // odd while a view is being written
KernelAction g_view[kNrOurs];
// The signals of ours that the program put into the mask of its other handlers.
std::atomic<uint64_t> g_hidden_mask[kSignals + 1];

// These two are 64 bits wide because a tool reads and writes them (abi/attach_abi.h).
__thread uint64_t t_blocked __attribute__((tls_model("initial-exec")));  // of ours, by the program
// The others that were blocked in the kernel when `t_blocked` was set (blocked_by_program()).
__thread uint64_t t_blocked_with __attribute__((tls_model("initial-exec")));

// Which of ours the program has blocked. It can open its mask without us: by a raw system call (a
// Go thread, which begins with all blocked), siglongjmp, setcontext. Then others of the signals
// that it had blocked together with ours are open in the kernel now, which no handler of a signal
// makes them. `now`: the kernel's mask.
void release_held(uint64_t unblocked);
uint64_t blocked_by_program(uint64_t now) {
  if (t_blocked_with & ~now) {
    const uint64_t were = t_blocked;
    t_blocked = t_blocked_with = 0;
    release_held(were);
  }
  return t_blocked;
}

void remember_blocked(uint64_t ours, uint64_t others) {
  t_blocked = ours & kOurs;
  t_blocked_with = t_blocked ? others & ~(kOurs | kLibcInternal | bit(SIGKILL) | bit(SIGSTOP)) : 0;
}

// A write runs with all signals blocked, so that no handler of this thread waits for it.
class ViewWrite {
 public:
  ViewWrite() {
    const uint64_t all = ~uint64_t{0};
    kernel_sigmask(SIG_SETMASK, &all, &mask_);
    uint32_t version = g_view_version.load(std::memory_order_relaxed) & ~1u;
    while (!g_view_version.compare_exchange_weak(version, version | 1, std::memory_order_acquire)) {
      version &= ~1u;
      __builtin_ia32_pause();
    }
  }
  ~ViewWrite() {
    g_view_version.fetch_add(1, std::memory_order_release);
    kernel_sigmask(SIG_SETMASK, &mask_, nullptr);
  }

 private:
  uint64_t mask_ = 0;
};

KernelAction read_view(int slot) {
  for (;;) {
    const uint32_t before = g_view_version.load(std::memory_order_acquire);
    KernelAction copy = g_view[slot];
    std::atomic_thread_fence(std::memory_order_acquire);
    if (!(before & 1) && g_view_version.load(std::memory_order_relaxed) == before) return copy;
    __builtin_ia32_pause();
  }
}

bool is_function(const KernelAction& action) {
  return reinterpret_cast<uintptr_t>(action.handler) > 1;
}

// --- handlers

void on_signal(int sig, siginfo_t* info, void* context);

// Ours in the kernel, on the stack and with the restart behaviour that the program asked for.
void install_handler(int sig, const KernelAction& view) {
  KernelAction ours = {};
  ours.handler = on_signal;
  ours.flags = SA_SIGINFO | SA_NODEFER | kRestorer | (view.flags & (SA_ONSTACK | SA_RESTART));
  ours.restorer = patchbay_sigreturn;
  kernel_sigaction(sig, &ours, nullptr);
}

// The program dies as it would have: same signal, same place, core if it wants one.
void die_by_default(int sig, const siginfo_t* info) {
  KernelAction standard = {};
  standard.flags = kRestorer;
  standard.restorer = patchbay_sigreturn;
  kernel_sigaction(sig, &standard, nullptr);
  // A fault repeats itself when the handler returns. A trap would not.
  // What the kernel forces (a handler's frame does not fit its stack) does not either.
  if (sig != SIGTRAP && info->si_code > 0 && info->si_code != SI_KERNEL) return;
  siginfo_t copy = *info;
  raw_syscall(SYS_rt_tgsigqueueinfo, raw_syscall(SYS_getpid), raw_syscall(SYS_gettid), sig,
              raw_pointer(&copy));
}

void call_program(int sig, siginfo_t* info, ucontext_t* context, const KernelAction& action) {
  if (action.flags & SA_RESETHAND) {
    ViewWrite write;
    g_view[slot_of(sig)].handler = nullptr;
  }
  auto& rip = context->uc_mcontext.gregs[REG_RIP];
  const greg_t real = rip;
  const uint64_t original = patch_original_ip(static_cast<uint64_t>(real));
  if (original) rip = static_cast<greg_t>(original);
  const uint64_t mask = action.mask & ~(kOurs | kLibcInternal);
  if (mask) kernel_sigmask(SIG_BLOCK, &mask, nullptr);  // sigreturn puts the old one back
  action.handler(sig, info, context);
  if (original && rip == static_cast<greg_t>(original)) {
    rip = real;
  } else if (original) {
    // The handler went on elsewhere, perhaps behind the instruction: that may be a moved one too.
    const uint64_t moved = patch_trap_target(static_cast<uint64_t>(rip));
    if (moved) rip = static_cast<greg_t>(moved);
  }
}

void hand_over(int sig, siginfo_t* info, ucontext_t* context) {
  const bool is_fault = info->si_code > 0;
  if (pb_thread.opened && !is_fault) {  // it is blocked, but for a moment of ours
    pb_thread.held = uint16_t(pb_thread.held | bit(sig));
    return;
  }
  uint64_t mask;
  std::memcpy(&mask, &context->uc_sigmask, sizeof(mask));
  const bool is_blocked = blocked_by_program(mask) & bit(sig);
  if (is_blocked && !is_fault) {
    pb_thread.held_blocked = uint16_t(pb_thread.held_blocked | bit(sig));
    return;
  }
  const KernelAction action = read_view(slot_of(sig));
  const bool ignored = reinterpret_cast<uintptr_t>(action.handler) == 1;  // SIG_IGN
  if (ignored && !is_fault) return;
  if (!is_function(action) || is_blocked) {
    die_by_default(sig, info);
    return;
  }
  call_program(sig, info, context, action);
}

// Whether the thread's mask, which the program may have changed by raw system calls, leaves ours
// open in the kernel. A thread has this from its creator.
void find_out_open() {
  uint64_t mask = kOurs;
  kernel_sigmask(SIG_BLOCK, nullptr, &mask);
  pb_thread.open = !(mask & kOurs);
  if (!pb_thread.open) pb_thread.fast_tid = 0;
}

// A hlt of the patcher's. Valgrind makes it an illegal instruction. One that is gone by now is
// tried once again; where that cannot be remembered the fault is the program's.
uint64_t halt_target(int sig, int code, uint64_t ip) {
  const bool may_be = (sig == SIGSEGV && code == SI_KERNEL) || sig == SIGILL;
  if (!may_be) return 0;
  ThreadBlock* block = pb_thread_block;
  const bool again = block && block->halted_at == ip;
  if (block) block->halted_at = 0;
  const uint64_t target = patch_halt_target(ip, again);
  if (target != ip) return target;
  block = thread_block();
  if (!block) return 0;
  block->halted_at = ip;
  return ip;
}

// Where execution goes on when the signal was ours; 0: it was the program's.
uint64_t own_target(int sig, int code, uint64_t ip) {
  if (sig == SIGTRAP) return patch_trap_target(ip - 1);
  if (const uint64_t target = halt_target(sig, code, ip)) return target;
  if (sig != SIGSEGV && sig != SIGBUS) return 0;
  if (const uint64_t target = fault_fixup(ip)) return target;
  return is_stub_load_abort(ip) ? ip : 0;
}

void on_signal(int sig, siginfo_t* info, void* raw_context) {
  auto* context = static_cast<ucontext_t*>(raw_context);
  auto& rip = context->uc_mcontext.gregs[REG_RIP];
  if (info->si_code > 0) {
    const auto ip = static_cast<uint64_t>(rip);
    if (const uint64_t target = own_target(sig, info->si_code, ip)) {
      rip = static_cast<greg_t>(target);
      return;
    }
    if (sig == SIGBUS && fill_lost_page(*info)) return;
    if (clock_fault_fixup(*info, context) || alignment_fault_fixup(*info, context)) return;
    const bool is_access = sig == SIGSEGV || sig == SIGBUS;
    if (is_access && stack_touch_fixup(context)) return;
    if (const uint64_t label = is_access ? stub_load_abort(ip) : 0) {
      rip = static_cast<greg_t>(label);
      return;
    }
  }
  hand_over(sig, info, context);
}

// --- the program's calls

uint64_t to_kernel_set(const sigset_t* set) {
  uint64_t bits;
  std::memcpy(&bits, set, sizeof(bits));
  return bits;
}
void from_kernel_set(uint64_t bits, sigset_t* set) {
  std::memset(set, 0, sizeof(*set));
  std::memcpy(set, &bits, sizeof(bits));
}

KernelAction to_kernel(const struct sigaction& action) {
  KernelAction made = {};
  made.handler = action.sa_sigaction;
  made.flags = static_cast<uint32_t>(action.sa_flags) | kRestorer;
  made.restorer = patchbay_sigreturn;
  made.mask = to_kernel_set(&action.sa_mask);
  return made;
}
void from_kernel(const KernelAction& kernel, struct sigaction* action) {
  action->sa_sigaction = kernel.handler;
  action->sa_flags = static_cast<int>(kernel.flags & ~kRestorer);
  action->sa_restorer = kernel.restorer;
  from_kernel_set(kernel.mask, &action->sa_mask);
}

// A vfork child has its own dispositions and mask in the kernel, but our memory is its parent's.
bool in_vfork_child() {
  return pb_thread.is_lent() && raw_syscall(SYS_getpid) != g_pid.load(std::memory_order_relaxed);
}

// 0 or an errno. For one of ours: only the view changes.
int change_view(int sig, const KernelAction* action, KernelAction* old) {
  ViewWrite write;
  KernelAction& view = g_view[slot_of(sig)];
  if (old) *old = view;
  if (!action || in_vfork_child()) return 0;
  view = *action;
  install_handler(sig, view);
  return 0;
}

int change_action(int sig, const KernelAction* action, KernelAction* old) {
  if (sig <= 0 || sig > kSignals || sig == 32 || sig == 33) return EINVAL;
  if (!g_installed.load(std::memory_order_acquire)) {
    return static_cast<int>(-kernel_sigaction(sig, action, old));
  }
  if (is_ours(sig)) return change_view(sig, action, old);
  KernelAction open = {};
  const uint64_t hidden = g_hidden_mask[sig].load(std::memory_order_relaxed);
  if (action) {
    open = *action;
    open.mask &= ~kOurs;
  }
  const long rc = kernel_sigaction(sig, action ? &open : nullptr, old);
  if (rc) return static_cast<int>(-rc);
  if (old) old->mask |= hidden;
  if (action && !in_vfork_child())
    g_hidden_mask[sig].store(action->mask & kOurs, std::memory_order_relaxed);
  return 0;
}

// Signals that were sent while the program had them blocked arrive now.
void release_held(uint64_t unblocked) {
  const uint64_t due = pb_thread.held_blocked & unblocked;
  pb_thread.held_blocked = uint16_t(pb_thread.held_blocked & ~due);
  for (int sig : kOurSignals) {
    if (!(due & bit(sig))) continue;
    raw_syscall(SYS_tgkill, raw_syscall(SYS_getpid), raw_syscall(SYS_gettid), sig);
  }
}

// 0 or an errno.
int change_mask(int how, const sigset_t* set, sigset_t* old) {
  uint64_t wanted = 0, before = 0;
  if (set) {
    if (how != SIG_BLOCK && how != SIG_UNBLOCK && how != SIG_SETMASK) return EINVAL;
    wanted = to_kernel_set(set) & ~kLibcInternal;
  }
  const bool installed = g_installed.load(std::memory_order_acquire);
  const uint64_t kernel_set = installed && how != SIG_UNBLOCK ? wanted & ~kOurs : wanted;
  const long rc = kernel_sigmask(how, set ? &kernel_set : nullptr, &before);
  if (rc) return static_cast<int>(-rc);
  const uint64_t was = blocked_by_program(before);
  if (old) from_kernel_set(before | was, old);
  if (!set || !installed || in_vfork_child()) return 0;
  if (how == SIG_BLOCK) remember_blocked(was | wanted, before | wanted);
  if (how == SIG_UNBLOCK) remember_blocked(was & ~wanted, before & ~wanted);
  if (how == SIG_SETMASK) remember_blocked(wanted, wanted);
  if (was & ~t_blocked) release_held(was & ~t_blocked);
  return 0;
}

// The mask of a call that waits under it: ours stay open there too, or a trap in a handler kills.
const sigset_t* without_ours(const sigset_t* set, sigset_t* copy) {
  if (!set || !g_installed.load(std::memory_order_acquire)) return set;
  *copy = *set;
  for (int sig : kOurSignals) sigdelset(copy, sig);
  return copy;
}

int with_errno(int error) {
  if (!error) return 0;
  errno = error;
  return -1;
}

int set_action(int sig, const struct sigaction* action, struct sigaction* old) {
  KernelAction wanted = {}, before = {};
  if (action) wanted = to_kernel(*action);
  const int error = change_action(sig, action ? &wanted : nullptr, old ? &before : nullptr);
  if (!error && old) from_kernel(before, old);
  return with_errno(error);
}

sighandler_t set_handler(int sig, sighandler_t handler, int flags, bool block_itself) {
  if (handler == SIG_ERR || sig < 1 || sig > kSignals) {
    errno = EINVAL;
    return SIG_ERR;
  }
  struct sigaction action = {}, old = {};
  action.sa_handler = handler;
  action.sa_flags = flags;
  if (block_itself) from_kernel_set(bit(sig), &action.sa_mask);
  return set_action(sig, &action, &old) == 0 ? old.sa_handler : SIG_ERR;
}

// Around a real call that glibc makes with all signals blocked.
class BehindGate {
 public:
  BehindGate() { trap_gate_enter(); }
  ~BehindGate() { trap_gate_leave(); }
  BehindGate(const BehindGate&) = delete;
  BehindGate& operator=(const BehindGate&) = delete;

 private:
  ClosedSignals closed_;
};

// Around a real call whose child runs on this thread's storage.
class SharedWithChild {
 public:
  SharedWithChild() {
    pb_thread.no_rseq++;
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }
  ~SharedWithChild() {
    std::atomic_signal_fence(std::memory_order_seq_cst);
    pb_thread.fast_tid = 0;
    pb_thread.no_rseq--;
  }

 private:
  ClosedSignals closed_;
};

std::atomic<void (*)(uint32_t)> g_thread_hook;

// What a new thread has from its creator.
struct ThreadStart {
  void* (*run)(void*);
  int (*run_c11)(void*);  // of thrd_create; null: run
  void* argument;
  uint64_t blocked, blocked_with;
  uint32_t creator;
};

ThreadStart begin_thread(void* argument) {
  const ThreadStart start = *static_cast<ThreadStart*>(argument);
  trap_gate_arrived();
  delete static_cast<ThreadStart*>(argument);
  t_blocked = start.blocked;
  t_blocked_with = start.blocked_with;
  find_out_open();
  if (auto hook = g_thread_hook.load(std::memory_order_acquire)) hook(start.creator);
  return start;
}
void* start_thread(void* argument) {
  const ThreadStart start = begin_thread(argument);
  return start.run(start.argument);
}
int start_c11_thread(void* argument) {
  const ThreadStart start = begin_thread(argument);
  return start.run_c11(start.argument);
}

// Makes the thread by `create(start)`; what that answers, 0 for success.
template <typename Create>
int create_thread(ThreadStart start, Create create) {
  start.blocked = t_blocked;
  start.blocked_with = t_blocked_with;
  start.creator = uint32_t(raw_syscall(SYS_gettid));
  auto* kept = new (std::nothrow) ThreadStart(start);
  BehindGate behind;
  if (!kept) return create(nullptr);
  trap_gate_expect();
  const int error = create(kept);
  if (!error) return 0;
  trap_gate_arrived();
  delete kept;
  return error;
}

// Handlers that the program installed before us must not block our signals either.
void open_masks_of_others() {
  for (int sig = 1; sig <= kSignals; sig++) {
    KernelAction action = {};
    if (is_ours(sig) || kernel_sigaction(sig, nullptr, &action) != 0) continue;
    if (!is_function(action) || !(action.mask & kOurs)) continue;
    g_hidden_mask[sig].store(action.mask & kOurs, std::memory_order_relaxed);
    action.mask &= ~kOurs;
    kernel_sigaction(sig, &action, nullptr);
  }
}

}  // namespace

void set_thread_hook(void (*started)(uint32_t)) {
  g_thread_hook.store(started, std::memory_order_release);
}

void install_signal_hooks() {
  // They are there in a forked child whose parent had them, and that has an agent of its own now.
  g_pid.store(raw_syscall(SYS_getpid), std::memory_order_relaxed);
  if (g_installed.load(std::memory_order_acquire)) return;
  {
    ViewWrite write;
    for (int sig : kOurSignals) {
      KernelAction& view = g_view[slot_of(sig)];
      kernel_sigaction(sig, nullptr, &view);
      install_handler(sig, view);
    }
    open_masks_of_others();
    pb_own_signals.action.handler = reinterpret_cast<void (*)()>(on_signal);
    pb_own_signals.action.flags = SA_SIGINFO | SA_NODEFER | kRestorer;
    pb_own_signals.action.restorer = patchbay_sigreturn;
    g_installed.store(true, std::memory_order_release);
  }
  uint64_t before = 0;
  kernel_sigmask(SIG_UNBLOCK, &kOurs, &before);
  remember_blocked(before, before);
  find_out_open();
  __atomic_store_n(&pb_own_signals.ours, kOurs, __ATOMIC_RELEASE);
}

// Nobody is in code of ours that may fault, and no hook leads here any more.
void uninstall_signal_hooks() {
  if (!g_installed.exchange(false)) return;
  __atomic_store_n(&pb_own_signals.ours, 0, __ATOMIC_RELEASE);
  ViewWrite write;
  for (int sig : kOurSignals) kernel_sigaction(sig, &g_view[slot_of(sig)], nullptr);
  for (int sig = 1; sig <= kSignals; sig++) {
    const uint64_t hidden = g_hidden_mask[sig].exchange(0, std::memory_order_relaxed);
    KernelAction action = {};
    if (!hidden || kernel_sigaction(sig, nullptr, &action) != 0) continue;
    action.mask |= hidden;
    kernel_sigaction(sig, &action, nullptr);
  }
}

SignalWords signal_words() {
  const auto* self = static_cast<const char*>(__builtin_thread_pointer());
  const auto offset = [self](const void* word) { return static_cast<const char*>(word) - self; };
  constexpr uint64_t kOthers = ~(kOurs | kLibcInternal | bit(SIGKILL) | bit(SIGSTOP));
  return {kOurs,
          kOthers,
          offset(&t_blocked),
          offset(&t_blocked_with),
          offset(&pb_thread.open),
          offset(&pb_thread.held_blocked)};
}

void signal_hooks_after_fork() {
  // Its writer is not in this process: whatever half it wrote is the view.
  if (g_view_version.load(std::memory_order_relaxed) & 1) g_view_version.fetch_add(1);
}

}  // namespace patchbay

// The bytes are those that unwinders and debuggers know a signal frame by. The rules are what glibc
// says of its own: every register is in the ucontext at rsp. But for an int3 the instruction
// pointer is that of the int3 (trapno 3, and it stands before it), until on_signal() has set it:
// behind it the rules of the second instruction hold, which is not what has been executed. Where
// there was no trap the byte is read at rsp, which is always readable.
__asm__(R"(
.text
.p2align 4
  .cfi_startproc
  .cfi_signal_frame
  .cfi_escape 0x0f, 4, 0x77, 0xa0, 1, 6		/* CFA: rsp */
  .macro context_register number, low, high=1
  .cfi_escape 0x10, \number, 3, 0x77, \low, \high
  .endm
  .cfi_escape 0x10, 8, 2, 0x77, 40
  .cfi_escape 0x10, 9, 2, 0x77, 48
  .cfi_escape 0x10, 10, 2, 0x77, 56
  context_register 11, 0xc0, 0
  context_register 12, 0xc8, 0
  context_register 13, 0xd0, 0
  context_register 14, 0xd8, 0
  context_register 15, 0xe0, 0
  /* rdi rsi rbp rbx rdx rax rcx rsp; clang takes a comment behind a macro's arguments for one */
  context_register 5, 0xe8, 0
  context_register 4, 0xf0, 0
  context_register 6, 0xf8, 0
  context_register 3, 0x80
  context_register 1, 0x88
  context_register 0, 0x90
  context_register 2, 0x98
  context_register 7, 0xa0
  /* rip - (*(uint8_t*)(rsp + ((rip - 1 - rsp) & -(trapno == 3))) == 0xcc & trapno == 3) */
  .cfi_escape 0x16, 16, 38
  .cfi_escape 0x77, 0xa8, 1, 6			/* rip */
  .cfi_escape 0x77, 0xa8, 1, 6, 0x31, 0x1c	/* rip - 1 */
  .cfi_escape 0x77, 0, 0x1c			/* - rsp */
  .cfi_escape 0x30, 0x77, 0xc8, 1, 6, 0x33, 0x29, 0x1c, 0x1a	/* & 0 - (trapno == 3) */
  .cfi_escape 0x77, 0, 0x22			/* + rsp */
  .cfi_escape 0x94, 1, 8, 0xcc, 0x29		/* its byte == 0xcc */
  .cfi_escape 0x77, 0xc8, 1, 6, 0x33, 0x29	/* trapno == 3 */
  .cfi_escape 0x1a, 0x1c			/* rip - both */
  nop
.hidden patchbay_sigreturn
.globl patchbay_sigreturn
.type patchbay_sigreturn, @function
patchbay_sigreturn:
  mov $15, %rax
  syscall
  .cfi_endproc
.size patchbay_sigreturn, . - patchbay_sigreturn
)");

static_assert(offsetof(patchbay::ProbeThread, fast_tid) == 0);
static_assert(offsetof(patchbay::ProbeThread, no_rseq) == 12);

// The child returns first and overwrites the stack above us, so everything that the parent needs
// afterwards is in registers that the system call keeps: the return address in rdi, the thread's
// fast_tid in esi.
__asm__(R"(
.text
.p2align 4
.globl vfork
.type vfork, @function
vfork:
  .cfi_startproc
  endbr64
  .byte 0x0f, 0x1f, 0x44, 0x00, 0x00	/* a nop, as of PB_STAND_IN */
  movq pb_thread@gottpoff(%rip), %rdx
  popq %rdi
  .cfi_adjust_cfa_offset -8
  .cfi_register %rip, %rdi
  movl %fs:(%rdx), %esi
  movl $0, %fs:(%rdx)
  addl $1, %fs:12(%rdx)
  movl $58, %eax
  syscall
  pushq %rdi
  .cfi_adjust_cfa_offset 8
  .cfi_rel_offset %rip, 0
  testq %rax, %rax
  jz 1f
  movl %esi, %fs:(%rdx)
  subl $1, %fs:12(%rdx)
  cmpq $-4095, %rax
  jae 2f
1:
  ret
2:
  movl %eax, %edi
  jmp patchbay_vfork_failed
  .cfi_endproc
.size vfork, . - vfork
)");

// In front of libc's, so visible from outside (agent.map lists them).
#pragma GCC visibility push(default)
extern "C" {

__attribute__((visibility("hidden"), used)) int patchbay_vfork_failed(int negative_errno) {
  errno = -negative_errno;
  return -1;
}

PB_STAND_IN int sigaction(int sig, const struct sigaction* action, struct sigaction* old) noexcept {
  return patchbay::set_action(sig, action, old);
}

// Names of one function are so in libc: what is traced by one is traced by all.
PB_STAND_IN sighandler_t signal(int sig, sighandler_t handler) noexcept {
  return patchbay::set_handler(sig, handler, SA_RESTART, true);
}
sighandler_t bsd_signal(int, sighandler_t) noexcept __attribute__((alias("signal")));
sighandler_t ssignal(int, sighandler_t) noexcept __attribute__((alias("signal")));
PB_STAND_IN sighandler_t __sysv_signal(int sig, sighandler_t handler) noexcept {
  return patchbay::set_handler(sig, handler, static_cast<int>(SA_RESETHAND | SA_NODEFER), false);
}
sighandler_t sysv_signal(int, sighandler_t) noexcept __attribute__((alias("__sysv_signal")));

PB_STAND_IN int sigprocmask(int how, const sigset_t* set, sigset_t* old) noexcept {
  return patchbay::with_errno(patchbay::change_mask(how, set, old));
}
PB_STAND_IN int pthread_sigmask(int how, const sigset_t* set, sigset_t* old) noexcept {
  return patchbay::change_mask(how, set, old);
}

PB_STAND_IN int posix_spawn(pid_t* pid, const char* path, const posix_spawn_file_actions_t* actions,
                            const posix_spawnattr_t* attributes, char* const argv[],
                            char* const envp[]) {
  auto real = patchbay::next_function<decltype(&posix_spawn)>(patchbay::Next::kPosixSpawn);
  patchbay::BehindGate behind;
  patchbay::SharedWithChild shared;
  return real(pid, path, actions, attributes, argv, envp);
}
PB_STAND_IN int posix_spawnp(pid_t* pid, const char* file,
                             const posix_spawn_file_actions_t* actions,
                             const posix_spawnattr_t* attributes, char* const argv[],
                             char* const envp[]) {
  auto real = patchbay::next_function<decltype(&posix_spawnp)>(patchbay::Next::kPosixSpawnp);
  patchbay::BehindGate behind;
  patchbay::SharedWithChild shared;
  return real(pid, file, actions, attributes, argv, envp);
}
PB_STAND_IN int system(const char* command) {
  auto real = patchbay::next_function<decltype(&system)>(patchbay::Next::kSystem);
  patchbay::TrapGateSystem behind(uint32_t(patchbay::raw_syscall(SYS_gettid)));
  patchbay::SharedWithChild shared;
  return real(command);
}
PB_STAND_IN FILE* popen(const char* command, const char* mode) {
  auto real = patchbay::next_function<decltype(&popen)>(patchbay::Next::kPopen);
  patchbay::BehindGate behind;
  patchbay::SharedWithChild shared;
  return real(command, mode);
}

PB_STAND_IN int sigsuspend(const sigset_t* set) {
  sigset_t copy;
  return patchbay::next_function<decltype(&sigsuspend)>(patchbay::Next::kSigsuspend)(
      patchbay::without_ours(set, &copy));
}
PB_STAND_IN int ppoll(pollfd* fds, nfds_t count, const timespec* timeout, const sigset_t* set) {
  sigset_t copy;
  return patchbay::next_function<decltype(&ppoll)>(patchbay::Next::kPpoll)(
      fds, count, timeout, patchbay::without_ours(set, &copy));
}
PB_STAND_IN int pselect(int count, fd_set* in, fd_set* out, fd_set* urgent, const timespec* timeout,
                        const sigset_t* set) {
  sigset_t copy;
  return patchbay::next_function<decltype(&pselect)>(patchbay::Next::kPselect)(
      count, in, out, urgent, timeout, patchbay::without_ours(set, &copy));
}
PB_STAND_IN int epoll_pwait(int epoll, epoll_event* events, int count, int timeout,
                            const sigset_t* set) {
  sigset_t copy;
  return patchbay::next_function<decltype(&epoll_pwait)>(patchbay::Next::kEpollPwait)(
      epoll, events, count, timeout, patchbay::without_ours(set, &copy));
}
PB_STAND_IN int epoll_pwait2(int epoll, epoll_event* events, int count, const timespec* timeout,
                             const sigset_t* set) {
  sigset_t copy;
  return patchbay::next_function<decltype(&epoll_pwait2)>(patchbay::Next::kEpollPwait2)(
      epoll, events, count, timeout, patchbay::without_ours(set, &copy));
}
PB_STAND_IN int pthread_attr_setsigmask_np(pthread_attr_t* attributes, const sigset_t* set) {
  sigset_t copy;
  return patchbay::next_function<decltype(&pthread_attr_setsigmask_np)>(
      patchbay::Next::kPthreadAttrSetsigmask)(attributes, patchbay::without_ours(set, &copy));
}

// A thread inherits its creator's view of our signals too.
PB_STAND_IN int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                               void* (*run)(void*), void* argument) noexcept {
  auto real = patchbay::next_function<decltype(&pthread_create)>(patchbay::Next::kPthreadCreate);
  return patchbay::create_thread(
      {run, nullptr, argument, 0, 0, 0}, [&](patchbay::ThreadStart* start) {
        return start ? real(thread, attributes, patchbay::start_thread, start)
                     : real(thread, attributes, run, argument);
      });
}
PB_STAND_IN int thrd_create(thrd_t* thread, thrd_start_t run, void* argument) {
  auto real = patchbay::next_function<decltype(&thrd_create)>(patchbay::Next::kThrdCreate);
  return patchbay::create_thread({nullptr, run, argument, 0, 0, 0},
                                 [&](patchbay::ThreadStart* start) {
                                   return start ? real(thread, patchbay::start_c11_thread, start)
                                                : real(thread, run, argument);
                                 });
}

// libc blocks all signals in these, and calls functions of its own meanwhile.
PB_STAND_IN int pthread_kill(pthread_t thread, int sig) noexcept {
  auto real = patchbay::next_function<decltype(&pthread_kill)>(patchbay::Next::kPthreadKill);
  if (::pthread_equal(thread, ::pthread_self())) return real(thread, sig);  // not in this one
  patchbay::BehindGate behind;
  return real(thread, sig);
}
PB_STAND_IN int pthread_cancel(pthread_t thread) {
  auto real = patchbay::next_function<decltype(&pthread_cancel)>(patchbay::Next::kPthreadCancel);
  patchbay::BehindGate behind;
  return real(thread);
}
PB_STAND_IN int timer_create(clockid_t clock, struct sigevent* event, timer_t* timer) noexcept {
  auto real = patchbay::next_function<decltype(&timer_create)>(patchbay::Next::kTimerCreate);
  patchbay::ClosedSignals closed;
  return real(clock, event, timer);
}
#pragma GCC visibility pop
}  // extern "C"
