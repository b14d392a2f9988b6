// SPDX-License-Identifier: MIT
//
// Triggers: what a hit of an event does beside recording, in the order of the kernel
// (docs/files.md, "Order of triggers").
//
//   no trigger needs the record (traceon, snapshot, enable_event … without a filter):
//     hit ── trigger_early: all triggers ── was off: done ── pid filters ── record, as ever
//
//   one of them needs it (has a filter, is a hist, traceoff or stacktrace):
//     hit ── pid filters of the instance
//       ├─ record built
//       ├─ trigger_before   filters of triggers; hist_update; traceon, snapshot, enable_event …;
//       │                   mirror, where somebody listens (mirror_hot.h)
//       ├─ the event's own: soft mode, filter, ring, stacks
//       └─ trigger_after    of those that matched: histograms that trace(), so that a synthetic
//                           record stands behind the one that fired it; then traceoff, stacktrace,
//                           and callbacks of the program (probe/callbacks/callback_hot.h)
//
// An event with triggers has a program in its instance also while it is off: in soft mode, *soft 0.
// trigger_before() and trigger_after() run whatever becomes of the record. So an event that its own
// trigger switches on records that very hit if a trigger has a filter, else from the next one on.
//
// Budget (docs/invariants.md): a filter that does not match 0.5 x floor.
#pragma once

#include <cstdint>

#include "filter/filter_abi.h"
#include "probe/probe_abi.h"
#include "probe/records/stack_hot.h"

namespace patchbay {

struct HistProgram;  // hist/hist_program.h
struct HitAction;
struct HitCallback;
struct MirrorStub;  // probe/triggers/mirror_hot.h

enum class TriggerKind : uint8_t { kAction, kHist, kCallback, kMirror };

struct Trigger {
  TriggerKind kind;
  uint8_t after;         // 1: behind the record
  uint8_t needs_record;  // 1: has a filter, is a hist, or `after`
  uint8_t reserved[5];
  const FilterProgram* filter;  // over the record; null: always
  HitAction* action;            // of kAction and kMirror
  const HistProgram* hist;      // of kHist
  HitCallback* callback;        // of kCallback
  const MirrorStub* mirror;     // of kMirror
};

// EventProgram.triggers. Immutable once published, never freed.
struct TriggerProgram {
  uint32_t nr_triggers;
  uint8_t has_early;  // none needs the record: all run before it is built
  uint8_t reserved[3];
  // Where all have a filter: matches what one of them does, so that no match is nothing to do.
  // Static events (static_event_entry.S) and generated code (codegen/) ask it first.
  const FilterProgram* gate;
  // Of a mirror and nothing else: while this is 0 there is nothing to do, whatever the filter says.
  // Generated code looks at it before all else. Null otherwise.
  const uint32_t* listeners;
  Trigger trigger[];
};

// SiteProgram.plain of a static or synthetic event: goes straight on. Of a static one: the same in
// soft mode, behind its triggers' gate; one callback and nothing else, in soft mode, with a filter
// or without. A mirror and nothing else, in soft mode.
inline constexpr uint16_t kPlain = 1, kGated = 2, kCalls = 3, kCallsAlways = 4, kMirrored = 5;

// Where a hit is, for what triggers may want of it.
struct TriggerHit {
  const EventProgram* event;
  const StackStart* stack;
  uint32_t tid;
};

// Of hit.event, which has triggers. False: the event is off and nothing needs its record.
bool trigger_early(const TriggerHit& hit);
// A bit for each trigger that is to run behind the record, by its number among those; of more than
// 64 the last bit for all the rest. For trigger_after().
uint64_t trigger_before(const TriggerHit& hit, const uint8_t* record, uint32_t size);
void trigger_after(const TriggerHit& hit, const uint8_t* record, uint32_t size, uint64_t matched);

}  // namespace patchbay
