// SPDX-License-Identifier: MIT
//
// What a hit does beside recording: the commands of set_ftrace_filter (f:traceoff:3), and the
// triggers of events (trigger_hot.h). A traced thread does it at once where a few stores are
// enough; what takes a lock or memory (snapshot, dump) it asks of the control thread. Of a snapshot
// it fixes the moment itself.
//
//   hit ── action_run ─┬─ traceon, traceoff     RingSet.controls of the instance: one store
//                      ├─ enable/disable_event  EventProgram.soft of the event: one store
//                      ├─ stacktrace            record_stack (probe/records/stack_hot.h)
//                      ├─ snapshot              ring_cut (ring_buffer/ring_cut.h); wakes the
//                      │                        control thread, which copies
//                      └─ dump, cpudump         HitAction.asked += 1; wakes the control thread
//
// When it takes effect. traceoff: at this very hit. On the CPU where it is made no record of a
// later hit of any thread comes any more; on another CPU at most the one record that was being
// published at that moment (ring_buffer/ring_set.h). traceon, enable_event and disable_event: for
// hits that begin later. snapshot: at this very hit; it has what the buffer held then, however late
// it is copied, and the first that reads it or the buffer has it copied. Of several the last one
// stays. Where its moment cannot be fixed (the spare buffer was freed, or the event is just being
// switched off) it is asked for as a dump is: what the buffer holds when the control thread runs.
// dump: then, some ten microseconds later, or a few milliseconds where that thread serves a client.
// But it switches the top instance off at the hit, as the kernel's does, so that what it prints
// ends there.
//
// Counts are exact: of all threads (and forked children) together an action with a count acts just
// so often. One that switches something counts only what it has changed. A count below 0 (that of
// `f:traceoff:` is -1) never acts, but for stacktrace, which then always does.
#pragma once

#include <cstdint>

#include "probe/probe_abi.h"
#include "probe/records/stack_hot.h"

namespace patchbay {

enum class ActionKind : uint8_t {
  kTraceOn,
  kTraceOff,
  kSnapshot,
  kStackTrace,
  kDump,
  kCpuDump,
  kEnableEvent,
  kDisableEvent,
  kEnableHist,
  kDisableHist,
  kMirror,  // Trigger.mirror (mirror_hot.h); the action has its count
};

struct ActionTable;

// Made by make_action() and never freed, a thread may be on its way with it. Shared by forked
// children.
struct HitAction {
  ActionKind kind;
  bool limited;     // `count` decides
  bool of_trigger;  // counts as triggers do: each stack, also one that is not recorded
  uint8_t reserved;
  uint32_t off;   // atomic; 1: removed, does nothing any more
  int64_t count;  // atomic; how often it still acts
  // Atomic. Of kEnableEvent, kDisableEvent: EventProgram.soft of that event; of kEnableHist,
  // kDisableHist: what the hists of that event look at, where `word` is stored.
  uint32_t* soft;
  uint32_t word;
  uint64_t asked;  // atomic; how often the control thread was asked (see above for snapshots)
  // Of kDump, kCpuDump: the rings of the top instance, of a program that lives as long.
  const RingSet* const* stops;
  int32_t cpu;  // atomic; of kCpuDump: where it was hit last
  // Not null: each function has an action of its own, and this one only says where.
  const ActionTable* by_function;  // atomic
};

// Functions (CallSite.function) and their actions: open addressing, 0 = free slot. Immutable.
struct ActionTable {
  struct Slot {
    uint64_t function;
    HitAction* action;
  };
  uint32_t mask;  // slots - 1, slots is a power of two with at least one free
  Slot slot[];
};
inline uint32_t action_slot(const ActionTable* table, uint64_t function) {
  return uint32_t(function * 0x9e3779b97f4a7c15u >> 32) & table->mask;
}
// Null: none.
inline HitAction* find_action(const ActionTable* table, uint64_t function) {
  uint32_t at = action_slot(table, function);
  for (; table->slot[at].function; at = (at + 1) & table->mask)
    if (table->slot[at].function == function) return table->slot[at].action;
  return nullptr;
}
// While the table is being made. The caller made it large enough; `function` is not 0.
inline void add_action(ActionTable* table, uint64_t function, HitAction* action) {
  uint32_t at = action_slot(table, function);
  while (table->slot[at].function) at = (at + 1) & table->mask;
  table->slot[at] = {function, action};
}

// A consumer of kind kAction was hit: at a place, or beside the record of an event. `function`:
// CallSite.function, 0 where there is none. Async-signal-safe, no lock; the one system call is the
// futex that wakes the control thread, for snapshot and dump where it sleeps on pb_action_bell.
void action_run(const EventProgram* event, uint64_t function, const StackStart& start,
                uint32_t tid);

// What an action does where it is known to be meant: not removed, not one by function.
void action_do(HitAction* action, const EventProgram* event, const StackStart& start, uint32_t tid);

// Takes one of what an action still has. False: there is none.
bool action_take(HitAction* action);

// The control thread sleeps on `asked`, and says so in `sleeps`. In memory that forked children
// share.
struct ActionBell {
  uint32_t asked;   // atomic; raised with each question
  uint32_t sleeps;  // atomic
};
extern "C" ActionBell* pb_action_bell __attribute__((visibility("hidden")));  // null: none was made

}  // namespace patchbay
