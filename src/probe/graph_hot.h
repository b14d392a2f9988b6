// SPDX-License-Identifier: MIT
//
// function_graph and the function profiler on the probe path. Both are consumers of a function's
// return (SiteProgram.has_graph) and come to the call twice:
//
//   entry:  return_hook ── graph_enter: parent, depth, inside set_graph_function? ── records
//             │                funcgraph_entry, or nothing ── wanted = 0: the return is left alone
//             '── slot.graph = call; the return address becomes a trampoline
//   return: return_hit ─── graph_leave(slot's copy): records funcgraph_exit, adds to the profile
//
// Where a call stands in its thread is found without a stack of ours (return_hook.h): the thread
// remembers the slot of the call that it is in, each slot the slot of its parent, and a parent is
// believed only while its slot still hooks the word that it did. So a call that longjmp or an
// exception has left does not count as a level any more, and a fiber goes on at its own depth.
//
// Settings are words that the control side stores while threads run; each is read once per call.
#pragma once

#include <cstdint>

#include "probe/probe_abi.h"
#include "probe/return_hook.h"

namespace patchbay {

// CallSite.graph
enum : uint32_t {
  kGraphRoot = 1,     // in set_graph_function
  kGraphNotrace = 2,  // in set_graph_notrace
};
// GraphCall.flags
enum : uint8_t {
  kGraphInside = 1,    // below a function of set_graph_function, or one of them
  kGraphNotraced = 2,  // below a function of set_graph_notrace, or one of them
};
// EventProgram.graph_flags
enum : uint8_t {
  kGraphRetval = 1,   // funcgraph_exit carries the return value
  kGraphArgs = 2,     // funcgraph_entry carries the six integer arguments
  kGraphRetaddr = 4,  // the entry carries the caller's address (funcgraph_retaddr_entry)
};

struct GraphSettings {
  uint64_t thresh_ticks;  // tracing_thresh: calls that took less leave no record, the others only
                          // the exit
  uint32_t max_depth;     // max_graph_depth; 0: unlimited
  uint8_t has_roots;      // set_graph_function is not empty
  uint8_t has_notrace;    // set_graph_notrace is not empty
  uint8_t without_sleep;  // option sleep-time off: time is the thread's CPU time (a system call)
  uint8_t without_children;  // option graph-time off: the profiler's times are of functions alone
};
extern "C" GraphSettings pb_graph_settings __attribute__((visibility("hidden")));

// The profiler's counts of one function on one CPU. Written in restartable sequences of that CPU;
// the last table is for all others and is added to with a lock.
struct ProfileCount {
  uint64_t hits;
  uint64_t ticks;
  uint64_t square_hi, square_lo;  // sum of the squares of ticks, 128 bits
};
// Tables of nr_cpus + 1 CPUs behind each other, `functions` counts each.
struct ProfileTable {
  ProfileCount* counts;
  uint64_t functions;
  uint32_t nr_cpus;
};
extern "C" const ProfileTable* pb_profile_table __attribute__((visibility("hidden")));  // atomic

// The call of `site` whose return address stands at `word`. Fills *call, records entries. Returns
// those of `wanted` that want the return.
uint64_t graph_enter(const CallSite* site, const SiteProgram* program, const uint64_t* word,
                     const FetchRegisters* registers, uint64_t wanted, GraphCall* call);
// After the slot with the call was armed: the thread is in it now.
void graph_armed(uint32_t slot);
// The call has returned; `slot` is its slot, free by now; `registers->reg[0]` the return value.
void graph_leave(const CallSite* site, const SiteProgram* program, const FetchRegisters* registers,
                 uint64_t wanted, uint32_t slot, const GraphCall& call);

}  // namespace patchbay
