// SPDX-License-Identifier: MIT
//
// Machine code for filters: a function over a built record, and a test of a call's argument
// registers that a stub runs before anything else.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "fetch/fetch_abi.h"
#include "filter/filter_abi.h"

namespace Xbyak {
class CodeGenerator;
class Label;
class Reg32;
class Reg64;
}  // namespace Xbyak

namespace patchbay {

// Executable bytes in a pool; given back when it goes. A filter's, or other code that stands at any
// address.
class FilterCode {
 public:
  using Entry = bool (*)(const uint8_t* record, uint32_t size);

  FilterCode() = default;
  // Copies the code to executable memory that is never writable at the same time. Empty when there
  // is none to be had.
  // `shape`: how far the return address is from the stack pointer in it (patch/stub_views.h).
  FilterCode(const uint8_t* code, size_t size, uint16_t shape = 0);
  FilterCode(FilterCode&& other) noexcept { *this = std::move(other); }
  FilterCode& operator=(FilterCode&& other) noexcept {
    std::swap(address_, other.address_);
    std::swap(size_, other.size_);
    std::swap(place_, other.place_);
    return *this;
  }
  ~FilterCode();

  uint64_t address() const { return address_; }  // 0: there is none
  Entry entry() const { return reinterpret_cast<Entry>(address_); }

 private:
  void place(const uint8_t* code, size_t size);

  uint64_t address_ = 0;
  size_t size_ = 0;
  size_t place_ = 0;  // 1 + index in the list that generated_code_at() reads; 0: none
};

// For unwinders, at any time: whether such code stands at `ip`, and by how much the return address
// is higher than the stack pointer there.
bool generated_code_at(uint64_t ip, uint8_t* moved);

// Code that answers as filter_interpret(program, …). It points into the program's instructions.
FilterCode generate_filter_code(const FilterProgram& program);

// The same within other code, where every predicate is a comparison of numbers. Emits them: falls
// through where the record of `size` bytes does not match, jumps to `match` otherwise. Spends rax,
// rcx and the flags.
bool has_inline_tests(const FilterProgram& program);
void emit_record_tests(Xbyak::CodeGenerator& out, const FilterProgram& program,
                       const Xbyak::Reg64& record, const Xbyak::Reg32& size, Xbyak::Label& match);

// The predicates of a filter on words that stand in registers at the probe.
struct RegisterTest {
  static constexpr int kReturnAddress = 6;
  static constexpr int kRegister = 8;
  int source;  // integer argument 0..5, kReturnAddress, or kRegister + register as in machine code
  uint64_t add;  // to the argument
  const FilterInsn* insn;
};

// Empty when some predicate needs more than registers (fields that `fetch` stores from an integer
// argument or a general register) and the caller's address (a u64 at offset 8 of the record, if its
// head is kFunction).
std::vector<RegisterTest> filter_register_tests(const FilterProgram& filter,
                                                const FetchProgram& fetch);

// Emits the tests. Falls through on a match and jumps to `reject` otherwise, with all registers as
// they were; only the flags are spent, and 16 bytes below the stack pointer. `return_address`:
// where that stands, from the stack pointer.
void emit_register_tests(Xbyak::CodeGenerator& out, const std::vector<RegisterTest>& tests,
                         Xbyak::Label& reject, int return_address = 0);

}  // namespace patchbay
