// SPDX-License-Identifier: MIT
//
// What a traced thread runs to decide whether an event is wanted: a compiled filter over the built
// record, before the clock is read and before anything is published.
#pragma once

#include <cstdint>

namespace patchbay {

// Immutable once published; filter.h makes it. `code` is machine code generated for this filter;
// without it (no executable memory) filter_interpret() walks the instructions.
struct FilterProgram {
  bool (*code)(const uint8_t* record, uint32_t size);  // null: interpret
  const void* insns;                                   // filter/'s own
  uint32_t nr_insns;
  uint32_t flags;
};

extern "C" {
// `record` starts with the common header; `size` bytes of it are readable. Async-signal-safe, no
// allocation, bounded; a bad char pointer is no match (fault table). Only a predicate on COMM makes
// a system call (prctl), because only the kernel knows the comm.
bool filter_interpret(const FilterProgram* program, const uint8_t* record, uint32_t size);
// Fault table of the loads through char pointers, as fetch_fault_fixup().
uint64_t filter_fault_fixup(uint64_t ip);
}

inline bool filter_match(const FilterProgram* program, const uint8_t* record, uint32_t size) {
  return program->code ? program->code(record, size) : filter_interpret(program, record, size);
}

}  // namespace patchbay
