// SPDX-License-Identifier: MIT
//
// Returns of traced functions. At the entry the return address on the stack is exchanged for one of
// kReturnSlots trampolines, each of which knows its slot by its own address:
//
//   caller            f                              trampoline i            slot i
//   call f  ------->  jmp stub: probe_hit
//                       return_hook: *sp = tramp i -------------------> word, caller, program
//                     …
//                     ret  ------------------------> jmp return_entry
//                                                      i = what ret has popped: still below rsp
//                                                      return_hit: slot i is free; events
//   next  <------------------------------------------- jmp caller
//
// There is no stack of ours to keep in step with the program's: whatever thread or fiber comes to
// trampoline i, slot i says where it goes on. A frame that is left without a return (longjmp,
// exception, a thread or fiber that ends) leaves its slot behind; a slot is dead, and is taken
// again, when the stack word that it was for no longer holds its trampoline (or is not mapped).
//
// Unwinders: the trampolines have an FDE of their own, whose rule for the return address reads
// pb_return_address[i]. So exceptions, backtrace(), gdb and thread cancellation see the real
// caller. A tail call hooks the same stack word twice: its slot keeps the trampoline that it
// replaced, and the real caller in pb_return_address.
//
// Nothing here may be used for functions that return twice or look at their own return address
// (setjmp, vfork, dlsym, …): the planner refuses them (patch/patcher.h, Patcher::return_refusal).
//
// Nor is it for calls whose caller walks its own stack by return addresses: return_callers.h.
//
// Known limits: where stacks are copied away and back (greenlet), a slot may look dead while its
// frame is elsewhere; that matters only when all slots are taken. nongnu libunwind stops at a
// hooked frame (return_hook.S says why).
#pragma once

#include <cstddef>
#include <cstdint>

#include "probe/probe_abi.h"

namespace patchbay {

inline constexpr uint32_t kReturnSlots = 32768;
inline constexpr uint32_t kReturnTrampolineSize = 16;
inline constexpr uint32_t kReturnCodeSize = 65536, kTakeCodeSize = 65536;
inline constexpr uint32_t kReturnCodeUnit = 64;  // of both
// The call instruction in front of each trampoline, which is how its address comes into the stack
// word (return_hook.S).
inline constexpr uint32_t kReturnCallSize = 2;
// Slots that a thread keeps, one for each level of calls.
inline constexpr uint32_t kReturnSpares = 16;

// What a call that function_graph or the profiler follows carries with it. There is no stack of
// these: each call knows its parent, by slot and by how often that slot had been armed then, so
// that calls that were left by longjmp or an exception, and fibers, cannot put the depth out of
// step.
struct GraphCall {
  uint64_t call_time;   // raw clock
  uint64_t child_time;  // ticks of direct calls of it, for option graph-time off
  uint64_t cpu_time;    // nanoseconds that the thread had run, with option sleep-time off
  uint32_t parent;      // its slot's token (probe/returns/graph_hot.h); 0: none
  uint16_t depth;       // 0: nobody called it
  uint8_t flags;        // kGraphInside … (probe/returns/graph_hot.h)
  uint8_t session;      // low bits of ProfileTable.session
};

// ReturnSlot.state; return_hook_hot.cc says what they mean.
inline constexpr uint64_t kSlotFree = 0, kSlotOwned = 1, kSlotChained = 2;
inline constexpr uint64_t kSlotSpare = 1;  // with an address, which is even; kSlotOwned has none
inline constexpr uint64_t kSlotTagMask = 7;
inline constexpr int kSlotGenerationShift = 48;
inline constexpr uint64_t kSlotGenerationMask = ~uint64_t{0} << kSlotGenerationShift;
inline constexpr uint64_t kSlotAddressMask = ~(kSlotGenerationMask | kSlotTagMask);

struct alignas(64) ReturnSlot {
  uint64_t state;              // atomic; 0: free
  uint64_t return_address;     // what stood in the stack word: the caller, or another trampoline
  const SiteProgram* program;  // site->return_program as it was at the entry
  const CallSite* site;
  uint32_t wanted;        // bit i: program->event[i] takes part (max_active left room)
  uint32_t chained_by;    // atomic; slot of the tail call that hooked the same word
  uint64_t arg[6];        // integer arguments at the entry
  uint16_t chain_length;  // slots that hook the same word, this one included; of a spare: 1
  uint8_t limited;        // some event of it has max_active; of a spare: 0
  uint8_t home;           // which of its thread's spares it is; kReturnSpares: none
  // Together the token of the call (probe/returns/graph_hot.h).
  uint16_t number;      // 1 + index of the slot, once it was claimed
  uint16_t generation;  // how often it was armed
  GraphCall graph;      // of programs with has_graph (probe/returns/graph_hot.h)
};
static_assert(sizeof(GraphCall) == 32 && sizeof(ReturnSlot) == 128);
static_assert(offsetof(ReturnSlot, generation) == offsetof(ReturnSlot, number) + 2);

// The agent leaves: calls whose return is hooked are not recorded any more. While no thread is in
// the code of a return.
void forget_outstanding_returns();

// Event i of a program is bit i of `wanted`; those from the last bit on share it.
inline constexpr uint32_t kLastWantedBit = 31;
inline constexpr uint32_t wanted_bit(uint32_t event) {
  return event < kLastWantedBit ? event : kLastWantedBit;
}

// What the return's trampoline has saved: registers.reg[0] is the return value, registers.reg[4]
// the stack pointer behind the return, registers.xmm[0] and [1] the vector results, registers.arg
// the slot's.
struct ReturnFrame {
  FetchRegisters registers;
};

// What a thread knows of calls that are followed (probe/returns/graph_hot.h). A token is 1 + the
// index of a slot, in the upper half the slot's generation.
struct GraphThread {
  uint32_t current;  // the call that it is in, if that is followed; 0: none
  uint32_t left;     // the last call that it seemed to have left without a return; 0: none
  uint32_t lost;     // calls that found no slot, since the thread began
};

// In every thread's static TLS, of which a process has little: 52 bytes. Each call reads and writes
// `at`; with 16 bits that cost 3 to 5 % of a return.
struct ReturnThread {
  uint32_t at;    // which spare the next call takes
  uint16_t next;  // 1 + where the thread looks for a free slot; 0: not yet known
  // 1 + index of the slot, in use or not; 0: none. The last one stays 0: no level has it.
  uint16_t spare[kReturnSpares + 1];
  GraphThread graph;
};
static_assert(kReturnSlots < UINT16_MAX);

extern "C" {
extern __thread ReturnThread pb_return_thread
    __attribute__((tls_model("initial-exec"), visibility("hidden")));

// At the entry, after its events: hooks the return of the call whose return address is at `word`.
// No free slot, or no room under a probe's max_active: that probe's `missed` is counted. True: the
// word holds a trampoline.
bool return_hook(const CallSite* site, const SiteProgram* program, uint64_t* word,
                 const FetchRegisters* registers);
// From return_entry. Puts into the stack word where the program goes on.
void return_hit(ReturnFrame* frame, uint32_t index);

extern ReturnSlot pb_return_slots[kReturnSlots] __attribute__((visibility("hidden")));

// The first trampoline; before it lies a pad, because unwinders look for an address minus one.
extern const uint8_t pb_return_trampolines[] __attribute__((visibility("hidden")));
// Room for code that records returns by itself: part of return_entry (return_code() in
// probe_compile.h).
extern const uint8_t pb_return_code[] __attribute__((visibility("hidden")));
// Where that code goes on: with its record published, and with nothing done.
void pb_return_done() __attribute__((visibility("hidden")));
void pb_return_general() __attribute__((visibility("hidden")));
// Room for code that takes what a whole call keeps from its entry (call_data.h): part of
// probe_entry_hook. And where that goes on: with all of it in the slot's room, and with nothing
// done.
extern const uint8_t pb_take_code[] __attribute__((visibility("hidden")));
void pb_take_done() __attribute__((visibility("hidden")));
void pb_take_general() __attribute__((visibility("hidden")));
// Where probe_hook() goes on when it has left the return alone.
void pb_return_not_hooked() __attribute__((visibility("hidden")));
// The real caller of the call that slot i hooks.
extern uint64_t pb_return_address[kReturnSlots] __attribute__((visibility("hidden")));
}

inline bool is_return_trampoline(uint64_t address) {
  const uint64_t offset = address - reinterpret_cast<uint64_t>(pb_return_trampolines);
  return offset < uint64_t{kReturnSlots} * kReturnTrampolineSize &&
         offset % kReturnTrampolineSize == 0;
}

// The real caller, if `address` is one of the trampolines; else `address`. Async-signal-safe.
inline uint64_t real_return_address(uint64_t address) {
  if (__builtin_expect(!is_return_trampoline(address), 1)) return address;
  const uint64_t offset = address - reinterpret_cast<uint64_t>(pb_return_trampolines);
  return pb_return_address[offset / kReturnTrampolineSize];
}

// For debug/counters: slots that hold a call now (abandoned ones too, until they are reclaimed),
// how many were ever reclaimed as dead, and how many calls found no slot.
struct ReturnHookCounts {
  uint64_t in_use, reclaimed, no_slot;
};
ReturnHookCounts return_hook_counts();

// How many calls that are events as a whole have ended without a return (an exception, longjmp, a
// thread's end) and so have no record: all whose slots have been taken again, and those whose stack
// words hold something else now. `is_gone`: whether the word at that address surely does not hold
// the value; it may have no memory any more.
uint64_t left_calls(bool (*is_gone)(uint64_t address, uint64_t value));

}  // namespace patchbay
