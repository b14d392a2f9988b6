// SPDX-License-Identifier: MIT
//
// function_graph and the function profiler on the probe path. Both are consumers of a function's
// return (SiteProgram.has_graph) and come to the call twice:
//
//   entry:  return_hook ── takes a slot ── graph_enter: parent, depth, inside set_graph_function?
//             │                              records funcgraph_entry; or wanted = 0: the slot goes
//             │                              back, the return is left alone
//             ├── slot.graph = call; the return address becomes a trampoline
//             '── graph_armed: the thread is in this call now
//   return: return_hit ─── graph_leave(slot's copy): the thread is in the parent again; records
//                            funcgraph_exit, adds to the profile
//
// Where a call stands in its thread is found without a stack of ours (return_hook.h): the thread
// remembers the slot of the call that it is in, each slot that of its parent, by its token. A
// parent is believed only while its slot still hooks the word that it did, and that word is not
// below the new call's. So a call that longjmp or an exception has left does not count as a level
// any more, and a fiber that goes on is at its own depth again.
//
// What is lost: a call that finds no slot (GraphThread.lost, funcgraph_exit's overrun). An exit has
// its entry in the same ring file, unless the ring has lost that since: an entry that could not be
// published (recording is off, the ring is full) takes the call out of that instance's graph, as in
// the kernel; its exit is counted as lost with it.
//
// Settings are words that the control side stores while threads run; each is read once per call.
#pragma once

#include <cstdint>

#include "probe/probe_abi.h"
#include "probe/returns/return_hook.h"

namespace patchbay {

// CallSite.graph
enum : uint32_t {
  kGraphNotrace = 1,    // in set_graph_notrace
  kGraphRoot = 0x10000  // in set_graph_function; kGraphInside, as GraphCall has it behind `depth`
};
// GraphCall.flags
enum : uint8_t {
  kGraphInside = 1,     // below a function of set_graph_function, or one of them
  kGraphNotraced = 2,   // below a function of set_graph_notrace, or one of them
  kGraphFollowed = 4,   // some graph or the profiler wants its return
  kGraphCounts = 8,     // some graph does: what it calls is one level deeper
  kGraphEntered = 16,   // its entry was recorded; else it is one that tracing_thresh is asked about
  kGraphProfiled = 32,  // the profiler wants it
  kGraphCpuTime = 64,   // cpu_time is there
  // By probe_entry_hook, of a program with nothing else. Its return goes the quick way, too, which
  // is what this flag with kGraphEntered or kGraphProfiled says, and nothing but kGraphInside.
  kGraphQuick = 128,
};
// EventProgram.graph_flags
enum : uint8_t {
  kGraphRetval = 1,   // the option; funcgraph_exit always carries the return value
  kGraphArgs = 2,     // funcgraph_entry carries the six integer arguments
  kGraphRetaddr = 4,  // the entry carries the caller's address (funcgraph_retaddr_entry)
  // From this bit on: a number of its own for each time that the tracer was started, so that a
  // program is not taken again soon, and calls that began under an earlier one leave nothing.
  kGraphSessionShift = 3,
};

inline constexpr uint64_t kGraphFarBytes = 8192;  // no two stacks are closer than that

struct GraphSettings {
  uint64_t thresh_ticks;  // tracing_thresh: calls that took less leave no record, the others only
                          // the exit
  uint64_t ticks_per_ns;  // of the raw clock, times 2^32; for without_sleep
  // From here on eight bytes that the quick entry looks at as one word: it is for when all are 0.
  uint8_t has_roots;         // set_graph_function is not empty
  uint8_t has_notrace;       // set_graph_notrace is not empty
  uint8_t without_sleep;     // option sleep-time off: time is the thread's CPU time (a system call)
  uint8_t without_children;  // option graph-time off: the profiler's times are of functions alone
  uint8_t monotonic;         // the raw clock is CLOCK_MONOTONIC, not the TSC (a system call)
  uint8_t has_thresh;        // thresh_ticks is not 0
  uint8_t nothing[2];
  uint32_t max_depth;  // max_graph_depth; 0: unlimited
};
extern "C" GraphSettings pb_graph_settings __attribute__((visibility("hidden")));

// The profiler's counts of one function on one CPU. Written in a restartable sequence of that CPU
// (profile_add.S), whose last instruction is `hits += 1`; so hits says which sums are valid, those
// of [hits & 1]. In the last table, which is for all others, each word is added to with a lock,
// sum[0] alone.
struct alignas(64) ProfileCount {
  uint64_t hits;
  struct {
    uint64_t ticks;
    uint64_t square_lo, square_hi;  // of the squares of ticks
  } sum[2];
};
static_assert(sizeof(ProfileCount) == 64);
// Tables of nr_cpus + 1 CPUs behind each other, `functions` counts each.
struct ProfileTable {
  ProfileCount* counts;
  uint64_t functions;
  uint32_t nr_cpus;
  uint32_t session;  // a call that began under another one is not counted
};
extern "C" {
extern const ProfileTable* pb_profile_table __attribute__((visibility("hidden")));  // atomic
void profile_add(const ProfileTable* table, uint64_t function, uint64_t ticks)
    __attribute__((visibility("hidden")));
}

// The call of `site` whose return address stands at `word`. Fills *call, records entries. Returns
// those of `wanted` that want the return.
uint32_t graph_enter(const CallSite* site, const SiteProgram* program, const uint64_t* word,
                     const FetchRegisters* registers, uint32_t wanted, GraphCall* call);
// After the slot with the call was armed: the thread is in it now.
void graph_armed(uint32_t slot);
// The call has returned, its slot is free by now; `registers->reg[0]` is the return value. Returns
// those of `wanted` that are no graphs and no profiler.
uint32_t graph_leave(const CallSite* site, const SiteProgram* program,
                     const FetchRegisters* registers, uint32_t wanted, uint32_t slot,
                     const GraphCall& call);
// There was no slot for a call.
void graph_missed(const SiteProgram* program, uint32_t wanted);

}  // namespace patchbay
