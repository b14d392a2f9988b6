// SPDX-License-Identifier: MIT
//
// Events that are whole calls: `int fd = open(string path, x32 flags)`. What the arguments are, and
// the texts behind them, is known at the entry only; the record is complete, and offered, at the
// return. Between the two it lies in the room of the call's slot (return_hook.h):
//
//   entry   return_hook ── slot taken ── take_call: at_entry of each event runs into its room
//             .---------------------------------------------------- room of slot i, kCallDataBytes
//             | start | record of one event so far: size, -, -, arguments | the next event's …
//             '----------------------------------------------------
//   return  return_hit ── copy_call: to the stack, with the duration as each part's second word;
//             |           the slot is free
//             '── offer_events: each event's program begins with kTaken, its own part of the copy,
//                               and adds the result, the duration and what is `out`
//
// In the usual case generated code does the same at either end (codegen/call_code.h).
//
// Instances of one event share a part: they fetch the same. Where the parts of a place's events are
// more than the room, those that have none are missed, and counted in their instance's `missed`.
// So is a call that finds no slot.
//
// Whose the room is: the slot's owner's, from the claim to the moment when the slot is free. No
// lock is needed, and a signal handler that comes between takes another slot.
#pragma once

#include <cstdint>

#include "probe/probe_abi.h"

namespace patchbay {

inline constexpr uint32_t kCallDataBytes = sizeof(uint64_t) + kMostTaken;

// The raw clock's ticks as nanoseconds. Written by the control side, a word at a time.
struct CallClock {
  uint64_t ns_per_tick;   // times 2^32
  uint64_t is_monotonic;  // 1: the raw clock is CLOCK_MONOTONIC
};

extern "C" {
extern CallClock pb_call_clock __attribute__((visibility("hidden")));
// kReturnSlots rooms. Null until call_data_reserve().
extern uint8_t* pb_call_data __attribute__((visibility("hidden")));
}

// Memory for the rooms: address space, of which a slot that is used takes a page. Under the agent's
// lock, before a program with has_calls is published. False: there is none (errno).
bool call_data_reserve();

// At the entry: what each event of the program has to take, for the call in this slot. Returns
// `wanted` without the events for which there is no room.
uint32_t take_call(const SiteProgram* program, const FetchRegisters* registers, uint32_t wanted,
                   uint32_t slot);
// No slot was found.
void count_missed_calls(const SiteProgram* program, uint32_t wanted);
// At the return, while the slot is still the caller's. `copy` has kCallDataBytes.
void copy_call(const SiteProgram* program, uint32_t slot, uint8_t* copy);

// Where in the room that lies which `event`, of the program, has taken; kNoCallData: it has
// nothing.
inline constexpr uint32_t kNoCallData = ~0u;
uint32_t call_data_of(const SiteProgram* program, const SiteEvent* event);

}  // namespace patchbay
