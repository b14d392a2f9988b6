// SPDX-License-Identifier: MIT
//
// Whole calls in generated code: what probe/returns/call_data.h says, for the usual case. The room
// of the call's slot has the same in it as on the general way, so that either end of a call may
// take it.
//
//   entry   probe_entry_hook ── slot filled ── pb_take_code: fields and texts into the room, then
//             |                                the clock
//             '── slot armed                   a fault, a long text -> the general way
//   return  return_entry ── pb_return_code: in the sequence that publishes the record it is copied
//                                   from the room, then head, result, duration -> slot given back
//
// The second is a record whose time is the call's end: one reading of the clock serves both.
//
// A filter of numbers is tested on the room, where the result is put first, and the duration if the
// filter asks for it: a call that does not match needs no ring, however full or empty that is.
#pragma once

#include "codegen/code_frame.h"

namespace patchbay {

// Whether the return of this event can be compiled, beside what is asked of any event; and whether
// what the events of a program take can: all whole calls among them take the same.
bool has_call_code(const SiteEvent& event);
bool has_take_code(const SiteProgram& program);

// Whether the filter of such an event can be tested there.
bool has_call_tests(const SiteEvent& event);

// The record of such a return has texts or arrays from the entry: its size is known at run time.
bool is_taken_size_open(const FetchProgram& fetch);

// At the entry: reg::kReturnSlot is the slot, which is filled. Goes on behind it, with all that the
// return wants in the room.
void emit_take(const CodeFrame& frame, const Label& unusual);

// At the return, inside the sequence, with reg::kTime and reg::kPlace: the record behind the first
// word of its event. Where the size is open reg::kValue is the delta of the event, that word is
// written, too, and spill(kTakenSize) is the record's size. Spends reg::kSlot and reg::kValue.
void emit_call_record(const CodeFrame& frame, uint32_t at, const Label& unusual);

// Before that: falls through where the filter matches. Spends all of reg::kSpent.
void emit_call_tests(const CodeFrame& frame, const Label& rejected, const Label& unusual);

}  // namespace patchbay
