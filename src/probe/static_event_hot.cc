// SPDX-License-Identifier: MIT
//
// What a site of a static event calls when it is not the usual case, and what the usual case ends
// with; static_event_entry.S has the drawing.
#include <patchbay/static_event_abi.h>

#include "probe/action_hot.h"
#include "probe/callback_hot.h"
#include "probe/hit_counter.h"
#include "probe/probe_hot.h"
#include "probe/stack_hot.h"
#include "probe/trigger_hot.h"

namespace patchbay {

namespace {

// The offsets that static_event_entry.S knows.
static_assert(offsetof(patchbay_event, program) == 72 && offsetof(ProbeThread, fast_tid) == 0);
static_assert(offsetof(SiteProgram, plain) == 4 && offsetof(SiteProgram, event) == 16);
static_assert(offsetof(EventProgram, filter) == 16 && offsetof(EventProgram, id) == 40);
static_assert(offsetof(SiteEvent, event) == 0 && offsetof(FilterProgram, code) == 0);
static_assert(offsetof(EventProgram, soft) == 72 && offsetof(EventProgram, triggers) == 88);
static_assert(offsetof(TriggerProgram, gate) == 8 && kPlain == 1 && kGated == 2 && kCalls == 3);

}  // namespace

extern "C" {
// Several instances, event probes, triggers, lists of threads, filters without code; a thread that
// is new, in agent code or without rseq; stacks. `word`: where the return address into the program
// stands.
__attribute__((visibility("hidden"))) void static_event_offer(const SiteProgram* program,
                                                              uint8_t* record, uint32_t size,
                                                              const uint64_t* word, uint64_t fp) {
  ProbeThread* thread = &pb_thread;
  if (thread->in_agent) return count_recursion(program);
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

static __attribute__((noinline)) void call_filtered(const Trigger& one, uint8_t* record,
                                                    uint32_t size) {
  if (filter_match(one.filter, record, size))
    callback_from_call(one.callback, {record, size, pb_thread.fast_tid});
}

// kCalls; the header is written.
__attribute__((visibility("hidden"))) void static_event_call(const SiteProgram* program,
                                                             uint8_t* record, uint32_t size,
                                                             const uint64_t* word, uint64_t fp) {
  const EventProgram* event = program->event[0].event;
  if (__builtin_expect(__atomic_load_n(event->soft, __ATOMIC_ACQUIRE), 0))
    return static_event_offer(program, record, size, word, fp);
  const Trigger& one = event->triggers->trigger[0];
  if (one.filter) return call_filtered(one, record, size);
  callback_from_call(one.callback, {record, size, pb_thread.fast_tid});
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
