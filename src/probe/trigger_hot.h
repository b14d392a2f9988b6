// SPDX-License-Identifier: MIT
//
// Triggers: what a hit of an event does beside recording, in the order of the kernel (spec:
// ftrace.md 3.2).
//
//   hit ── triggers without a filter that need no record: traceon, snapshot, enable_event …
//     ├─ pid filters of the instance
//     ├─ record built
//     ├─ trigger_before   filters of triggers; hist_update; traceon, snapshot, enable_event …
//     ├─ the event's own: soft mode, filter, ring
//     └─ trigger_after    traceoff, stacktrace of those that matched
//
// An event with triggers has a program in its instance also while it is off: in soft mode, *soft 0.
// trigger_before() runs whatever becomes of the record.
#pragma once

#include <cstdint>

#include "filter/filter_abi.h"
#include "probe/probe_abi.h"
#include "probe/stack_hot.h"

namespace patchbay {

struct HistProgram;  // hist/hist_program.h
struct HitAction;

enum class TriggerKind : uint8_t { kAction, kHist };

struct Trigger {
  TriggerKind kind;
  uint8_t after;         // 1: behind the record (traceoff, stacktrace)
  uint8_t needs_record;  // 1: has a filter, is a hist, or `after`
  uint8_t reserved[5];
  const FilterProgram* filter;  // over the record; null: always
  HitAction* action;            // of kAction
  const HistProgram* hist;      // of kHist
};

// EventProgram.triggers. Immutable once published, never freed.
struct TriggerProgram {
  uint32_t nr_triggers;
  uint8_t has_early;  // some need no record
  uint8_t has_late;   // some are `after`
  uint8_t reserved[2];
  Trigger trigger[];
};

// Where a hit is, for what triggers may want of it.
struct TriggerHit {
  const EventProgram* event;
  const StackStart* stack;
  uint32_t tid;
};

void trigger_early(const TriggerProgram* triggers, const TriggerHit& hit);
// A bit for each of the first 64 triggers that is to run behind the record.
uint64_t trigger_before(const TriggerProgram* triggers, const TriggerHit& hit,
                        const uint8_t* record, uint32_t size);
void trigger_after(const TriggerProgram* triggers, const TriggerHit& hit, uint64_t matched);

}  // namespace patchbay
