// SPDX-License-Identifier: MIT
//
// Returns of traced functions. At the entry the return address on the stack is exchanged for a
// trampoline, which stands for this return address and no other for as long as the process lives:
//
//   caller            f                              trampoline k            slot i
//   call f  ------->  jmp stub: probe_hit
//                       return_hook: *sp = tramp k ------------> word, k, site, program, arguments
//                     …
//                     ret  ------------------------> jmp return_entry
//                                                      k = what ret has popped: still below rsp
//                                                      the slot of this word and of k: events
//   next  <------------------------------------------- jmp pb_return_address[k]
//
// So control needs no slot: whatever comes to trampoline k, in whatever thread or fiber, for the
// first or for the second time, from a stack that was copied away and back, goes on where the call
// has come from. Only the record needs one. A slot is found by the word's address and by k. Where
// there is none any more, nothing is recorded, and that is counted.
//
// What has left a call without a return (longjmp, a coroutine whose part of the stack is copied
// away) cannot be known: its slot is in doubt, and is kept while others are free. Nothing else is
// hooked at this word under k meanwhile: calls from there get another trampoline of the same return
// address (return_trampolines.h). So a frame that comes back finds its own slot.
//
// Unwinders: the trampolines have an FDE of their own, whose rule for the return address reads
// pb_return_address[k]. So exceptions, backtrace(), gdb and thread cancellation see the real
// caller. A tail call hooks the same stack word twice: its slot is chained to the one before.
//
// Nothing here may be used for functions that return twice or look at their own return address
// (setjmp, vfork, dlsym, …): the planner refuses them (patch/patcher.h, Patcher::return_refusal).
//
// Nor is it for calls whose caller walks its own stack by return addresses: return_callers.h.
//
// docs/returns.md says why all of this holds for every program.
#pragma once

#include <cstddef>
#include <cstdint>

#include "probe/probe_abi.h"

namespace patchbay {

inline constexpr uint32_t kReturnSlots = 32768;
inline constexpr uint32_t kReturnTrampolines = 131072;  // numbers; some are none
inline constexpr uint32_t kReturnTrampolineSize = 4;
inline constexpr uint32_t kLongTrampolines = 32768;  // of the numbers: every other one is none
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
  uint64_t return_address;     // the caller; of a tail call the index of the slot before it
  const SiteProgram* program;  // site->return_program as it was at the entry
  const CallSite* site;
  uint32_t wanted;        // bit i: program->event[i] takes part (max_active left room)
  uint32_t trampoline;    // what stands in the word: the low half of its address
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

// In every thread's static TLS, of which a process has little: 56 bytes. Each call reads and writes
// `at`; with 16 bits that cost 3 to 5 % of a return.
struct ReturnThread {
  uint32_t at;    // which spare the next call takes
  uint16_t next;  // 1 + where the thread looks for a free slot; 0: not yet known
  uint16_t none;  // 0: the spare of the level below the first
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
void return_hit(ReturnFrame* frame, uint32_t trampoline);

extern ReturnSlot pb_return_slots[kReturnSlots] __attribute__((visibility("hidden")));

// Number 0, which is none.
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
// The return address that trampoline k stands for; 0: none yet.
extern uint64_t pb_return_address[kReturnTrampolines] __attribute__((visibility("hidden")));
}

// In place of the others are what unwinders read, and the long jumps (return_hook.S).
inline constexpr bool is_trampoline_number(uint32_t number) {
  if (number < kLongTrampolines) return number % 1024 > 2 && number % 2 == 0;
  return number % 1024 > 2 && number % 64 != 32 && number % 64 != 33;
}
inline uint64_t trampoline_address(uint32_t number) {
  return reinterpret_cast<uint64_t>(pb_return_trampolines) +
         uint64_t{number} * kReturnTrampolineSize;
}
inline uint64_t trampoline_of(const ReturnSlot* slot) {
  const auto first = reinterpret_cast<uint64_t>(pb_return_trampolines);
  return first + uint32_t(slot->trampoline - uint32_t(first));
}
// Of an address that is one.
inline uint32_t trampoline_number(uint64_t address) {
  return uint32_t((address - reinterpret_cast<uint64_t>(pb_return_trampolines)) /
                  kReturnTrampolineSize);
}

// Also of the calls in front of them.
inline bool is_in_return_trampolines(uint64_t address) {
  const uint64_t offset = address - reinterpret_cast<uint64_t>(pb_return_trampolines);
  return offset < uint64_t{kReturnTrampolines} * kReturnTrampolineSize;
}
inline bool is_return_trampoline(uint64_t address) {
  return is_in_return_trampolines(address) && address % kReturnTrampolineSize == 0;
}

// The real caller, if `address` is one of the trampolines; else `address`. Async-signal-safe.
inline uint64_t real_return_address(uint64_t address) {
  if (__builtin_expect(!is_return_trampoline(address), 1)) return address;
  return pb_return_address[trampoline_number(address)];
}

// The slot of the call that trampoline `number` stands for at the stack word; null: there is none
// any more, or it cannot be told which. Async-signal-safe.
ReturnSlot* slot_of_return(uint64_t word, uint32_t number);

// For debug/counters: slots that hold a call now (abandoned ones too, until they are reclaimed),
// how many were ever reclaimed as dead, how many calls found no slot, and how many returns found
// theirs gone.
struct ReturnHookCounts {
  uint64_t in_use, reclaimed, no_slot, unknown;
};
ReturnHookCounts return_hook_counts();

// How many calls that are events as a whole have ended without a return (an exception, longjmp, a
// thread's end) and so have no record: all whose slots have been taken again, and those whose stack
// words hold something else now. `is_gone`: whether the word at that address surely does not hold
// the value; it may have no memory any more.
uint64_t left_calls(bool (*is_gone)(uint64_t address, uint64_t value));

}  // namespace patchbay
