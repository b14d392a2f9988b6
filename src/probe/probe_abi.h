// SPDX-License-Identifier: MIT
//
// What the control side publishes and a traced thread reads.
//
//   call site (patched) --jmp--> stub --+-- fast path: code for one event (codegen/)
//                                       '-- call probe_entry --> probe_hit() (probe_hot.cc)
//                                stub: relocated instructions, jmp back
//
// All objects here are immutable once published, or single words stored atomically.
#pragma once

#include <cstddef>
#include <cstdint>

#include "abi/buffer_abi.h"
#include "event/consumer_kind.h"
#include "fetch/fetch_abi.h"
#include "filter/filter_abi.h"
#include "ring_buffer/ring_set.h"

struct patchbay_event;  // patchbay/static_event_abi.h

namespace patchbay {

// The threads whose events an instance wants (set_event_pid) or does not want
// (set_event_notrace_pid). Immutable; an open-addressing table of thread ids, 0 = free slot.
struct PidSet {
  uint32_t mask;  // slots - 1, slots is a power of two with at least one free
  uint32_t reserved;
  uint32_t slot[];
};
inline uint32_t pid_slot(const PidSet* set, uint32_t tid) {
  return (tid * 2654435761u >> 8) & set->mask;
}
inline bool pid_set_has(const PidSet* set, uint32_t tid) {
  uint32_t at = pid_slot(set, tid);
  for (; set->slot[at]; at = (at + 1) & set->mask)
    if (set->slot[at] == tid) return true;
  return false;
}
// While the set is being made. The caller made it large enough; tid is not 0.
inline void pid_set_add(PidSet* set, uint32_t tid) {
  uint32_t at = pid_slot(set, tid);
  for (; set->slot[at] && set->slot[at] != tid;) at = (at + 1) & set->mask;
  set->slot[at] = tid;
}

struct HitAction;       // probe/triggers/action_hot.h
struct HitCallback;     // probe/callbacks/callback_hot.h
struct TriggerProgram;  // probe/triggers/trigger_hot.h

// EventProgram.stack: what follows each record that was published (probe/records/stack_hot.h).
enum : uint8_t { kKernelStack = 1, kUserStack = 2, kFunctionStack = 4 };

// One event as one instance records it. Immutable once published, but for `rings` and `successor`.
struct EventProgram {
  // Where records go. Read inside the restartable sequence. Set to dead_rings() when the event is
  // switched off: after membarrier(RSEQ) no record of it can come any more, wherever a thread is.
  const RingSet* rings;         // atomic
  const FetchProgram* fetch;    // null: the record comes built (static events)
  const FilterProgram* filter;  // null: every record
  const PidSet* pids;           // null: every thread
  const PidSet* notrace_pids;   // null: none is excluded
  uint16_t id;                  // common_type
  // Offsets of s32 fields that count as the thread too (sched_switch); 0: none. The event is wanted
  // if any of them all is in `pids`, and excluded if all of them are in `notrace_pids`.
  uint16_t pid_field[2];
  // An event probe (e:, t:): fetch runs over the record of the event that it is attached to, which
  // SiteEvent.fetch builds, or which comes built.
  uint8_t from_record;
  ConsumerKind kind;
  uint32_t max_size;  // of the record, with the common header: upper bound for scratch
  uint8_t has_soft;   // 1: `soft` is there
  // Of an event probe with `if`: over the record that fetch reads, before it runs. Null: none.
  const FilterProgram* source_filter;
  HitAction* action;  // of kAction
  // Of an event in soft mode (enable shows `*`): whether it records. An action switches it by one
  // store; it acts on hits that begin later. Shared by all programs of the event in the instance,
  // and by forked children.
  const uint32_t* soft;    // *soft: atomic
  uint8_t stack;           // kKernelStack | kUserStack | kFunctionStack; 0: none
  uint8_t merges_repeats;  // of the function tracer: option func-no-repeats
  uint8_t graph_flags;     // of kGraph: kGraphRetval … (probe/returns/graph_hot.h)
  // What a hit does beside recording; null: nothing. An event with triggers has no fast path.
  const TriggerProgram* triggers;
  HitCallback* callback;  // of kCallback
  // The program that took this one's place, and makes the same records: what a thread that is late
  // with this one still has to record goes there (publish_record()). Null: this one is in force, or
  // the event is off.
  const EventProgram* successor;  // atomic
};

// What one probe (one place of one definition) has counted. Hits are exact without a locked
// instruction: a word for each CPU, added to in a restartable sequence (probe/hit_counter.h).
struct ProbeCounts {
  uint64_t* hits;       // the word of CPU 0
  uint64_t missed;      // atomic: returns that could not be hooked, hits that were too deep
  uint32_t active;      // atomic: entered and not returned yet; counted only under a limit
  uint32_t max_active;  // of a return probe; 0: only kReturnSlots limits it
};

// One event of one instance at one place.
struct SiteEvent {
  const EventProgram* event;
  const FetchProgram* fetch;  // of this place; for from_record: of the event that it is attached
                              // to. Null: the record comes built
  uint64_t ip;                // what __ip, __probe_ip or __probe_func records; 0: the function of
                              // the CallSite, so that sites with the same set share one program
  ProbeCounts* counts;        // null: not counted, or counted by another entry of the same probe
  bool operator==(const SiteEvent&) const = default;
};

// An event that is a whole call: recorded at the return, with what was fetched at the entry
// (probe/returns/call_data.h).
inline bool is_whole_call(const SiteEvent& event) { return event.fetch && event.fetch->at_entry; }

// Everything that the consumers of a place want, replaced as a whole. A distinct set of consumers
// has one SiteProgram, which all sites with that set share (when nothing in it is of one place
// only). Never freed, a thread may be on its way with it; but taken again when its set comes again.
struct SiteProgram {
  uint32_t nr_events;
  uint16_t plain;       // one event of all threads, neither counted nor from_record, no stack:
                        // kPlain, kGated (trigger_hot.h)
  uint8_t has_graph;    // of a return program: some event is kGraph or kProfile
  uint8_t has_calls;    // likewise: some event takes values at the entry (FetchProgram.at_entry)
  uint32_t max_record;  // bytes: upper bound of every record that is built for these
  // Chosen by choose_code() (probe_compile.h), atomic; 0: the general way, probe_hit() or
  // return_hook(), and return_hit().
  uint16_t code;         // kEntryCalls, kEntryCallback; of a return program: kHookPlain …
  uint16_t return_code;  // of a return program: what stands in pb_return_code, in units of
                         // kReturnCodeUnit
  uint16_t take_code;    // of kHookCalls: what stands in pb_take_code, in the same units
  SiteEvent event[];     // nr_events of them; those that build the same record stand together
};

// SiteProgram.code: what function_entry.S does.
enum : uint16_t {
  kEntryCalls = 1,     // every event is a function tracer's and records all
  kEntryCallback = 2,  // one callback of the program
  kHookPlain = 1,      // nothing is limited, no graph
  kHookCalls = 2,      // likewise, and what whole calls take is compiled (take_code)
  kHookGraph = 3,      // one function_graph, of all threads
  kHookProfile = 4,    // the profiler alone
};

// One patched function entry, or place inside a function. Its address is stable for the life of the
// process.
struct CallSite {
  const SiteProgram* program;         // atomic; null: nothing to do
  const SiteProgram* return_program;  // atomic; of a function's entry: what its return runs
                                      // (probe/returns/return_hook.h); null: returns are left alone
  uint64_t address;                   // of the instruction
  uint64_t function;  // the entry of the function; what SiteEvent.ip == 0 stands for. Equal to
                      // address, or before it (endbr64)
  uint32_t graph;     // atomic; kGraphRoot, kGraphNotrace (probe/returns/graph_hot.h)
  uint32_t profile;   // 1 + index of the function in the profiler's tables; 0: none
};

// Registers at the probe, as probe_entry.S stores them.
struct ProbeFrame {
  FetchRegisters registers;  // which ones: see the entries below. arg[] always; reg[kIpRegister] is
                             // probe_hit's
  uint64_t r10, r11;
  // From here on of entries of functions only (probe_entry.S says how probe_entry_all has it).
  const CallSite* site;  // these three of probe_entry_shared only
  uint64_t wanted;
  const SiteProgram* program;
  uint64_t rax;  // put there by the stub
  uint64_t stub_return;
  uint64_t return_address;
};

extern "C" {
// Entered by `call` from a stub that has put rax 16 bytes below rsp and the CallSite* into it.
// Saves all general registers, calls probe_hit, restores, returns; the stub takes its rax back.
void probe_entry();
void probe_entry_xmm();    // the same, also stores xmm0..xmm7
void probe_entry_flags();  // the same as probe_entry, and preserves the flags
void probe_entry_xmm_flags();
// The same as probe_entry, and hooks the return if site->return_program is there: what is to be
// done is all in the programs. Entered by a jump where returns are hooked, as probe_entry_hook.
void probe_entry_shared();
// Anywhere inside a function, and at entries where all registers are asked for: all of
// registers.reg, flags kept. The stub has stepped over the red zone first: rsp 128 lower than the
// program has it, then the push.
void probe_entry_all();
void probe_entry_all_xmm();  // the same, also stores xmm0..xmm15
// At a function's entry, when its events are dealt with: hooks the return. Entered by a jump, with
// the stack as `call` would leave it; goes on in the stub with the stack as it was before.
void probe_entry_hook();
void probe_entry_hook_flags();
// The same, and what is taken for the return may read xmm0..xmm7.
void probe_entry_hook_xmm();
void probe_entry_hook_xmm_flags();
// Records. `stack`: the program's stack pointer at the place; at a function's entry the return
// address stands there.
void probe_hit(ProbeFrame* frame, CallSite* site, uint64_t* stack);
void probe_rest(ProbeFrame* frame, CallSite* site, uint64_t* stack);  // frame->program and wanted
// Hooks the return if site->return_program is there. Where to go on, with rsp above the word: the
// call in front of the trampoline, or pb_return_not_hooked.
uint64_t probe_hook(ProbeFrame* frame, CallSite* site, uint64_t* stack);

// patchbay_event.hit of a static event that is switched on; patchbay_event.program is a
// SiteProgram. `record` is 8-aligned, its header is filled in here; `size` is a multiple of 4.
void static_event_hit(patchbay_event* event, void* record, uint32_t size);
}

}  // namespace patchbay
