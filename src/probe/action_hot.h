// SPDX-License-Identifier: MIT
//
// What a hit does beside recording: the commands of set_ftrace_filter (f:traceoff:3), and later the
// triggers of events. A traced thread does it at once where a few stores are enough; what takes a
// lock or memory (snapshot, dump) it asks of the control thread, by a word and a futex.
//
//   hit ── action_run ─┬─ traceon, traceoff     the recording words of the instance's rings
//                      ├─ enable/disable_event  EventProgram.rings: live or dead
//                      ├─ stacktrace            record_stack (probe/stack_hot.h)
//                      └─ snapshot, dump …      HitAction.asked += 1; wake the control thread
#pragma once

#include <cstdint>

#include "probe/probe_abi.h"

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
};

// Made and kept by the control side; never freed, a thread may be on its way with it.
struct HitAction {
  ActionKind kind;
  bool limited;  // `count` decides
  uint8_t reserved[2];
  uint32_t off;                 // atomic; 1: removed, does nothing any more
  int64_t count;                // atomic; how often it still acts
  const RingSet* const* rings;  // the instance's rings: of an EventProgram that lives as long
  // Of kEnableEvent, kDisableEvent: the program whose records are switched, and the word that says
  // which it is now (EventFile's soft state).
  EventProgram* program;
  uint32_t* soft_enabled;  // atomic
  uint64_t asked;          // atomic; how often the control thread was asked
};

// Called by offer_events for an event of kind kAction. `word`: the stack pointer at the place.
// Async-signal-safe, no lock.
void action_run(const SiteEvent& event, const CallSite* site, const FetchRegisters* registers,
                const uint64_t* word, uint32_t tid);

// The control thread sleeps on this word when it has nothing else to do; raised with each question.
extern "C" uint32_t pb_actions_asked __attribute__((visibility("hidden")));

}  // namespace patchbay
