// SPDX-License-Identifier: MIT
//
// The stacks of all threads of a running process at one moment, with names, inlined functions and
// lines; and which of them wait for locks, of whom. No agent is needed for it.
//
//   threads stand, for as long as it takes to copy (attach/stack_copies.h)
//   they run again; their stacks are walked (symbol/stack_walk.h) and named (source_frames.h)
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"

namespace patchbay::cmd {

struct NamedFrame {
  uint64_t pc = 0;
  std::string function;  // "": nobody knows it
  uint64_t offset = 0;   // from its beginning
  std::string module;    // "libc.so.6"
  std::string file;      // "" and 0: not known
  int line = 0;
  bool is_inlined = false, is_guessed = false;
};

struct ThreadStack {
  int tid = 0;
  std::string name;
  std::string system_call;  // that it is in; "": none
  std::vector<NamedFrame> frames;
  std::string end;  // why there are no more frames; "": there are none
};

// What a thread waits for.
struct LockWait {
  enum class Kind : uint8_t { kMutex, kRwlock };
  size_t thread = 0;  // of ProcessStacks::threads
  Kind kind = Kind::kMutex;
  uint64_t address = 0;
  std::string name;  // of a variable; "": it has none
  int holder = 0;    // its thread; 0: not known
};

struct ProcessStacks {
  int pid = 0;
  std::string exe;
  uint64_t stood_ns = 0;
  std::vector<ThreadStack> threads;
  std::vector<LockWait> waits;
  // Threads that wait for each other, each for the next one, the last for the first.
  std::vector<std::vector<int>> cycles;
};

Result<ProcessStacks> stacks_of(int pid);

std::string stacks_text(const ProcessStacks& stacks);
std::string locks_text(const ProcessStacks& stacks);
std::string stacks_json(const ProcessStacks& stacks, bool locks_alone);

// Of what each thread waits for. For tests.
std::vector<std::vector<int>> cycles_in(const std::vector<std::pair<int, int>>& waits);

}  // namespace patchbay::cmd
