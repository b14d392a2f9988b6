// SPDX-License-Identifier: MIT
//
// Machine code for filters: a function over a built record, and a test of a call's argument
// registers that a stub runs before anything else.
//
// It stands here and not in src/codegen/ because a FilterProgram owns its code: compile_filter()
// makes both, and the folders between here and codegen run it. It is emitted as all generated code
// is, by arch/emitter.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "arch/emitter.h"
#include "fetch/fetch_abi.h"
#include "filter/filter_abi.h"
#include "filter/filter_code.h"

namespace patchbay {

// Code that answers as filter_interpret(program, …). It points into the program's instructions.
FilterCode generate_filter_code(const FilterProgram& program);

// The same within other code, where every predicate is a comparison of numbers. Emits them: falls
// through where the record of `size` bytes does not match, jumps to `match` otherwise. Spends
// reg::kTime, reg::kPublish and the flags.
bool has_inline_tests(const FilterProgram& program);
void emit_record_tests(Emitter& out, const FilterProgram& program, Reg record, Reg size,
                       const Label& match);

// The predicates of a filter on words that stand in registers at the probe, and on texts that these
// lead to: what is compared with the text's beginning, or with all of it.
struct RegisterTest {
  static constexpr int kReturnAddress = 6;
  static constexpr int kRegister = 8;
  int source;  // integer argument 0..5, kReturnAddress, or kRegister + register as in machine code
  uint64_t add;  // to the argument
  const FilterInsn* insn;
  std::vector<int32_t> offsets;  // of a text: what is added before each load; the last one is the
                                 // text's own. Empty: a word
  bool is_text() const { return !offsets.empty(); }
};

// Empty when some predicate needs more than these: fields that `fetch` stores from an integer
// argument or a general register, texts behind them, and the caller's address (a u64 at offset 8 of
// the record, if its head is kFunction).
std::vector<RegisterTest> filter_register_tests(const FilterProgram& filter,
                                                const FetchProgram& fetch);
bool has_text_tests(const std::vector<RegisterTest>& tests);

// Where tests on texts load from may be anything: they are a sequence, which a fault leaves
// (hot/fault.h) as the end of a thread's time does, for `unknown`, with all registers as they were.
// The thread is one whose faults are handled.
struct TextTests {
  const Sequence& sequence;
  const Label& unknown;
};

// Emits the tests. Falls through on a match and jumps to `reject` otherwise, with all registers as
// they were; only the flags are spent, and 16 bytes below the stack pointer.
void emit_register_tests(Emitter& out, const std::vector<RegisterTest>& tests, const Label& reject,
                         const TextTests& texts);

}  // namespace patchbay
