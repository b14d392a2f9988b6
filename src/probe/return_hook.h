// SPDX-License-Identifier: MIT
//
// Returns of traced functions. At the entry the return address on the stack is exchanged for one of
// kReturnSlots trampolines, each of which knows its slot by its own address:
//
//   caller            f                              trampoline i            slot i
//   call f  ------->  jmp stub: probe_hit
//                       return_hook: *sp = tramp i ------------------------> { sp, caller, program
//                       }
//                     …
//                     ret  ------------------------> push i; return_entry
//                                                      return_hit(i): events, slot i is free
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
// (setjmp, vfork, dlsym, …): the planner refuses them (patch/patcher.h, SitePlan.no_return_hook).
#pragma once

#include <cstdint>

#include "probe/probe_abi.h"

namespace patchbay {

inline constexpr uint32_t kReturnSlots = 32768;
inline constexpr uint32_t kReturnTrampolineSize = 16;

struct alignas(64) ReturnSlot {
  uint64_t* stack_word;     // atomic; null: free. Where the return address stood
  uint64_t return_address;  // what stood there: the caller, or another trampoline
  const CallSite* site;
  const SiteProgram* program;  // site->return_program as it was at the entry
  uint64_t wanted;             // bit i: program->event[i] takes part (max_active left room)
  uint64_t entry_time;         // TSC
  uint32_t next_free;
  uint32_t reserved;
  uint64_t arg[6];  // integer arguments at the entry
};

// What the return's trampoline has saved; begins as ProbeFrame does: registers.reg[0] is the return
// value, registers.reg[4] the stack pointer behind the return, registers.arg the slot's.
struct ReturnFrame {
  FetchRegisters registers;
};

extern "C" {
// At the entry, after its events: hooks the return of the call whose return address is at `word`.
// No free slot, or no room under a probe's max_active: that probe's `missed` is counted.
void return_hook(const CallSite* site, const SiteProgram* program, uint64_t* word,
                 const FetchRegisters* registers);
// From trampoline `index`. Returns where the program goes on.
uint64_t return_hit(ReturnFrame* frame, uint32_t index);
}

// The real caller, if `address` is one of the trampolines; else `address`. Async-signal-safe.
uint64_t real_return_address(uint64_t address);

// For debug/counters: slots that hold a call now, and how many were ever reclaimed as dead.
struct ReturnHookCounts {
  uint64_t in_use, reclaimed, no_slot;
};
ReturnHookCounts return_hook_counts();

}  // namespace patchbay
