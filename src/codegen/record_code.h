// SPDX-License-Identifier: MIT
//
// The record of an event: its head, then its fetch program as code (fetch/fetch_abi.h). Chains are
// compiled one by one; what has to be followed is loaded by the instruction that needs it:
//
//     a+8[0]+16[0]      mov 8(%rdi), %r11        a load that faults leaves the sequence, and the
//                       mov 16(%r11), %r11       general way does it all again: so the code has
//                       mov %r11, 28(%r9)        only to know what is readable
//
// Texts come last (codegen/text_code.h): they need registers that hold the state of the sequence
// until then.
#pragma once

#include <cstdint>

#include "codegen/code_frame.h"

namespace patchbay {

// Whether emit_record() can do it at the entry of a function or inside it. Its fixed part is at
// most kMaxSmallData long.
bool can_be_compiled(const FetchProgram& fetch);

// Whether the code loads through pointers, so that the sequence around it can be left by a fault.
bool has_loads(const FetchProgram& fetch);

// The record of an entry or a place, not of a call or a return.
bool has_entry_head(const FetchProgram& fetch);
// A record of every thread, of what is fetched here: lists of threads and other sources are nothing
// for generated code.
bool makes_own_record(const SiteEvent& event);
// Such a record of an entry or a place is made for triggers, and for nobody else while the event is
// off.
bool has_triggers_alone(const SiteEvent& event);

// Head and fixed part of the record that begins `at` bytes behind reg::kPlace. Spends reg::kValue,
// and keeps the other registers.
void emit_record(const CodeFrame& frame, uint32_t at);

// The two programs of a whole call (codegen/call_code.h): whether code can be made of that of the
// entry, and of that of the return.
bool can_be_taken(const FetchProgram& fetch);
bool can_be_returned(const FetchProgram& fetch);
// Of the first the fixed part without a head. Of the second what it adds to what was taken, but for
// the duration, and the same with the head. As emit_record().
void emit_fields(const CodeFrame& frame, uint32_t at);
void emit_result(const CodeFrame& frame, uint32_t at);
void emit_head_and_result(const CodeFrame& frame, uint32_t at);

// The value of the chain that begins with `insn`, up to its end, which it returns: in reg::kValue.
// Spends no other register.
const FetchInsn* emit_value(const CodeFrame& frame, const FetchInsn* insn, const FetchInsn* stop);

// The chain that fills these bytes of the record with a number, where code can be made of it: its
// first instruction. Null: there is none.
const FetchInsn* find_chain(const FetchProgram& fetch, uint32_t offset, uint32_t size);
// What it would store there: in reg::kValue, of which the field's size counts.
void emit_field(const CodeFrame& frame, const FetchInsn* chain);

// True for the instructions that end a chain.
bool ends_chain(FetchOp op);
bool starts_chain(FetchOp op);

}  // namespace patchbay
