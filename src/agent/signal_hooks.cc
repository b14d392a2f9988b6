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
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <threads.h>
#include <ucontext.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>

#include "agent/clock_faults.h"
#include "agent/next_function.h"
#include "agent/signal_view.h"
#include "agent/stand_ins.h"
#include "agent/thread_aside.h"
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
void set_blocked(uint64_t was, uint64_t ours, uint64_t others);
ChildSignals* child_signals();
uint64_t blocked_by_program(uint64_t now) {
  if (const ChildSignals* child = child_signals())
    return child->has_mask ? child->blocked : t_blocked;
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

// --- the child of a vfork
//
// It has dispositions and a mask of its own in the kernel, but our memory is its parent's. What it
// sets for the program that it will execute is kept beside the thread's storage, which it has until
// then, and is forgotten with it. A child of posix_spawn(), system() or popen() runs libc's code
// alone: what its program inherits is known before it begins (SharedWithChild).

// A child runs on this thread's storage, and this is it.
bool in_vfork_child() {
  return pb_thread.is_lent() && raw_syscall(SYS_getpid) != g_pid.load(std::memory_order_relaxed);
}

// Null: this is no such child, or nothing can be kept.
ChildSignals* child_signals() {
  if (!in_vfork_child()) return nullptr;
  ThreadBlock* const block = thread_block();
  if (!block) return nullptr;
  ChildSignals& child = block->child;
  const auto pid = int32_t(raw_syscall(SYS_getpid));
  if (!child.is_spawn && child.pid != pid) child = {.pid = pid};
  return &child;
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
bool is_ignored(const KernelAction& action) {
  return reinterpret_cast<uintptr_t>(action.handler) == 1;  // SIG_IGN
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

uint64_t kernel_mask_of(const ucontext_t& context) {
  uint64_t mask;  // of the kernel's size: there is nothing behind it
  std::memcpy(&mask, &context.uc_sigmask, sizeof mask);
  return mask;
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

// The mask that a handler's return sets, as the program sees it there, and may edit it.
void show_blocked(ucontext_t* context) {
  uint64_t mask = kernel_mask_of(*context);
  mask |= blocked_by_program(mask);
  std::memcpy(&context->uc_sigmask, &mask, sizeof mask);
}
void take_blocked(ucontext_t* context) {
  const uint64_t mask = kernel_mask_of(*context), open = mask & ~kOurs;
  set_blocked(blocked_by_program(open), mask, mask);
  std::memcpy(&context->uc_sigmask, &open, sizeof open);
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
  show_blocked(context);
  action.handler(sig, info, context);
  take_blocked(context);
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
  const bool is_blocked = blocked_by_program(kernel_mask_of(*context)) & bit(sig);
  if (is_blocked && !is_fault) {
    pb_thread.held_blocked = uint16_t(pb_thread.held_blocked | bit(sig));
    return;
  }
  const KernelAction action = read_view(slot_of(sig));
  if (is_ignored(action) && !is_fault) return;
  if (!is_function(action) || is_blocked) {
    die_by_default(sig, info);
    return;
  }
  call_program(sig, info, context, action);
}

// What is blocked in the kernel is so by the program. One that waits comes as soon as it is open,
// and is held.
void open_ours() {
  uint64_t before = 0;
  if (kernel_sigmask(SIG_BLOCK, nullptr, &before) != 0 || !(before & kOurs)) return;
  remember_blocked(before, before);
  kernel_sigmask(SIG_UNBLOCK, &kOurs, nullptr);
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
void from_kernel_bits(uint64_t bits, sigset_t* set) { std::memcpy(set, &bits, sizeof(bits)); }
void from_kernel_set(uint64_t bits, sigset_t* set) {
  std::memset(set, 0, sizeof(*set));
  from_kernel_bits(bits, set);
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

void change_view_of_child(ChildSignals* child, int sig, const KernelAction* action,
                          KernelAction* old) {
  const auto one = uint16_t(bit(sig));
  if (old && (child->given & one))
    old->handler = reinterpret_cast<decltype(old->handler)>((child->ignored & one) != 0);
  if (!action || child->is_spawn) return;
  child->given = uint16_t(child->given | one);
  child->ignored = uint16_t((child->ignored & ~one) | (is_ignored(*action) ? one : 0));
}

// 0 or an errno. For one of ours: only the view changes.
int change_view(int sig, const KernelAction* action, KernelAction* old) {
  if (ChildSignals* child = child_signals()) {
    if (old) *old = read_view(slot_of(sig));
    change_view_of_child(child, sig, action, old);
    return 0;
  }
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

void send_to_itself(uint64_t signals) {
  for (int sig : kOurSignals) {
    if (!(signals & bit(sig))) continue;
    raw_syscall(SYS_tgkill, raw_syscall(SYS_getpid), raw_syscall(SYS_gettid), sig);
  }
}

// Signals that were sent while the program had them blocked arrive now.
void release_held(uint64_t unblocked) {
  const uint64_t due = pb_thread.held_blocked & unblocked;
  pb_thread.held_blocked = uint16_t(pb_thread.held_blocked & ~due);
  send_to_itself(due);
}

// The program has blocked `ours`, together with `others`; before it was `was` of ours.
void set_blocked(uint64_t was, uint64_t ours, uint64_t others) {
  if (in_vfork_child()) {
    ChildSignals* const child = child_signals();
    if (!child || child->is_spawn) return;
    child->has_mask = true;
    child->blocked = uint16_t(ours & kOurs);
    return;
  }
  remember_blocked(ours, others);
  if (was & ~t_blocked) release_held(was & ~t_blocked);
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
  if (!set || !installed) return 0;
  if (how == SIG_BLOCK) set_blocked(was, was | wanted, before | wanted);
  if (how == SIG_UNBLOCK) set_blocked(was, was & ~wanted, before & ~wanted);
  if (how == SIG_SETMASK) set_blocked(was, wanted, wanted);
  return 0;
}

// Which of ours this thread has blocked.
uint64_t blocked_now() {
  uint64_t now = ~uint64_t{0};
  if (!t_blocked && !pb_thread.is_lent()) return 0;
  kernel_sigmask(SIG_BLOCK, nullptr, &now);
  return blocked_by_program(now);
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

// What the program of a child of posix_spawn() begins with: what the caller has, or what it says in
// `attributes`.
ChildSignals spawned_with(const posix_spawnattr_t* attributes) {
  ChildSignals child = {.pid = 0, .is_spawn = true, .has_mask = true};
  uint64_t blocked = blocked_now();
  short flags = 0;
  sigset_t set;
  if (attributes) ::posix_spawnattr_getflags(attributes, &flags);
  if ((flags & POSIX_SPAWN_SETSIGMASK) && ::posix_spawnattr_getsigmask(attributes, &set) == 0)
    blocked = to_kernel_set(&set);
  if ((flags & POSIX_SPAWN_SETSIGDEF) && ::posix_spawnattr_getsigdefault(attributes, &set) == 0)
    child.given = uint16_t(to_kernel_set(&set) & kOurs);
  child.blocked = uint16_t(blocked & kOurs);
  return child;
}

// Around a real call whose child runs on this thread's storage.
class SharedWithChild {
 public:
  explicit SharedWithChild(const posix_spawnattr_t* attributes = nullptr) {
    const ChildSignals child = spawned_with(attributes);
    if (t_blocked || child.blocked || child.given) block_ = thread_block();
    if (block_) block_->child = child;
    pb_thread.no_rseq++;
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }
  ~SharedWithChild() {
    std::atomic_signal_fence(std::memory_order_seq_cst);
    pb_thread.fast_tid = 0;
    pb_thread.no_rseq--;
    if (block_) block_->child = {};
  }
  SharedWithChild(const SharedWithChild&) = delete;
  SharedWithChild& operator=(const SharedWithChild&) = delete;

 private:
  ClosedSignals closed_;
  ThreadBlock* block_ = nullptr;
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

// Ours are blocked in the kernel here where that was said in the thread's attributes, where its
// creator has done it by a raw system call, and in threads that libc makes for itself. That is what
// the program is shown.
void open_new_thread(uint32_t creator) {
  if (g_installed.load(std::memory_order_acquire)) open_ours();
  find_out_open();
  if (auto hook = g_thread_hook.load(std::memory_order_acquire)) hook(creator);
}

ThreadStart begin_thread(void* argument) {
  const ThreadStart start = *static_cast<ThreadStart*>(argument);
  trap_gate_arrived();
  delete static_cast<ThreadStart*>(argument);
  t_blocked = start.blocked;
  t_blocked_with = start.blocked_with;
  open_new_thread(start.creator);
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

// Its mask is another one than its creator's.
bool has_mask(const pthread_attr_t* attributes) {
  if (!attributes) return false;
  sigset_t set;
  const auto get = next_function<decltype(&pthread_attr_getsigmask_np)>(
      Next::kPthreadAttrGetsigmask);  // null: libc is too old for such masks
  return get && get(attributes, &set) == 0;
}

// Makes the thread by `create(start)`; what that answers, 0 for success.
template <typename Create>
int create_thread(ThreadStart start, const pthread_attr_t* attributes, Create create) {
  if (!has_mask(attributes)) {
    start.blocked = t_blocked;
    start.blocked_with = t_blocked_with;
  }
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

// Handlers that the program installed before us must not block our signals either, and return by
// our own code. What there was before.
void (*g_restorer[kSignals + 1])();  // null: ours
void take_handlers_of_others() {
  for (int sig = 1; sig <= kSignals; sig++) {
    KernelAction action = {};
    if (is_ours(sig) || kernel_sigaction(sig, nullptr, &action) != 0) continue;
    if (!is_function(action)) continue;
    g_hidden_mask[sig].store(action.mask & kOurs, std::memory_order_relaxed);
    action.mask &= ~kOurs;
    if (!(bit(sig) & kLibcInternal) && action.restorer != patchbay_sigreturn) {
      g_restorer[sig] = action.restorer;
      action.restorer = patchbay_sigreturn;
    }
    kernel_sigaction(sig, &action, nullptr);
  }
}

void give_back_handlers_of_others() {
  for (int sig = 1; sig <= kSignals; sig++) {
    const uint64_t hidden = g_hidden_mask[sig].exchange(0, std::memory_order_relaxed);
    KernelAction action = {};
    if (!(hidden || g_restorer[sig]) || kernel_sigaction(sig, nullptr, &action) != 0) continue;
    if (!is_function(action)) continue;
    action.mask |= hidden;
    if (g_restorer[sig]) action.restorer = g_restorer[sig];
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
    take_handlers_of_others();
    pb_own_signals.action.handler = reinterpret_cast<void (*)()>(on_signal);
    pb_own_signals.action.flags = SA_SIGINFO | SA_NODEFER | kRestorer;
    pb_own_signals.action.restorer = patchbay_sigreturn;
    g_installed.store(true, std::memory_order_release);
  }
  open_ours();
  find_out_open();
  __atomic_store_n(&pb_own_signals.ours, kOurs, __ATOMIC_RELEASE);
}

// Nobody is in code of ours that may fault, and no hook leads here any more.
void uninstall_signal_hooks() {
  if (!g_installed.exchange(false)) return;
  __atomic_store_n(&pb_own_signals.ours, 0, __ATOMIC_RELEASE);
  ViewWrite write;
  for (int sig : kOurSignals) kernel_sigaction(sig, &g_view[slot_of(sig)], nullptr);
  give_back_handlers_of_others();
}

// --- what is executed
//
// Another thread that hits an int3 or a bad pointer while our handler is away would end the process
// before the exec does. So where there is one, the three that we need ourselves are not ignored.

namespace {

uint64_t ignored_by_program() {
  const ChildSignals* const child = child_signals();
  uint64_t ignored = 0;
  for (int sig : kOurSignals) {
    const bool is_given = child && (child->given & bit(sig));
    const bool is = is_given ? child->ignored & bit(sig) : is_ignored(read_view(slot_of(sig)));
    if (is) ignored |= bit(sig);
  }
  constexpr uint64_t kNeeded = bit(SIGTRAP) | bit(SIGSEGV) | bit(SIGBUS);
  const bool is_alone = !(ignored & kNeeded) || in_vfork_child() || !program_has_other_threads();
  return is_alone ? ignored : ignored & ~kNeeded;
}

}  // namespace

ExecSignals::ExecSignals() {
  if (!g_installed.load(std::memory_order_acquire)) return;
  ignored_ = ignored_by_program();
  uint64_t now = ~uint64_t{0};
  if (const uint64_t blocked = blocked_now()) {
    kernel_sigmask(SIG_BLOCK, nullptr, &now);
    blocked_ = blocked & ~now;
  }
  KernelAction ignore = {};
  ignore.handler = reinterpret_cast<decltype(ignore.handler)>(1);
  for (int sig : kOurSignals)
    if (ignored_ & bit(sig)) kernel_sigaction(sig, &ignore, nullptr);
  if (blocked_) kernel_sigmask(SIG_BLOCK, &blocked_, nullptr);
  if (pb_thread.is_lent()) return;  // what waits is its parent's
  send_to_itself(pb_thread.held_blocked & blocked_);
}

ExecSignals::~ExecSignals() {
  for (int sig : kOurSignals)
    if (ignored_ & bit(sig)) install_handler(sig, read_view(slot_of(sig)));
  if (blocked_) kernel_sigmask(SIG_UNBLOCK, &blocked_, nullptr);  // what waits is held again
}

// --- for the other stand-ins (signal_view.h)

bool signals_are_installed() { return g_installed.load(std::memory_order_acquire); }
uint64_t blocked_of_ours() { return blocked_now(); }
void believe_blocked(uint64_t ours) { set_blocked(blocked_now(), ours, 0); }
void begin_thread_of_libc() {
  if (!pb_thread.open) open_new_thread(uint32_t(raw_syscall(SYS_gettid)));
}

WaitMask::WaitMask(const sigset_t* set) : set_(set) {
  if (!set || !signals_are_installed()) return;
  const uint64_t wanted = to_kernel_set(set);
  copy_ = *set;
  from_kernel_bits(wanted & ~kOurs, &copy_);
  set_ = &copy_;
  was_ = blocked_now();
  is_other_ = was_ != (wanted & kOurs) && !in_vfork_child();
  if (!is_other_) return;
  was_with_ = t_blocked_with;
  t_blocked = wanted & kOurs;
  t_blocked_with = 0;
  sent_.send(pb_thread.held_blocked & ~wanted);
}

WaitMask::~WaitMask() {
  if (!is_other_) return;
  t_blocked = was_;
  t_blocked_with = was_with_;
}

// Blocked in the kernel, and pending there.
void PendingSignals::send(uint64_t signals) {
  signals_ = signals & kOurs;
  if (!signals_) return;
  pb_thread.held_blocked = uint16_t(pb_thread.held_blocked & ~signals_);
  kernel_sigmask(SIG_BLOCK, &signals_, nullptr);
  send_to_itself(signals_);
}
// Those that nobody has taken are held again.
PendingSignals::~PendingSignals() {
  if (signals_) kernel_sigmask(SIG_UNBLOCK, &signals_, nullptr);
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
  g_pid.store(raw_syscall(SYS_getpid), std::memory_order_relaxed);
  pb_thread.held = pb_thread.held_blocked = 0;  // what waits is not inherited
  // Its writer is not in this process: whatever half it wrote is the view.
  if (g_view_version.load(std::memory_order_relaxed) & 1) g_view_version.fetch_add(1);
}

}  // namespace patchbay

// A handler may have edited the mask that its return sets (uc_sigmask): then ours go out of it, and
// into what the program believes. The rules for unwinders and debuggers are what glibc says of its
// own: every register is in the ucontext at rsp. But for an int3 the instruction
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
  testl $0x4d8, 296(%rsp)		/* kOurs in the mask that comes back */
  jne 2f
1:
  mov $15, %rax
  syscall
2:
  mov %rsp, %rdi
  call patchbay_sigreturn_mask
  jmp 1b
  .cfi_endproc
.size patchbay_sigreturn, . - patchbay_sigreturn
)");

static_assert(patchbay::kOurs == 0x4d8 && patchbay::kOurs == patchbay::kOwnSignals);
static_assert(offsetof(ucontext_t, uc_sigmask) == 296);
static_assert(offsetof(patchbay::ThreadBlock, child.pid) == 56);
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
  movq pb_thread_block@gottpoff(%rip), %rdx
  movq %fs:(%rdx), %rdx
  testq %rdx, %rdx
  jz 3f
  movl $0, 56(%rdx)	/* the child's ChildSignals are not the next one's */
3:
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

extern "C" {
__attribute__((visibility("hidden"))) int pb_sigaction(int sig, const struct sigaction* action,
                                                       struct sigaction* old) {
  return patchbay::set_action(sig, action, old);
}
__attribute__((visibility("hidden"))) int pb_sigprocmask(int how, const sigset_t* set,
                                                         sigset_t* old) {
  return patchbay::with_errno(patchbay::change_mask(how, set, old));
}
__attribute__((visibility("hidden"))) int pb_pthread_sigmask(int how, const sigset_t* set,
                                                             sigset_t* old) {
  return patchbay::change_mask(how, set, old);
}
}

// In front of libc's, so visible from outside (agent.map lists them).
#pragma GCC visibility push(default)
extern "C" {

__attribute__((visibility("hidden"), used)) void patchbay_sigreturn_mask(ucontext_t* context) {
  if (!patchbay::g_installed.load(std::memory_order_acquire)) return;
  const uint64_t mask = patchbay::kernel_mask_of(*context);
  const uint64_t open = mask & ~patchbay::kOurs;
  const uint64_t was = patchbay::blocked_by_program(open);
  patchbay::set_blocked(was, was | mask, mask);
  std::memcpy(&context->uc_sigmask, &open, sizeof open);
}

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
  patchbay::SharedWithChild shared(attributes);
  return real(pid, path, actions, attributes, argv, envp);
}
PB_STAND_IN int posix_spawnp(pid_t* pid, const char* file,
                             const posix_spawn_file_actions_t* actions,
                             const posix_spawnattr_t* attributes, char* const argv[],
                             char* const envp[]) {
  auto real = patchbay::next_function<decltype(&posix_spawnp)>(patchbay::Next::kPosixSpawnp);
  patchbay::BehindGate behind;
  patchbay::SharedWithChild shared(attributes);
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

// A thread inherits its creator's view of our signals too.
PB_STAND_IN int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                               void* (*run)(void*), void* argument) noexcept {
  auto real = patchbay::next_function<decltype(&pthread_create)>(patchbay::Next::kPthreadCreate);
  return patchbay::create_thread(
      {run, nullptr, argument, 0, 0, 0}, attributes, [&](patchbay::ThreadStart* start) {
        return start ? real(thread, attributes, patchbay::start_thread, start)
                     : real(thread, attributes, run, argument);
      });
}
PB_STAND_IN int thrd_create(thrd_t* thread, thrd_start_t run, void* argument) {
  auto real = patchbay::next_function<decltype(&thrd_create)>(patchbay::Next::kThrdCreate);
  return patchbay::create_thread({nullptr, run, argument, 0, 0, 0}, nullptr,
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
#pragma GCC visibility pop
}  // extern "C"
