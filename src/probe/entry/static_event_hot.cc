// SPDX-License-Identifier: MIT
//
// What a site of a static event calls when it is not the usual case, and what the usual case ends
// with; static_event_entry.S has the drawing.
#include "probe/entry/static_event_hot.h"

#include <patchbay/static_event_abi.h>

#include "probe/callbacks/callback_hot.h"
#include "probe/hit_counter.h"
#include "probe/open_signals.h"
#include "probe/probe_hot.h"
#include "probe/records/stack_hot.h"
#include "probe/triggers/action_hot.h"
#include "probe/triggers/trigger_hot.h"

namespace patchbay {

extern "C" {
// Several instances, event probes, triggers, lists of threads, filters without code; a thread that
// is new, in agent code or without rseq; stacks.
void static_event_offer(const SiteProgram* program, uint8_t* record, uint32_t size,
                        const uint64_t* word, uint64_t fp) {
  ProbeThread* thread = &pb_thread;
  if (!thread->fast_tid) look_at_clock();
  if (thread->in_agent) return count_agent_hit(program);
  const OpenSignals open;
  const uint32_t tid = thread->fast_tid ? thread->fast_tid : meet_thread(thread, program);
  // The caller is the event's pb_i_put_NAME, which PB_TRACE calls.
  const StackStart start = {*word, reinterpret_cast<uint64_t>(word + 1), fp, false, 0, true};
  for (uint32_t i = 0; i < program->nr_events; i++) {
    const SiteEvent& site = program->event[i];
    if (site.counts) count_hit(site.counts->hits);
    if (__builtin_expect(site.event->triggers && !site.event->from_record, 0))
      if (!trigger_early({site.event, &start, tid})) continue;
    if (!site.event->pid_field[0] && !wants_thread(site.event, tid)) continue;
    if (!offer_record(site, nullptr, tid, record, size, &start)) continue;
    if (site.event->kind == ConsumerKind::kAction)
      action_run(site.event, 0, start, tid);
    else if (site.event->stack)
      record_stack(site.event, start, tid);
  }
}

void static_event_first_callback(HitCallback* callback, uint8_t* record, uint32_t size,
                                 uint32_t tid) {
  callback_from_call(callback, {record, size, tid});
}

void static_event_call(const SiteProgram* program, uint8_t* record, uint32_t size,
                       const uint64_t* word, uint64_t fp) {
  const EventProgram* event = program->event[0].event;
  if (__builtin_expect(__atomic_load_n(event->soft, __ATOMIC_ACQUIRE), 0))
    return static_event_offer(program, record, size, word, fp);
  const Trigger& one = event->triggers->trigger[0];
  if (one.filter && !filter_match(one.filter, record, size)) return;
  static_event_callback(one.callback, record, size, pb_thread.fast_tid);
}

static __attribute__((noinline, cold)) void publish_otherwise(const EventProgram* event,
                                                              const uint8_t* record, uint32_t size,
                                                              int status) {
  if (status == kRingNoRseq)
    status = ring_publish_locked(&event->rings, record, size, pb_thread.tid);
  if (has_successor(event, status)) publish_by_successor(event, record, size);
}

void static_event_publish(const EventProgram* event, uint8_t* record, uint32_t size) {
  const int status = ring_publish_rseq(&event->rings, record, size);
  if (__builtin_expect(status != kRingPublished, 0)) publish_otherwise(event, record, size, status);
}
}

}  // namespace patchbay
