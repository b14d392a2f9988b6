// SPDX-License-Identifier: MIT
//
// What a function reads behind a pointer that it is given, and of what lies on the stack.
//
// A caller that knows a function does not store what the function never reads: the value of a
// structure, or what stands behind a reference. No debug information says so.
//
//   void f(const pair& p) { use(p.b); }      f:  mov 8(%rdi),%rax     reads 8 … 16 behind rdi
//   f(pair{1, 2})                            the caller stores a 2 alone
//
// Followed are copies of the pointer in registers, and those that calls hand on. Whatever else is
// done with a pointer may read all that is behind it.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "debug_info/debug_info.h"

namespace patchbay {

struct ReadBytes {
  std::vector<std::pair<int64_t, int64_t>> ranges;  // [first, second) behind the pointer
  bool any_of(int64_t begin, int64_t end) const;
  bool all_of(int64_t begin, int64_t end) const;
};

class PointerUses {
 public:
  explicit PointerUses(const DebugInfo& info) : info_(info) {}
  // `number`: of an argument register, 0..5 of rdi rsi rdx rcx r8 r9.
  const ReadBytes& behind_register(uint64_t entry, unsigned number);
  // Of the arguments on the stack, from the first one on.
  const ReadBytes& of_stack(uint64_t entry);
  // Whether the function does something that others notice: it calls, or has to do with a variable.
  // A compiler leaves out the calls of one that does not, unless its source has what leaves no
  // instructions and may read everything: `asm volatile("" ::: "memory")`.
  bool has_effect(uint64_t entry) const;

 private:
  class Walk;
  const ReadBytes& uses_of(uint64_t entry, unsigned start, int depth);

  const DebugInfo& info_;
  std::map<std::pair<uint64_t, unsigned>, ReadBytes> known_;
};

}  // namespace patchbay
