// SPDX-License-Identifier: MIT
//
// What probe_hot.cc, return_hook_hot.cc and static_event_hot.cc share: which thread hits, which
// instances want the hit, and its way through all the events of a place. Only the probe path
// includes it.
#pragma once

#include "probe/probe_abi.h"
#include "ring_buffer/ring_write_hot.h"

namespace patchbay {

struct StackStart;  // probe/records/unwind_hot.h

// One hit of a place through all of its events: counts it, builds the records and offers them to
// the instances. For a thread that runs agent code it counts recursion instead.
// `caller`: where the return address of the call stands; read for kFunction and kReturn heads only
// (a trampoline's is looked up). `wanted`: which events take part
// (wanted_bit()). `data`: of a return with whole calls, what they have taken
// (probe/returns/call_data.h).
void offer_events(const SiteProgram* program, const CallSite* at, const FetchRegisters* registers,
                  const uint64_t* caller, uint64_t wanted, const uint8_t* data = nullptr);

// A built record, but for its header. From an event probe's source record it makes the probe's own.
// `registers` may be null where fetch programs cannot want them (static events). True: it was
// published, so that a stack may follow (EventProgram.stack), or the event is an action that is to
// be done. `start`: where the stack of the hit is, for an event with triggers; they and the stack
// are dealt with here, and the answer is false.
bool offer_record(const SiteEvent& site, const FetchRegisters* registers, uint32_t tid,
                  uint8_t* record, uint32_t size, const StackStart* start);

// Of a thread that must not read the clock (agent/clock_faults.h), in ProbeThread.in_agent, beside
// what AgentScopes count there.
inline constexpr uint32_t kSilent = 1 << 16;
// This finds it out. It comes before the first system call of a thread that nobody knows: strict
// seccomp forbids that, too.
inline void look_at_clock() { (void)__builtin_ia32_rdtsc(); }

// SLOW PATH: the thread's id is not in fast_tid (its first hit, one after agent code, or no rseq).
// Finds it out, enters the thread's comm once, and returns the id that its records carry.
uint32_t meet_thread(ProbeThread* thread, const SiteProgram* program);
uint32_t meet_thread(ProbeThread* thread, const RingSet* set);

// A hit of agent code itself: counted in every instance, not followed. It is none of the program's,
// so that no probe has missed it.
void count_agent_hit(const SiteProgram* program);
// One of the program that would be followed too deep: counted as missed by the probe, too.
void count_recursion(const SiteProgram* program);

// The ends of publish_record() and publish_beside() when there were no rings: where programs were
// replaced they go on with the newest.
int publish_by_successor(const EventProgram* event, const uint8_t* record, uint32_t size);
int publish_beside_by_successor(const EventProgram* event, const uint8_t* record, uint32_t size);

inline bool has_successor(const EventProgram* event, int status) {
  return status == kRingOff && __atomic_load_n(&event->successor, __ATOMIC_ACQUIRE);
}

// Whose rings are the event's now: this program, or what has taken its place since. `steps` is
// counted up and bounds the way: a thread may have been stopped for long while somebody wrote
// filters.
constexpr uint32_t kMostSuccessors = 1 << 20;
inline const EventProgram* newest_program(const EventProgram* event, uint32_t* steps) {
  while (const EventProgram* next = __atomic_load_n(&event->successor, __ATOMIC_ACQUIRE)) {
    if (++*steps > kMostSuccessors) break;
    event = next;
  }
  return event;
}

// Into the event's ring; the event's threads and filter have been asked. But when another program
// has taken this one's place since, that one decides, as if the hit came now. A RingWriteStatus.
inline int publish_record(const EventProgram* event, const uint8_t* record, uint32_t size) {
  const int status = ring_publish(&event->rings, record, size);
  if (__builtin_expect(has_successor(event, status), 0))
    return publish_by_successor(event, record, size);
  return status;
}
// The same for what belongs to a record: nobody is asked.
inline int publish_beside(const EventProgram* event, const uint8_t* record, uint32_t size) {
  const int status = ring_publish(&event->rings, record, size);
  if (__builtin_expect(has_successor(event, status), 0))
    return publish_beside_by_successor(event, record, size);
  return status;
}

// RecordHeader, flags are 0.
inline uint64_t record_header(uint16_t id, uint32_t tid) { return uint64_t{tid} << 32 | id; }
inline void write_header(uint8_t* record, uint16_t id, uint32_t tid) {
  *reinterpret_cast<uint64_t*>(record) = record_header(id, tid);
}
static_assert(offsetof(abi::RecordHeader, common_pid) == 4);

inline bool wants_thread(const EventProgram* event, uint32_t tid) {
  if (event->pids && !pid_set_has(event->pids, tid)) return false;
  return !event->notrace_pids || !pid_set_has(event->notrace_pids, tid);
}

// For events that name threads in their fields, as sched_switch does: EventProgram.pid_field.
inline bool wants_record(const EventProgram* event, uint32_t tid, const uint8_t* record) {
  bool wanted = !event->pids || pid_set_has(event->pids, tid);
  bool excluded = event->notrace_pids && pid_set_has(event->notrace_pids, tid);
  for (uint16_t offset : event->pid_field) {
    if (!offset) continue;
    uint32_t other = *reinterpret_cast<const uint32_t*>(record + offset);
    wanted |= event->pids && pid_set_has(event->pids, other);
    excluded &= event->notrace_pids && pid_set_has(event->notrace_pids, other);
  }
  return wanted && !excluded;
}

}  // namespace patchbay
