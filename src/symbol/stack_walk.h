// SPDX-License-Identifier: MIT
//
// A stack of another process, walked from a copy of it:
//
//   registers ──> module that holds rip ──> its rule there (unwind_row.h) ──> CFA, caller's rbp
//        ^                                                                        │
//        └────────── rip = word at CFA - 8, rsp = CFA <────────────────────────────┘
//
// The process says what stands in its memory, and may say anything: each step reads inside the copy
// alone and comes nearer to its end, and their number is bounded.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "symbol/symbol.h"
#include "symbol/unwind_table.h"

namespace patchbay {

struct StackRegisters {
  uint64_t rip = 0, rsp = 0, rbp = 0;
};

struct StackCopy {
  uint64_t start = 0;  // of the copy in the process
  std::span<const uint8_t> bytes;
  bool word_at(uint64_t address, uint64_t* word) const;
};

struct StackFrame {
  uint64_t pc = 0;
  bool is_interrupted = false;  // pc is the next instruction, and not behind a call
  bool is_signal = false;       // where a handler returns to
  bool is_guessed = false;      // no table says that this is the caller: rbp does
};

class StackWalk {
 public:
  enum class End : uint8_t { kOutermost, kNoTable, kNoStack, kTooLong };

  explicit StackWalk(SymbolTable& symbols) : symbols_(symbols) {}
  // The innermost first, at most `most`. `symbols` has the modules of the process.
  End walk(StackRegisters registers, const StackCopy& stack, size_t most,
           std::vector<StackFrame>* frames);

 private:
  // Nothing: no module is there.
  const UnwindTable* table_at(uint64_t address, uint64_t* bias);
  UnwindRule rule_at(uint64_t address);
  bool step(UnwindRule rule, const StackCopy& stack, StackRegisters* at) const;

  SymbolTable& symbols_;
  std::map<const Module*, UnwindTable> tables_;
};

}  // namespace patchbay
