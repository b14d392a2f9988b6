// SPDX-License-Identifier: MIT
//
// An event that can record in this process: its description (EventCall), the kind that makes its
// records (EventSource), and the programs of the instances that want it. The registry owns it.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/result.h"
#include "event/consumer_kind.h"
#include "event/event_call.h"
#include "probe/probe_abi.h"

namespace patchbay {

struct LiveEvent;

// One of the users that `users` counts goes.
inline void drop_user(uint32_t* users) {
  PB_CHECK(*users > 0);
  if (*users > 0) --*users;
}

// A kind of events: function events, static events, USDT probes. Called by the control side, under
// the agent's lock.
class EventSource {
 public:
  virtual ~EventSource() = default;
  // The programs of these events have changed (LiveEvent.programs): patch what became wanted,
  // restore what nobody wants any more, replace what changed; one transaction for all. On failure
  // everything is as before the call, for all of them, and the error says why (the caller then puts
  // the old programs back). Old programs may still be run by a thread: their owner parks them.
  virtual Status update(std::span<LiveEvent* const> changed) = 0;
};

struct LiveEvent {
  EventCall call;                 // its id is given by the registry
  EventSource* source = nullptr;  // null: nothing to switch (ftrace:print)
  void* data = nullptr;           // the source's own
  std::string module;             // name of the shared object it came with, for :mod:; "" = none
  const FetchProgram* fetch = nullptr;  // for EventProgram
  uint32_t max_size = 0;                // of a record, with the common header
  // What the source is to run, one per instance; among them the programs of event probes that are
  // attached to this event (EventProgram.from_record).
  std::vector<const EventProgram*> programs;
  bool can_enable = true;    // false: events of the system `ftrace`
  bool from_record = false;  // fetch reads another event's record: EventProgram.from_record
  const FilterProgram* source_filter = nullptr;  // over that record: EventProgram.source_filter
  // A tracer (tracer/ftrace_ops.h): `kind` and the following go into the programs as they are; the
  // threads are those of set_ftrace_pid. A tracer is not among the registry's events.
  bool is_tracer = false;
  ConsumerKind kind = ConsumerKind::kRecord;
  uint8_t stack = 0;
  uint8_t merges_repeats = 0;
  uint8_t graph_flags = 0;
  HitAction* action = nullptr;
  HitCallback* callback = nullptr;
  uint32_t order = 0;    // newer tracers stand before older ones at a place, as in the kernel
  std::string consumer;  // its name in debug/call_sites and debug/combinations; empty: call.name
  // Others that name this event (event probes, later triggers' variables): removal is EBUSY.
  uint32_t references = 0;
};

}  // namespace patchbay
