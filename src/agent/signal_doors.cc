// SPDX-License-Identifier: MIT
//
// Two more ways by which a mask comes to a thread:
//
//   timer_create, mq_notify with SIGEV_THREAD   libc makes a thread, with all signals blocked, that
//                                               calls a function of the program's: ours are opened
//                                               before
//   setcontext, swapcontext                     set uc_sigmask by a system call of their own: ours
//                                               are taken out of it before, into what the program
//                                               believes
//
// getcontext() and swapcontext() store the kernel's mask, which has none of ours. What the program
// believes is added: by getcontext() in the mask itself, behind libc's; by swapcontext(), which
// comes back later, in the last word of uc_sigmask, of which the kernel and libc know the first
// alone. Where nothing of ours is blocked, as nearly always, the three jump on to libc's.
#include <mqueue.h>
#include <signal.h>
#include <time.h>
#include <ucontext.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>

#include "agent/next_function.h"
#include "agent/signal_hooks.h"
#include "agent/signal_view.h"
#include "agent/stand_ins.h"

namespace patchbay {
namespace {

// --- threads of libc's for notifications

// What the program has asked for. It stays for good: a timer that is deleted may have a thread on
// its way. So there is one of each kind.
struct Notified {
  void (*function)(sigval);
  sigval value;
  Notified* next;
};
constexpr size_t kRows = 256;
std::atomic<Notified*> g_notified[kRows];  // grow at the front

std::atomic<Notified*>& row_of(const void* value) {
  constexpr uint64_t kGolden = 0x9e3779b97f4a7c15;
  return g_notified[reinterpret_cast<uint64_t>(value) * kGolden >> 56];
}

Notified* find_notified(void (*function)(sigval), sigval value) {
  std::atomic<Notified*>& row = row_of(value.sival_ptr);
  Notified* const first = row.load(std::memory_order_acquire);
  for (Notified* one = first; one; one = one->next)
    if (one->function == function && one->value.sival_ptr == value.sival_ptr) return one;
  auto* made = new (std::nothrow) Notified{function, value, first};
  if (!made) return nullptr;
  while (!row.compare_exchange_weak(made->next, made, std::memory_order_release)) {
  }
  return made;
}

void notified(sigval value) {
  const auto* one = static_cast<const Notified*>(value.sival_ptr);
  begin_thread_of_libc();
  one->function(one->value);
}

// `copy` is what libc is given instead.
template <typename Event>
Event* with_open_signals(Event* event, sigevent* copy) {
  if (!event || event->sigev_notify != SIGEV_THREAD || !event->sigev_notify_function) return event;
  Notified* const one = find_notified(event->sigev_notify_function, event->sigev_value);
  if (!one) return event;
  *copy = *event;
  copy->sigev_notify_function = notified;
  copy->sigev_value.sival_ptr = one;
  return copy;
}

// --- contexts

constexpr uint64_t kMark = 0x70617463'68620000;  // "patchb", above 16 bits of signals
constexpr size_t kLastWord = sizeof(sigset_t) - sizeof(uint64_t);

uint64_t word_at(const ucontext_t& context, size_t offset) {
  uint64_t word;
  std::memcpy(&word, reinterpret_cast<const char*>(&context.uc_sigmask) + offset, sizeof word);
  return word;
}
void set_word_at(ucontext_t* context, size_t offset, uint64_t word) {
  std::memcpy(reinterpret_cast<char*>(&context->uc_sigmask) + offset, &word, sizeof word);
}

// Of ours. A context that the kernel gives to a handler ends behind the first word; what is read
// there is on the same stack.
uint64_t blocked_by(const ucontext_t& context) {
  const uint64_t last = word_at(context, kLastWord);
  const uint64_t marked = (last & ~uint64_t{0xffff}) == kMark ? last : 0;
  return (word_at(context, 0) | marked) & kOwnSignals;
}

ucontext_t without_ours(const ucontext_t& context) {
  ucontext_t copy = context;
  set_word_at(&copy, 0, word_at(context, 0) & ~kOwnSignals);
  return copy;
}

// In rax and rdx.
struct Jump {
  void* next;      // libc's
  uint64_t added;  // to the mask that is stored; not 0: it is not enough to jump on
};
Jump jump_to(Next next, uint64_t added) { return {next_address(next), added}; }

}  // namespace
}  // namespace patchbay

extern "C" {
using patchbay::Jump;
using patchbay::Next;
#define PB_FROM_ASSEMBLER __attribute__((visibility("hidden"), used))
PB_FROM_ASSEMBLER Jump patchbay_before_getcontext(ucontext_t* context) {
  if (!patchbay::signals_are_installed()) return patchbay::jump_to(Next::kGetcontext, 0);
  patchbay::set_word_at(context, patchbay::kLastWord, 0);
  return patchbay::jump_to(Next::kGetcontext, patchbay::blocked_of_ours());
}
PB_FROM_ASSEMBLER Jump patchbay_before_setcontext(const ucontext_t* context) {
  if (!patchbay::signals_are_installed()) return patchbay::jump_to(Next::kSetcontext, 0);
  patchbay::believe_blocked(patchbay::blocked_by(*context));
  return patchbay::jump_to(Next::kSetcontext,
                           patchbay::word_at(*context, 0) & patchbay::kOwnSignals);
}
PB_FROM_ASSEMBLER Jump patchbay_before_swapcontext(ucontext_t* stored, const ucontext_t* context) {
  if (!patchbay::signals_are_installed()) return patchbay::jump_to(Next::kSwapcontext, 0);
  const uint64_t wanted = patchbay::blocked_by(*context);
  const uint64_t shown = patchbay::word_at(*context, 0) & patchbay::kOwnSignals;
  const uint64_t now = patchbay::blocked_of_ours();
  patchbay::set_word_at(stored, patchbay::kLastWord, now ? patchbay::kMark | now : 0);
  patchbay::believe_blocked(wanted);
  return patchbay::jump_to(Next::kSwapcontext, shown);
}
// The mask that libc sets is a copy's, on this stack. The thread comes back here to go on from
// swapcontext().
PB_FROM_ASSEMBLER int patchbay_slow_setcontext(const ucontext_t* context) {
  const ucontext_t copy = patchbay::without_ours(*context);
  return patchbay::next_function<decltype(&setcontext)>(Next::kSetcontext)(&copy);
}
PB_FROM_ASSEMBLER int patchbay_slow_swapcontext(ucontext_t* stored, const ucontext_t* context) {
  const ucontext_t copy = patchbay::without_ours(*context);
  return patchbay::next_function<decltype(&swapcontext)>(Next::kSwapcontext)(stored, &copy);
}
}

static_assert(offsetof(ucontext_t, uc_mcontext.gregs[REG_RSP]) == 160);
static_assert(offsetof(ucontext_t, uc_mcontext.gregs[REG_RIP]) == 168);
static_assert(offsetof(ucontext_t, uc_sigmask) == 296);

// What is stored and set are the registers of the caller, so these jump on, with the arguments as
// they were. Where getcontext() has something to add, what libc has stored of this frame becomes
// the caller's. (With shadow stacks it stores where that one is, too, and nothing is added.)
__asm__(R"(
.text
.macro context_stand_in name
.p2align 4
.globl \name
.type \name, @function
\name:
  .cfi_startproc
  endbr64
  .byte 0x0f, 0x1f, 0x44, 0x00, 0x00	/* a nop, as of PB_STAND_IN */
  pushq %rdi
  .cfi_adjust_cfa_offset 8
  pushq %rsi
  .cfi_adjust_cfa_offset 8
  subq $8, %rsp
  .cfi_adjust_cfa_offset 8
  call patchbay_before_\name
  addq $8, %rsp
  .cfi_adjust_cfa_offset -8
  popq %rsi
  .cfi_adjust_cfa_offset -8
  popq %rdi
  .cfi_adjust_cfa_offset -8
  testq %rdx, %rdx
  jnz patchbay_more_\name
  jmp *%rax
  .cfi_endproc
.size \name, . - \name
.endm
.set patchbay_more_setcontext, patchbay_slow_setcontext
.set patchbay_more_swapcontext, patchbay_slow_swapcontext
context_stand_in getcontext
context_stand_in setcontext
context_stand_in swapcontext

.type patchbay_more_getcontext, @function
patchbay_more_getcontext:
  .cfi_startproc
  xorl %ecx, %ecx
  .byte 0xf3, 0x48, 0x0f, 0x1e, 0xc9	/* rdsspq %rcx; a nop without shadow stacks */
  testq %rcx, %rcx
  jz 1f
  jmp *%rax
1:
  pushq %rdi
  .cfi_adjust_cfa_offset 8
  pushq %rdx
  .cfi_adjust_cfa_offset 8
  subq $8, %rsp
  .cfi_adjust_cfa_offset 8
  call *%rax
  addq $8, %rsp
  .cfi_adjust_cfa_offset -8
  popq %rdx
  .cfi_adjust_cfa_offset -8
  popq %rdi
  .cfi_adjust_cfa_offset -8
  testl %eax, %eax
  jnz 2f
  orq %rdx, 296(%rdi)			/* uc_sigmask */
  movq (%rsp), %rcx
  movq %rcx, 168(%rdi)			/* rip */
  leaq 8(%rsp), %rcx
  movq %rcx, 160(%rdi)			/* rsp */
2:
  ret
  .cfi_endproc
.size patchbay_more_getcontext, . - patchbay_more_getcontext
)");

#pragma GCC visibility push(default)
extern "C" {
PB_STAND_IN int timer_create(clockid_t clock, struct sigevent* event, timer_t* timer) noexcept {
  auto real = patchbay::next_function<decltype(&timer_create)>(patchbay::Next::kTimerCreate);
  struct sigevent copy;
  patchbay::ClosedSignals closed;
  return real(clock, patchbay::with_open_signals(event, &copy), timer);
}
PB_STAND_IN int mq_notify(mqd_t queue, const struct sigevent* event) noexcept {
  auto real = patchbay::next_function<decltype(&mq_notify)>(patchbay::Next::kMqNotify);
  struct sigevent copy;
  patchbay::ClosedSignals closed;
  return real(queue, patchbay::with_open_signals(event, &copy));
}
}
#pragma GCC visibility pop
