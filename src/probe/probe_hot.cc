// SPDX-License-Identifier: MIT
//
// The probe: what a traced thread runs when its function is hit.
//
//   stub (generated, near the traced code)
//    |-- fast path, for one event with scalar fields (probe_compile.cc): no call at all; leaves
//    here when |     the thread is new, in the agent or without rseq; when the sub-buffer ends;
//    when a time extend |     is needed; when recording is off
//    '-- probe_entry (probe_entry.S: registers saved)
//          '-- probe_hit
//                |-- in agent code?         count recursion, leave
//                |-- first hit of a thread  meet_thread: SLOW, three system calls once per thread
//                '-- for each event, in each instance that wants it
//                      |-- pid sets         does the instance want this thread?
//                      |-- fetch_run        fields into a scratch record on this stack, once for
//                      |                    all programs that fetch the same
//                      |-- filter_match     before the clock is read and before anything is seen
//                      '-- ring_publish     one restartable sequence; the locked ring without rseq
//
// Budget (design.md 5): 1.5 x floor for two integers, bench/probe.cc holds it there.
// Rules: general registers only, no libc, no PLT, no lock, no allocation, no system call (but the
// three above), bounded loops. Nothing here is ever patched, so the only way to re-enter is a
// signal handler that calls a traced function, and that is recorded like any other call.
#include "probe/probe_hot.h"

#include "base/raw_syscall.h"
#include "ring_buffer/ring_write_hot.h"

namespace patchbay {

extern "C" {
__thread ProbeThread pb_thread
    __attribute__((tls_model("initial-exec"), visibility("hidden"))) = {};
}

namespace {

constexpr int kPrGetName = 16;  // prctl(PR_GET_NAME)

// Enters the thread's comm into the table that all instances share. A thread that came while
// nobody wanted comms tries again at its next way through here.
void remember_comm(abi::CommTable* comms, ProbeThread* thread) {
  if (!comms || __atomic_load_n(&comms->off, __ATOMIC_RELAXED)) return;
  thread->known = 1;
  uint32_t slot = __atomic_fetch_add(&comms->used, 1, __ATOMIC_RELAXED);
  if (slot >= abi::kCommEntries) return;
  abi::CommEntry* entry = &comms->entry[slot];
  raw_syscall(SYS_prctl, kPrGetName, long(entry->comm));
  entry->tgid = uint32_t(raw_syscall(SYS_getpid));
  __atomic_store_n(&entry->tid, thread->tid, __ATOMIC_RELEASE);  // pairs with BufferFile::comms
}

// What several programs of one site share: the record, if they fetch the same.
struct Built {
  const FetchProgram* fetch = nullptr;
  uint32_t size = 0;
};

// The words that every event of its kind starts with, then its fields.
uint32_t build_record(const FetchProgram* fetch, const ProbeFrame* frame, const CallSite* site,
                      uint8_t* record) {
  auto* words = reinterpret_cast<uint64_t*>(record);
  if (fetch->head == kProbeHead) {
    words[1] = site->ip;
  } else {
    words[1] = frame->return_address;
    words[2] = site->ip;
  }
  return fetch_run(fetch, &frame->registers, record);
}

void record_event(const EventProgram* event, const ProbeFrame* frame, const CallSite* site,
                  uint32_t tid, uint8_t* record, Built* built) {
  bool by_field = event->pid_field[0];
  if (!by_field && !wants_thread(event, tid)) return;
  const FetchProgram* fetch = site->fetch ? site->fetch : event->fetch;
  if (built->fetch != fetch) *built = {fetch, build_record(fetch, frame, site, record)};
  write_header(record, event->id, tid);
  if (__builtin_expect(by_field, 0) && !wants_record(event, tid, record)) return;
  if (event->filter && !filter_match(event->filter, record, built->size)) return;
  ring_publish(&event->rings, record, built->size);
}

uint32_t largest_record(const SiteProgram* program) {
  uint32_t size = program->event[0]->max_size;
  for (uint32_t i = 1; i < program->nr_events; i++)
    if (program->event[i]->max_size > size) size = program->event[i]->max_size;
  return size;
}

}  // namespace

__attribute__((noinline, cold)) uint32_t meet_thread(ProbeThread* thread,
                                                     const SiteProgram* program) {
  if (!thread->tid) thread->tid = uint32_t(raw_syscall(SYS_gettid));
  const RingSet* set = __atomic_load_n(&program->event[0]->rings, __ATOMIC_RELAXED);
  if (!thread->known && !thread->task_id) remember_comm(set->comms, thread);
  uint32_t id = thread->task_id ? thread->task_id : thread->tid;
  if (!thread->no_rseq && pb_rseq_offset) thread->fast_tid = id;
  return id;
}

void count_recursion(const SiteProgram* program) {
  for (uint32_t i = 0; i < program->nr_events; i++) {
    const RingSet* set = __atomic_load_n(&program->event[i]->rings, __ATOMIC_RELAXED);
    __atomic_fetch_add(&set->header->recursion, 1, __ATOMIC_RELAXED);
  }
}

extern "C" void probe_hit(ProbeFrame* frame, CallSite* site) {
  const SiteProgram* program =
      __atomic_load_n(&site->program, __ATOMIC_ACQUIRE);  // pairs with publish_program
  if (__builtin_expect(!program, 0)) return;
  ProbeThread* thread = &pb_thread;
  if (__builtin_expect(thread->in_agent, 0)) return count_recursion(program);
  uint32_t tid = thread->fast_tid;
  if (__builtin_expect(!tid, 0)) tid = meet_thread(thread, program);
  alignas(8) uint8_t record[largest_record(program)];
  Built built;
  for (uint32_t i = 0; i < program->nr_events; i++)
    record_event(program->event[i], frame, site, tid, record, &built);
}

}  // namespace patchbay
