// SPDX-License-Identifier: MIT
//
// Whether anybody reads what a local function returns. LLVM takes a result away that no caller
// needs, because all know it without the function, and gcc does so in its clones. Nothing in the
// debug information says it. Its callers do: they are in the same unit, or, of link time
// optimization, anywhere in the object.
//
//   call f; mov %rax,%rdi               it is read
//   call f; xor %eax,%eax               it is not
//   call f; ret        jmp f            what the caller returns is read, if it returns anything
//
// A caller may also read what it knows to be of no worth, as bytes that pad a structure. Then the
// function tells it, which has nothing to do with the register.
#pragma once

#include <optional>
#include <unordered_map>

#include "arch/x86_64/decoder.h"
#include "debug_info/call_sites.h"
#include "debug_info/unit_index.h"

namespace patchbay {

class ResultUses {
 public:
  ResultUses(DebugInfo& info, const UnitIndex& index) : info_(info), index_(index) {}
  // Whether what the function returns may not be there when it returns.
  bool is_lost(Dwarf_Die function, uint64_t entry);

 private:
  // Whether direct calls of `entry` are known, and none of them reads one of the words of its
  // result before that is written again.
  bool is_never_read(Dwarf_Die function, uint64_t entry);
  bool is_never_read(Dwarf_Die function, uint64_t entry, ResultRegister result, int depth);
  bool may_be_made(uint64_t entry, ResultRegister result) const;
  bool is_read_from(uint64_t address, ResultRegister result, int depth, int* budget);
  bool is_read_by_caller_of(uint64_t address, ResultRegister result, int depth);

  std::optional<Dwarf_Die> function_at(uint64_t address);

  DebugInfo& info_;
  const UnitIndex& index_;
  int nr_asked_ = 0;                                                  // of callers, for one answer
  std::unordered_map<uint64_t, std::optional<Dwarf_Die>> functions_;  // by their symbols' addresses
};

}  // namespace patchbay
