// SPDX-License-Identifier: MIT
//
// What probe_hot.cc and static_event_hot.cc share: who hits, and who wants to know. Included by the
// probe path only.
#pragma once

#include "probe/probe_abi.h"
#include "ring_buffer/ring_write_hot.h"

namespace patchbay {

// SLOW PATH: the thread's id is not in fast_tid (its first hit, one after agent code, or no rseq).
// Finds it out, enters the thread's comm once, and returns the id that its records carry.
uint32_t meet_thread(ProbeThread* thread, const SiteProgram* program);

// A hit of agent code itself: counted, not followed.
void count_recursion(const SiteProgram* program);

inline void write_header(uint8_t* record, uint16_t id, uint32_t tid) {
  *reinterpret_cast<uint64_t*>(record) = uint64_t{tid} << 32 | id;  // RecordHeader, flags are 0
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
