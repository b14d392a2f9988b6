// SPDX-License-Identifier: MIT
#include "probe/triggers/trigger_hot.h"

#include "probe/callbacks/callback_hot.h"
#include "probe/triggers/action_hot.h"
#include "probe/triggers/hist_hot.h"
#include "probe/triggers/mirror_hot.h"

namespace patchbay {

namespace {

// Late triggers that have a bit of their own. The next bit stands for all behind them: one of those
// has matched, at least, and they are asked again.
constexpr uint32_t kOwnBits = 63;

void act(const Trigger& trigger, const TriggerHit& hit) {
  // Removed: a forked child has the old program for good.
  if (__atomic_load_n(&trigger.action->off, __ATOMIC_RELAXED)) return;
  action_do(trigger.action, hit.event, *hit.stack, hit.tid);
}

void mirror(const Trigger& trigger, const uint8_t* record, uint32_t size) {
  if (__atomic_load_n(&trigger.action->off, __ATOMIC_RELAXED)) return;
  if (action_take(trigger.action)) mirror_show(trigger.mirror, record, size);
}

inline void run(const Trigger& trigger, const TriggerHit& hit, const uint8_t* record,
                uint32_t size) {
  switch (trigger.kind) {
    case TriggerKind::kHist:
      return hist_update(trigger.hist, hit, record, size);
    case TriggerKind::kAction:
      return act(trigger, hit);
    case TriggerKind::kCallback:
      return callback_with_record(trigger.callback, {record, size, hit.tid}, hit.stack->at_entry);
    case TriggerKind::kMirror:
      return mirror(trigger, record, size);
  }
}

inline bool matches(const Trigger& trigger, const uint8_t* record, uint32_t size) {
  return !trigger.filter || filter_match(trigger.filter, record, size);
}

// Of those behind the record, which `matched` names.
void run_late(const TriggerHit& hit, const uint8_t* record, uint32_t size, uint64_t matched,
              TriggerKind kind) {
  const TriggerProgram* triggers = hit.event->triggers;
  for (uint32_t i = 0, late = 0; matched && i < triggers->nr_triggers; i++) {
    const Trigger& one = triggers->trigger[i];
    if (!one.after) continue;
    const bool has_bit = late++ < kOwnBits;
    if ((matched & 1) && one.kind == kind && (has_bit || matches(one, record, size)))
      run(one, hit, record, size);
    if (has_bit) matched >>= 1;
  }
}

}  // namespace

bool trigger_early(const TriggerHit& hit) {
  const TriggerProgram* triggers = hit.event->triggers;
  if (!triggers->has_early) return true;
  const EventProgram* event = hit.event;
  const bool was_on = !event->has_soft || __atomic_load_n(event->soft, __ATOMIC_ACQUIRE);
  for (uint32_t i = 0; i < triggers->nr_triggers; i++) act(triggers->trigger[i], hit);
  return was_on;
}

uint64_t trigger_before(const TriggerHit& hit, const uint8_t* record, uint32_t size) {
  const TriggerProgram* triggers = hit.event->triggers;
  if (triggers->has_early) return 0;
  uint64_t matched = 0;
  uint32_t late = 0;
  for (uint32_t i = 0; i < triggers->nr_triggers; i++) {
    const Trigger& one = triggers->trigger[i];
    const uint32_t number = late;
    late += one.after;
    if (one.kind == TriggerKind::kMirror && !mirror_has_listeners(one.mirror)) continue;
    if (!matches(one, record, size)) continue;
    if (one.after)
      matched |= uint64_t{1} << (number < kOwnBits ? number : kOwnBits);
    else
      run(one, hit, record, size);
  }
  return matched;
}

void trigger_after(const TriggerHit& hit, const uint8_t* record, uint32_t size, uint64_t matched) {
  run_late(hit, record, size, matched, TriggerKind::kHist);
  run_late(hit, record, size, matched, TriggerKind::kAction);
  run_late(hit, record, size, matched, TriggerKind::kCallback);
}

}  // namespace patchbay
