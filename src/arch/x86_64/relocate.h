// SPDX-License-Identifier: MIT
//
// Moving a run of instructions from a function's entry into a stub, so that it does there what it
// did before. Every instruction that had to be rewritten is decoded again and compared.
#pragma once

#include <cstddef>
#include <cstdint>

namespace patchbay {

inline constexpr size_t kMaxDisplaced = 20;  // four bytes and the longest instruction, rounded up
inline constexpr size_t kMaxBoundaries = 5;  // instruction starts among the first five bytes
inline constexpr size_t kMaxBody = 192;      // relocated run and the jump back

struct DisplacedRun {
  uint64_t from = 0;  // where the run stands
  const uint8_t* code = nullptr;
  uint8_t displaced = 0;  // bytes that the run covers; execution goes on at from + displaced
  uint8_t count = 0;      // instructions
  uint8_t offset[kMaxBoundaries] = {};  // of each instruction, offset[0] == 0
  bool is_nops = false;                 // a sled: nothing has to be executed
  bool runs_anywhere = false;           // it is known that no instruction has to be rewritten
  bool falls_through = false;           // what comes next stands behind it: no jump back
};

struct RelocatedRun {
  size_t size = 0;
  bool comes_back = false;  // to the address behind the run, by its jump or a call's return
  uint8_t start[kMaxBoundaries] = {};  // offset in the output of each instruction's replacement
  size_t jump_back = 0;                // where its jump back begins; size: there is none
  size_t called = 0;  // where a call has pushed its return address; 0: there is none
};

// Writes the replacement of `run` for execution at `to` into `out` (kMaxBody bytes). Returns null,
// or why it cannot be done (then `out` is garbage).
const char* relocate_run(const DisplacedRun& run, uint64_t to, uint8_t* out, RelocatedRun* result);

// A 5-byte `jmp target` for execution at `at`; false when the target is out of reach.
bool encode_jump(uint64_t at, uint64_t target, uint8_t out[5]);

}  // namespace patchbay
