// SPDX-License-Identifier: MIT
//
// What a site of a static event calls when it is not the usual case, and what the usual case ends
// with; static_event_entry.S has the drawing.
#include <patchbay/static_event_abi.h>

#include "probe/probe_hot.h"

namespace patchbay {

namespace {

// The offsets that static_event_entry.S knows.
static_assert(offsetof(patchbay_event, program) == 72 && offsetof(ProbeThread, fast_tid) == 0);
static_assert(offsetof(SiteProgram, plain) == 4 && offsetof(SiteProgram, event) == 8);
static_assert(offsetof(EventProgram, filter) == 16 && offsetof(EventProgram, id) == 40);
static_assert(offsetof(FilterProgram, code) == 0);

}  // namespace

extern "C" {
// Several instances, lists of threads, filters without code; a thread that is new, in agent code or
// without rseq.
__attribute__((visibility("hidden"))) void static_event_offer(const SiteProgram* program,
                                                              uint8_t* record, uint32_t size) {
  ProbeThread* thread = &pb_thread;
  if (thread->in_agent) return count_recursion(program);
  const uint32_t tid = thread->fast_tid ? thread->fast_tid : meet_thread(thread, program);
  for (uint32_t i = 0; i < program->nr_events; i++) {
    const EventProgram* event = program->event[i];
    bool by_field = event->pid_field[0];
    if (by_field ? !wants_record(event, tid, record) : !wants_thread(event, tid)) continue;
    write_header(record, event->id, tid);
    if (event->filter && !filter_match(event->filter, record, size)) continue;
    ring_publish(&event->rings, record, size);
  }
}

// The header is written and the filter passed; the thread has rseq.
__attribute__((visibility("hidden"))) void static_event_publish(const EventProgram* event,
                                                                uint8_t* record, uint32_t size) {
  int status = ring_publish_rseq(&event->rings, record, size);
  if (__builtin_expect(status == kRingNoRseq, 0))
    ring_publish_locked(&event->rings, record, size, pb_thread.tid);
}
}

}  // namespace patchbay
