// SPDX-License-Identifier: MIT
//
// A limited action takes one of its count before it acts and puts it back where there was nothing
// to change. So it never acts more often than its count, and what is left at the end is the count
// less what was changed, however many threads hit it at once:
//
//   already so? ── yes: nothing      take one ── none left: nothing      exchange the word ─┬ done
//                                                                 was so by now: put it back ┘
#include "probe/triggers/action_hot.h"

#include <linux/futex.h>

#include "base/raw_syscall.h"
#include "hot/rseq.h"
#include "probe/probe_hot.h"
#include "ring_buffer/ring_cut.h"

namespace patchbay {

extern "C" {
ActionBell* pb_action_bell = nullptr;
}

namespace {

constexpr int kSwitchTries = 4;

// The rings may be exchanged for those of another size meanwhile: their word counts then.
bool switch_rings(const RingSet* const* rings, bool on) {
  const RingSet* set = __atomic_load_n(rings, __ATOMIC_ACQUIRE);
  const bool changed = ring_switch(set, on);
  for (int i = 0; i < kSwitchTries; i++) {
    const RingSet* now = __atomic_load_n(rings, __ATOMIC_SEQ_CST);
    if (now == set) break;
    set = now;
    ring_switch(set, on);
  }
  return changed;
}

void give_back(HitAction* action) {
  if (action->limited) __atomic_fetch_add(&action->count, 1, __ATOMIC_RELAXED);
}

void switch_tracing(HitAction* action, const EventProgram* event, bool on) {
  uint32_t steps = 0;
  event = newest_program(event, &steps);
  if (ring_is_on(__atomic_load_n(&event->rings, __ATOMIC_ACQUIRE)) == on) return;
  if (action_take(action) && !switch_rings(&event->rings, on)) give_back(action);
}

void switch_event(HitAction* action, uint32_t on) {
  if (__atomic_load_n(action->soft, __ATOMIC_RELAXED) == on) return;
  if (action_take(action) && __atomic_exchange_n(action->soft, on, __ATOMIC_SEQ_CST) == on)
    give_back(action);
}

void wake_control_thread() {
  ActionBell* bell = pb_action_bell;
  __atomic_fetch_add(&bell->asked, 1, __ATOMIC_SEQ_CST);
  if (__atomic_load_n(&bell->sleeps, __ATOMIC_SEQ_CST))
    raw_syscall(SYS_futex, long(&bell->asked), FUTEX_WAKE, 1);
}

void ring_the_bell(HitAction* action) {
  __atomic_fetch_add(&action->asked, 1, __ATOMIC_RELEASE);  // pairs with the control thread's look
  wake_control_thread();
}

// Of a command the stack is what the options of its tracer say.
void stack_behind(HitAction* action, const EventProgram* event, const StackStart& start,
                  uint32_t tid) {
  uint32_t steps = 0;
  event = newest_program(event, &steps);
  const bool is_on = ring_is_on(__atomic_load_n(&event->rings, __ATOMIC_ACQUIRE));
  if (!action->of_trigger && !is_on) return;
  if (!action_take(action) || !is_on) return;
  record_stacks(event, action->of_trigger ? uint8_t{kKernelStack} : event->stack, start, tid);
}

// Of what the buffer holds now. Where nothing can be kept aside: of what it holds when the control
// thread comes, or it says that there is no spare buffer.
void ask_for_snapshot(HitAction* action, const EventProgram* event) {
  if (!action_take(action)) return;
  uint32_t steps = 0;
  event = newest_program(event, &steps);
  const RingSet* rings = __atomic_load_n(&event->rings, __ATOMIC_ACQUIRE);
  if (!rings || !ring_cut(rings)) return ring_the_bell(action);
  // The rings may have been exchanged for those of another size meanwhile, and what was entered in
  // the old ones already taken over. The same moment twice is one.
  const RingSet* now = __atomic_load_n(&event->rings, __ATOMIC_SEQ_CST);
  if (now != rings && __atomic_load_n(&now->cut.side_delta, __ATOMIC_ACQUIRE))
    ring_cut_at(const_cast<RingCut*>(&now->cut), __atomic_load_n(&rings->cut.to, __ATOMIC_RELAXED));
  wake_control_thread();
}

void ask_for_dump(HitAction* action) {
  if (!action_take(action)) return;
  switch_rings(action->stops, false);
  __atomic_store_n(&action->cpu, int32_t(current_cpu()), __ATOMIC_RELAXED);
  ring_the_bell(action);
}

}  // namespace

bool action_take(HitAction* action) {
  if (!action->limited) return true;
  // An empty count is -1. Only stacktrace, the kernel's as well, goes on below 0.
  // The counts of triggers are unsigned there, though shown as signed.
  const bool below_zero = action->kind == ActionKind::kStackTrace || action->of_trigger;
  int64_t count = __atomic_load_n(&action->count, __ATOMIC_RELAXED);
  while (count > 0 || (below_zero && count != 0))
    if (__atomic_compare_exchange_n(&action->count, &count, int64_t(uint64_t(count) - 1), true,
                                    __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
      return true;
  return false;
}

void action_run(const EventProgram* event, uint64_t function, const StackStart& start,
                uint32_t tid) {
  HitAction* action = event->action;
  if (const ActionTable* table = __atomic_load_n(&action->by_function, __ATOMIC_ACQUIRE))
    action = find_action(table, function);
  if (action && !__atomic_load_n(&action->off, __ATOMIC_RELAXED))
    action_do(action, event, start, tid);
}

void action_do(HitAction* action, const EventProgram* event, const StackStart& start,
               uint32_t tid) {
  switch (action->kind) {
    case ActionKind::kTraceOn:
      return switch_tracing(action, event, true);
    case ActionKind::kTraceOff:
      return switch_tracing(action, event, false);
    case ActionKind::kStackTrace:
      return stack_behind(action, event, start, tid);
    case ActionKind::kEnableEvent:
      return switch_event(action, 1);
    case ActionKind::kDisableEvent:
      return switch_event(action, 0);
    case ActionKind::kEnableHist:
    case ActionKind::kDisableHist:
      if (action_take(action)) __atomic_store_n(action->soft, action->word, __ATOMIC_RELEASE);
      return;
    case ActionKind::kSnapshot:
      return ask_for_snapshot(action, event);
    case ActionKind::kDump:
    case ActionKind::kCpuDump:
      return ask_for_dump(action);
    case ActionKind::kMirror:
      return;  // it shows a record, and run() in trigger_hot.cc has that
  }
}

}  // namespace patchbay
