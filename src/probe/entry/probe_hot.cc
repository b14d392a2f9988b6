// SPDX-License-Identifier: MIT
//
// The probe: what a traced thread runs when its function is hit.
//
//   stub (generated, near the traced code)
//    |-- fast path, for one event with scalar fields (codegen/): no call at all. It goes
//    |                         on here when the thread is new, in the agent or without rseq; when
//    |                         the sub-buffer ends; when a time extend is needed; when recording
//    |                         is off
//    '-- probe_entry…          (probe_entry.S: registers saved)
//          '-- probe_hit
//                |-- offer_events
//                |     |-- in agent code?         count recursion, leave
//                |     |-- first hit of a thread  meet_thread: SLOW, three system calls once per
//                |     |                          thread
//                |     '-- for each event, in each instance that wants it
//                |           |-- count_hit        before anything is decided
//                |           |-- triggers?        offer_triggered: the same way with them between
//                |           |-- pid sets         does the instance want this thread?
//                |           |-- fetch_run        fields into a scratch record on this stack, once
//                |           |                    for all that fetch the same
//                |           |-- event probe?     fetch_run over that record into another one
//                |           |-- filter_match     before the clock is read and anything is seen
//                |           '-- ring_publish     one restartable sequence; the locked ring
//                |                                without rseq; publish_by_successor when the
//                |                                program was replaced meanwhile
//                '-- return_hook  (return_hook_hot.cc) if an event wants the call's return; that
//                                 comes back to offer_events from a trampoline
//
// Budget (docs/invariants.md): 1.5 x floor for two integers at an entry, 1.7 x inside, 3 x for
// an entry and its return; bench/probe.cc and bench/probe_anywhere.cc hold it there. Rules: general
// registers only, no libc, no PLT, no lock, no allocation, no system call (but the three above),
// bounded loops. Nothing here is ever patched, so the only way to re-enter is a signal handler that
// calls a traced function, and that is recorded like any other call.
#include "probe/probe_hot.h"

#include "base/raw_syscall.h"
#include "hot/thread_block.h"
#include "probe/callbacks/callback_hot.h"
#include "probe/hit_counter.h"
#include "probe/open_signals.h"
#include "probe/records/stack_hot.h"
#include "probe/returns/call_data.h"
#include "probe/returns/return_hook.h"
#include "probe/triggers/action_hot.h"
#include "probe/triggers/trigger_hot.h"
#include "ring_buffer/ring_write_hot.h"

namespace patchbay {

extern "C" {
__thread ProbeThread pb_thread
    __attribute__((tls_model("initial-exec"), visibility("hidden"))) = {
        .fast_tid = 0, .tid = 0, .in_agent = 0, .no_rseq = kRseqUnsettled};
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

struct Hit {
  const CallSite* at;
  const FetchRegisters* registers;
  const uint64_t* caller;
  const SiteProgram* program;
  const uint8_t* data;  // of the return of whole calls (probe/returns/call_data.h); else null
  uint32_t tid;
};

// What several events of one place share: the record, if they fetch the same.
struct Built {
  const FetchProgram* fetch = nullptr;
  uint64_t ip = 0;
  uint32_t size = 0;
};

inline uint64_t ip_of(const SiteEvent& site, const Hit& hit) {
  return site.ip ? site.ip : hit.at->function;
}

// The words that every event of its kind starts with, then its fields.
uint32_t build_record(const SiteEvent& site, const Hit& hit, uint8_t* record) {
  auto* words = reinterpret_cast<uint64_t*>(record);
  switch (site.fetch->head) {
    case RecordHead::kFunction:
      words[1] = real_return_address(*hit.caller);
      words[2] = ip_of(site, hit);
      break;
    case RecordHead::kProbe:
      words[1] = ip_of(site, hit);
      break;
    case RecordHead::kReturn:
      words[1] = ip_of(site, hit);
      words[2] = real_return_address(*hit.caller);
      break;
    case RecordHead::kCall:
      words[1] = ip_of(site, hit);
      words[2] = real_return_address(*hit.caller);
      break;
    case RecordHead::kEvent:
      break;
  }
  const uint8_t* taken = nullptr;
  if (__builtin_expect(is_whole_call(site), 0))
    taken = hit.data + call_data_of(hit.program, &site);
  return fetch_run(site.fetch, hit.registers, taken, record);
}

// False: at the entry there was no room for this event, and it is counted as missed.
inline bool has_what_it_took(const SiteEvent& site, const Hit& hit) {
  if (__builtin_expect(!hit.data, 1) || !is_whole_call(site)) return true;
  return call_data_of(hit.program, &site) != kNoCallData;
}

void call_back(const SiteEvent& site, const Hit& hit) {
  const CallbackRegisters registers = {hit.registers, hit.caller, ip_of(site, hit),
                                       real_return_address(*hit.caller)};
  callback_at_entry(site.event->callback, registers);
}

// Consumers that record no event of their own. Those of function_graph and the profiler are not
// called from here (return_hook_hot.cc).
__attribute__((noinline)) void act(const SiteEvent& site, const Hit& hit) {
  if (site.event->kind == ConsumerKind::kCallback) return call_back(site, hit);
  const StackStart start = stack_start(hit.at, hit.registers, hit.caller);
  if (site.event->kind == ConsumerKind::kStackDepth)
    stack_depth_hit(site, start);
  else if (site.event->kind == ConsumerKind::kAction)
    action_run(site.event, hit.at ? hit.at->function : 0, start, hit.tid);
}

inline void build_once(const SiteEvent& site, const Hit& hit, uint8_t* record, Built* built) {
  if (built->fetch != site.fetch || built->ip != site.ip)
    *built = {site.fetch, site.ip, build_record(site, hit, record)};
}

// An event with triggers (probe/triggers/trigger_hot.h). An event probe's come behind its `if`.
__attribute__((noinline)) void offer_triggered(const SiteEvent& site, const Hit& hit,
                                               uint8_t* record, Built* built) {
  const EventProgram* event = site.event;
  const StackStart start = stack_start(hit.at, hit.registers, hit.caller);
  if (!event->from_record && !trigger_early({event, &start, hit.tid})) return;
  if (!event->pid_field[0] && !wants_thread(event, hit.tid)) return;
  build_once(site, hit, record, built);
  offer_record(site, hit.registers, hit.tid, record, built->size, &start);
}

// A function of its own, for the little stack that programs may have.
__attribute__((noinline)) void follow_with_stack(const SiteEvent& site, const Hit& hit) {
  record_stack(site.event, stack_start(hit.at, hit.registers, hit.caller), hit.tid);
}

inline void offer_event(const SiteEvent& site, const Hit& hit, uint8_t* record, Built* built) {
  if (site.counts) count_hit(site.counts->hits);
  if (__builtin_expect(site.event->triggers != nullptr, 0))
    return offer_triggered(site, hit, record, built);
  if (!site.event->pid_field[0] && !wants_thread(site.event, hit.tid)) return;
  const ConsumerKind kind = site.event->kind;
  // An action with a filter is given the record; others need none.
  if (__builtin_expect(kind != ConsumerKind::kRecord, 0))
    if (kind != ConsumerKind::kAction || !site.fetch) return act(site, hit);
  build_once(site, hit, record, built);
  if (!offer_record(site, hit.registers, hit.tid, record, built->size, nullptr)) return;
  if (__builtin_expect(kind != ConsumerKind::kRecord, 0)) return act(site, hit);
  if (__builtin_expect(site.event->stack, 0)) follow_with_stack(site, hit);
}

// Filter and ring; the header is written. Of an action only the filter.
inline bool pass(const EventProgram* event, const uint8_t* record, uint32_t size) {
  if (event->filter && !filter_match(event->filter, record, size)) return false;
  if (__builtin_expect(event->has_soft, 0) && !__atomic_load_n(event->soft, __ATOMIC_ACQUIRE))
    return false;
  if (__builtin_expect(event->kind == ConsumerKind::kAction, 0)) return true;
  return publish_record(event, record, size) == kRingPublished;
}

// The header is written.
__attribute__((noinline)) bool pass_triggered(const TriggerHit& hit, const uint8_t* record,
                                              uint32_t size) {
  const uint64_t matched = trigger_before(hit, record, size);
  if (pass(hit.event, record, size) && hit.event->stack)
    record_stack(hit.event, *hit.stack, hit.tid);
  if (matched) trigger_after(hit, record, size, matched);
  return false;
}

inline bool publish(const EventProgram* event, const uint8_t* record, uint32_t size, uint32_t tid,
                    const StackStart* start) {
  if (__builtin_expect(event->triggers != nullptr, 0))
    return pass_triggered({event, start, tid}, record, size);
  return pass(event, record, size);
}

// An event probe: its record is made of this one. A function of its own, for the scratch.
__attribute__((noinline)) bool offer_derived(const SiteEvent& site, const FetchRegisters* registers,
                                             uint32_t tid, const uint8_t* source, uint32_t size,
                                             const StackStart* start) {
  const EventProgram* event = site.event;
  if (event->source_filter && !filter_match(event->source_filter, source, size)) return false;
  if (event->triggers && !trigger_early({event, start, tid})) return false;
  alignas(8) uint8_t record[event->max_size];
  const uint32_t record_size = fetch_run(event->fetch, registers, source, record);
  if (event->fetch->head == RecordHead::kProbe) reinterpret_cast<uint64_t*>(record)[1] = site.ip;
  write_header(record, event->id, tid);
  return publish(event, record, record_size, tid, start);
}

// The program in force, or the last one of an event that is off. Null: it was too long a way.
const EventProgram* newest_of(const EventProgram* event, uint32_t* steps) {
  event = newest_program(event, steps);
  if (*steps <= kMostSuccessors) return event;
  const RingSet* set = __atomic_load_n(&event->rings, __ATOMIC_RELAXED);
  __atomic_fetch_add(&set->header->missed, 1, __ATOMIC_RELAXED);
  return nullptr;
}

bool wants_now(const EventProgram* event, const uint8_t* record, uint32_t size) {
  const uint32_t tid = reinterpret_cast<const uint32_t*>(record)[1];
  if (!wants_record(event, tid, record)) return false;
  if (event->filter && !filter_match(event->filter, record, size)) return false;
  return !event->has_soft || __atomic_load_n(event->soft, __ATOMIC_ACQUIRE);
}

}  // namespace

__attribute__((noinline, cold)) int publish_by_successor(const EventProgram* event,
                                                         const uint8_t* record, uint32_t size) {
  int status = kRingOff;
  for (uint32_t steps = 0; has_successor(event, status);) {
    event = newest_of(event, &steps);
    if (!event) return kRingDropped;
    if (!wants_now(event, record, size)) return kRingOff;
    status = ring_publish(&event->rings, record, size);
  }
  return status;
}

__attribute__((noinline, cold)) int publish_beside_by_successor(const EventProgram* event,
                                                                const uint8_t* record,
                                                                uint32_t size) {
  int status = kRingOff;
  for (uint32_t steps = 0; has_successor(event, status);) {
    event = newest_of(event, &steps);
    if (!event) return kRingDropped;
    status = ring_publish(&event->rings, record, size);
  }
  return status;
}

__attribute__((noinline, cold)) uint32_t meet_thread(ProbeThread* thread,
                                                     const SiteProgram* program) {
  return meet_thread(thread, __atomic_load_n(&program->event[0].event->rings, __ATOMIC_RELAXED));
}

__attribute__((noinline, cold)) uint32_t meet_thread(ProbeThread* thread, const RingSet* set) {
  const uint32_t tid = thread->tid ? thread->tid : uint32_t(raw_syscall(SYS_gettid));
  // What a vfork child would note here is its parent's.
  if (!thread->tid && pb_libc_tid_offset && !is_libcs_thread()) return tid;
  thread->tid = tid;
  const uint32_t task = played_task();
  if (!thread->known && !task) remember_comm(set->comms, thread);
  const uint32_t id = task ? task : thread->tid;
  const bool is_open = thread->open || !__atomic_load_n(&pb_own_signals.ours, __ATOMIC_RELAXED);
  if (is_open && may_use_rseq()) thread->fast_tid = id;
  return id;
}

void count_agent_hit(const SiteProgram* program) {
  if (pb_thread.in_agent >= kSilent) return count_recursion(program);  // it is the program's hit
  for (uint32_t i = 0; i < program->nr_events; i++) {
    const RingSet* set = __atomic_load_n(&program->event[i].event->rings, __ATOMIC_RELAXED);
    __atomic_fetch_add(&set->header->recursion, 1, __ATOMIC_RELAXED);
  }
}

void count_recursion(const SiteProgram* program) {
  for (uint32_t i = 0; i < program->nr_events; i++) {
    const SiteEvent& site = program->event[i];
    const RingSet* set = __atomic_load_n(&site.event->rings, __ATOMIC_RELAXED);
    __atomic_fetch_add(&set->header->recursion, 1, __ATOMIC_RELAXED);
    if (site.counts) __atomic_fetch_add(&site.counts->missed, 1, __ATOMIC_RELAXED);
  }
}

bool offer_record(const SiteEvent& site, const FetchRegisters* registers, uint32_t tid,
                  uint8_t* record, uint32_t size, const StackStart* start) {
  const EventProgram* event = site.event;
  write_header(record, event->id, tid);
  if (__builtin_expect(event->from_record, 0))
    return offer_derived(site, registers, tid, record, size, start);
  if (__builtin_expect(event->pid_field[0], 0) && !wants_record(event, tid, record)) return false;
  return publish(event, record, size, tid, start);
}

static inline void offer_all(const SiteProgram* program, const Hit& hit, uint64_t wanted) {
  alignas(8) uint8_t record[program->max_record];
  Built built;
  for (uint32_t i = 0; i < program->nr_events; i++)
    if ((wanted >> wanted_bit(i) & 1) && has_what_it_took(program->event[i], hit))
      offer_event(program->event[i], hit, record, &built);
}

// SLOW PATH: as for meet_thread().
static __attribute__((noinline, cold)) void offer_first(const SiteProgram* program, Hit hit,
                                                        uint64_t wanted) {
  ProbeThread* thread = &pb_thread;
  look_at_clock();
  if (thread->in_agent) return count_agent_hit(program);
  const OpenSignals open;
  hit.tid = meet_thread(thread, program);
  offer_all(program, hit, wanted);
}

void offer_events(const SiteProgram* program, const CallSite* at, const FetchRegisters* registers,
                  const uint64_t* caller, uint64_t wanted, const uint8_t* data) {
  const Hit hit = {at,      registers, caller,
                   program, data,      pb_thread.fast_tid};  // 0 also in the agent
  if (__builtin_expect(!hit.tid, 0)) return offer_first(program, hit, wanted);
  offer_all(program, hit, wanted);
}

// SLOW PATH: as for meet_thread(). Hooking looks at stack words of threads that may be gone.
static __attribute__((noinline, cold)) bool hook_first(const CallSite* site,
                                                       const SiteProgram* returns, uint64_t* stack,
                                                       const FetchRegisters* registers) {
  look_at_clock();
  if (pb_thread.in_agent) {
    count_agent_hit(returns);
    return false;
  }
  const OpenSignals open;
  return return_hook(site, returns, stack, registers);
}

namespace {

// Of what is fetched at the entry.
bool reads_vectors(const SiteProgram* program) {
  for (uint32_t i = 0; i < program->nr_events; i++)
    if (program->event[i].fetch && program->event[i].fetch->uses_xmm) return true;
  return false;
}
// Of a return's program: at the entry, for whole calls.
bool takes_vectors(const SiteProgram* program) {
  if (!program->has_calls) return false;
  for (uint32_t i = 0; i < program->nr_events; i++)
    if (is_whole_call(program->event[i]) && program->event[i].fetch->at_entry->uses_xmm)
      return true;
  return false;
}

// A stub saves what the programs read that were there when it was made. A thread may be in it, or
// come to it until the next one is in its place, and find a program that reads vector registers,
// too. They are still as the traced code has them: nothing on the way here uses any.
struct AllRegisters {
  explicit AllRegisters(const FetchRegisters& general) {
    constexpr size_t kWords = sizeof all.reg / sizeof all.reg[0];
    constexpr size_t kArguments = sizeof all.arg / sizeof all.arg[0];
    for (size_t i = 0; i < kWords; i++) all.reg[i] = general.reg[i];
    for (size_t i = 0; i < kArguments; i++) all.arg[i] = general.arg[i];
    __asm__ volatile(
        ".irp n,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n"
        "movups %%xmm\\n, 16*\\n(%[to])\n"
        ".endr"
        : "=m"(all.xmm)
        : [to] "r"(all.xmm));
  }
  FetchRegisters all;
};

__attribute__((noinline)) void offer_with_vectors(const SiteProgram* program, const CallSite* site,
                                                  const FetchRegisters& general, uint64_t* stack,
                                                  uint64_t wanted) {
  const AllRegisters registers(general);
  offer_events(program, site, &registers.all, stack, wanted);
}

inline void offer_at_entry(const SiteProgram* program, const CallSite* site,
                           const FetchRegisters& registers, uint64_t* stack, uint64_t wanted) {
  if (__builtin_expect(reads_vectors(program), 0))
    return offer_with_vectors(program, site, registers, stack, wanted);
  offer_events(program, site, &registers, stack, wanted);
}

inline bool hook_with(const CallSite* site, const SiteProgram* returns, uint64_t* stack,
                      const FetchRegisters& registers) {
  return __builtin_expect(pb_thread.fast_tid != 0, 1)  // 0 also while in agent code
             ? return_hook(site, returns, stack, &registers)
             : hook_first(site, returns, stack, &registers);
}

__attribute__((noinline)) bool hook_with_vectors(const CallSite* site, const SiteProgram* returns,
                                                 uint64_t* stack, const FetchRegisters& general) {
  const AllRegisters registers(general);
  return hook_with(site, returns, stack, registers.all);
}

}  // namespace

extern "C" uint64_t probe_hook(ProbeFrame* frame, CallSite* site, uint64_t* stack) {
  const auto not_hooked = reinterpret_cast<uint64_t>(&pb_return_not_hooked);
  const SiteProgram* returns =
      __atomic_load_n(&site->return_program, __ATOMIC_ACQUIRE);  // pairs with ProbeSites
  if (!returns) return not_hooked;
  frame->registers.reg[4] = reinterpret_cast<uint64_t>(stack);  // for arguments on the stack
  const bool hooked = __builtin_expect(takes_vectors(returns), 0)
                          ? hook_with_vectors(site, returns, stack, frame->registers)
                          : hook_with(site, returns, stack, frame->registers);
  return hooked ? *stack - kReturnCallSize : not_hooked;
}

extern "C" void probe_hit(ProbeFrame* frame, CallSite* site, uint64_t* stack) {
  const SiteProgram* program =
      __atomic_load_n(&site->program, __ATOMIC_ACQUIRE);  // pairs with ProbeSites
  frame->registers.reg[kIpRegister] = site->address;
  frame->registers.reg[4] = reinterpret_cast<uint64_t>(stack);  // which every program may read
  if (program) offer_at_entry(program, site, frame->registers, stack, ~uint64_t{0});
}

extern "C" void probe_rest(ProbeFrame* frame, CallSite* site, uint64_t* stack) {
  frame->registers.reg[kIpRegister] = site->address;
  frame->registers.reg[4] = reinterpret_cast<uint64_t>(stack);
  offer_at_entry(frame->program, site, frame->registers, stack, frame->wanted);
}

}  // namespace patchbay
