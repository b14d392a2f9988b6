// SPDX-License-Identifier: MIT
//
// What a traced thread runs to decide whether an event is wanted: a compiled filter over the built
// record, before the clock is read and before anything is published.
#pragma once

#include <cstdint>

namespace patchbay {

struct FilterInsn;

// Immutable once published; filter.h makes it. `code` is machine code generated for this filter;
// without it (no executable memory) filter_interpret() walks the instructions. The code also keeps
// rdi and rdx as they were, which static_event_entry.S uses.
struct FilterProgram {
  bool (*code)(const uint8_t* record, uint32_t size);  // null: interpret
  const FilterInsn* insns;                             // filter_insn.h
  uint32_t nr_insns;
  uint32_t min_size;  // bytes of the record's fixed fields it reads; a shorter record is no match
};

extern "C" {
// `record` starts with the common header; `size` bytes of it are readable. Async-signal-safe, no
// allocation, bounded; a bad char pointer is no match (fault table). Only a predicate on COMM makes
// a system call (prctl), because only the kernel knows the comm.
bool filter_interpret(const FilterProgram* program, const uint8_t* record, uint32_t size);
}

inline bool filter_match(const FilterProgram* program, const uint8_t* record, uint32_t size) {
  return program->code ? program->code(record, size) : filter_interpret(program, record, size);
}

}  // namespace patchbay
