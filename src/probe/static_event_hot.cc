// SPDX-License-Identifier: MIT
//
// What a site of a static event calls (include/patchbay/static_event_abi.h): the record is built,
// but for its header.
//
//   site --jmp--> block out of line: record on the stack --call--> static_event_hit
//     |-- in agent code?     count recursion, leave
//     |-- header             id and thread
//     '-- for each instance  pid sets, filter, ring_publish: as in probe_hot.cc
//
// Budget (design.md 5): 1.3 x floor with one instance and no filter, 0.5 x when a filter rejects
// the event; these ways are straight lines. Rules as in probe_hot.cc.
#include <patchbay/static_event_abi.h>

#include "probe/probe_hot.h"

namespace patchbay {

namespace {

// Several instances, or lists of threads.
__attribute__((noinline)) void offer(const SiteProgram* program, uint32_t tid, uint8_t* record,
                                     uint32_t size) {
  for (uint32_t i = 0; i < program->nr_events; i++) {
    const EventProgram* event = program->event[i];
    bool by_field = event->pid_field[0];
    if (by_field ? !wants_record(event, tid, record) : !wants_thread(event, tid)) continue;
    write_header(record, event->id, tid);
    if (event->filter && !filter_match(event->filter, record, size)) continue;
    ring_publish(&event->rings, record, size);
  }
}

// Not the usual thread: new, in agent code, without rseq.
__attribute__((noinline, cold)) void hit_slowly(const SiteProgram* program, uint8_t* record,
                                                uint32_t size) {
  ProbeThread* thread = &pb_thread;
  if (thread->in_agent) return count_recursion(program);
  offer(program, meet_thread(thread, program), record, size);
}

}  // namespace

// `record` is the caller's, 8-aligned; `size` is a multiple of 4, at least 8.
extern "C" void static_event_hit(patchbay_event* site_event, void* untyped_record, uint32_t size) {
  auto* program = static_cast<const SiteProgram*>(
      __atomic_load_n(&site_event->program, __ATOMIC_ACQUIRE));  // pairs with its publication
  if (__builtin_expect(!program, 0)) return;
  auto* record = static_cast<uint8_t*>(untyped_record);
  uint32_t tid = pb_thread.fast_tid;  // 0 also while the thread runs agent code
  if (__builtin_expect(!tid, 0)) return hit_slowly(program, record, size);
  const EventProgram* event = program->event[0];
  bool by_thread = event->pids || event->notrace_pids;
  if (__builtin_expect(program->nr_events != 1 || by_thread, 0))
    return offer(program, tid, record, size);
  write_header(record, event->id, tid);
  if (event->filter && !filter_match(event->filter, record, size)) return;
  int status = ring_publish_rseq(&event->rings, record, size);  // fast_tid says: it has rseq
  if (__builtin_expect(status == kRingNoRseq, 0))
    ring_publish_locked(&event->rings, record, size, pb_thread.tid);
}

}  // namespace patchbay
