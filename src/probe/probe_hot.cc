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
//                |-- first hit of a thread  meet_thread: SLOW, two system calls once per thread
//                '-- for each event: record_event
//                      |-- fetch_run        fields into a scratch record on this stack
//                      '-- ring_publish     one restartable sequence; the locked ring without rseq
//
// Budget (design.md 5): 1.5 x floor for two integers, bench/probe_bench.cc holds it there.
// Rules: general registers only, no libc, no PLT, no lock, no allocation, no system call (but the
// two above), bounded loops. Nothing here is ever patched, so the only way to re-enter is a signal
// handler that calls a traced function, and that is recorded like any other call.
#include "base/raw_syscall.h"
#include "probe/probe_abi.h"
#include "ring_buffer/ring_write_hot.h"

namespace patchbay {

extern "C" {
__thread ProbeThread pb_thread
    __attribute__((tls_model("initial-exec"), visibility("hidden"))) = {};
}

namespace {

constexpr int kPrGetName = 16;  // prctl(PR_GET_NAME)

void count(uint64_t* counter) { __atomic_fetch_add(counter, 1, __ATOMIC_RELAXED); }

// Enters the thread's comm into the instance's table (SLOW PATH, once per thread and instance).
__attribute__((noinline, cold)) void remember_comm(const RingSet* set, ProbeThread* thread) {
  thread->known_to |= uint64_t{1} << set->index;
  uint32_t slot = __atomic_fetch_add(&set->comms->used, 1, __ATOMIC_RELAXED);
  if (slot >= abi::kCommEntries) return;
  abi::CommEntry* entry = &set->comms->entry[slot];
  raw_syscall(SYS_prctl, kPrGetName, long(entry->comm));
  entry->tgid = uint32_t(raw_syscall(SYS_getpid));
  __atomic_store_n(&entry->tid, thread->tid, __ATOMIC_RELEASE);  // pairs with BufferFile::comms
}

__attribute__((noinline, cold)) void meet_thread(ProbeThread* thread) {
  thread->tid = uint32_t(raw_syscall(SYS_gettid));
}

// The three words that every function event starts with, then its fields.
uint32_t build_record(const EventProgram* event, const ProbeFrame* frame, const CallSite* site,
                      uint32_t tid, uint8_t* record) {
  auto* header = reinterpret_cast<abi::RecordHeader*>(record);
  header->common_type = event->id;
  header->common_flags = 0;
  header->common_preempt_count = 0;
  header->common_pid = int32_t(tid);
  auto* words = reinterpret_cast<uint64_t*>(record);
  words[1] = frame->return_address;
  words[2] = site->ip;
  return fetch_run(event->fetch, &frame->registers, record);
}

void record_event(const EventProgram* event, const ProbeFrame* frame, const CallSite* site,
                  ProbeThread* thread) {
  if (__builtin_expect(!(thread->known_to >> event->rings->index & 1), 0))
    remember_comm(event->rings, thread);
  alignas(8) uint8_t record[event->max_size];
  uint32_t size = build_record(event, frame, site, thread->tid, record);
  ring_publish(event->rings, record, size);
}

}  // namespace

extern "C" void probe_hit(ProbeFrame* frame, CallSite* site) {
  const SiteProgram* program =
      __atomic_load_n(&site->program, __ATOMIC_ACQUIRE);  // pairs with publish_program
  if (__builtin_expect(!program, 0)) return;
  ProbeThread* thread = &pb_thread;
  if (__builtin_expect(thread->in_agent, 0))
    return count(&program->event[0]->rings->header->recursion);
  if (__builtin_expect(!thread->tid, 0)) meet_thread(thread);
  for (uint32_t i = 0; i < program->nr_events; i++)
    record_event(program->event[i], frame, site, thread);
  if (!thread->no_rseq && pb_rseq_offset) thread->fast_tid = thread->tid;
}

}  // namespace patchbay
