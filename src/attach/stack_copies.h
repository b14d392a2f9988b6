// SPDX-License-Identifier: MIT
//
// What a look at the stacks of a process takes while its threads stand: their registers, and copies
// of the used parts of their stacks. The rest is done when they run again.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "attach/target.h"
#include "base/result.h"

namespace patchbay::attach {

struct ThreadCopy {
  pid_t tid = 0;
  std::string name;
  uint64_t rip = 0, rsp = 0, rbp = 0;
  long system_call = -1;       // -1: it is in none
  uint64_t arguments[2] = {};  // of that
  std::vector<uint8_t> stack;  // from rsp on
  // Of one that is in futex(): what is around the word that it waits for.
  static constexpr uint64_t kBeforeWord = 16;
  std::vector<uint8_t> around_word;  // from kBeforeWord below it on; empty: it is not there
};

struct StackCopies {
  std::vector<ThreadCopy> threads;  // by their numbers
  uint64_t stood_ns = 0;            // from the first stop to the last thread that goes on
};

// Stops all threads, copies, lets them go on; waits have their answers repaired (docs/attach.md).
// An error says which thread does not stop, or why the kernel lets nobody look.
Result<StackCopies> copy_stacks(const Target& target);

}  // namespace patchbay::attach
