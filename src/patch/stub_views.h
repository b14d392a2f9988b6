// SPDX-License-Identifier: MIT
//
// The stubs as signal handlers and the probe path look at them: chunks in no order, the records of
// each in order of address. Storage is reserved once, records are appended, counts are published
// last; nothing ever goes away.
#pragma once

#include <cstddef>
#include <cstdint>

#include "arch/x86_64/relocate.h"

namespace patchbay {

// One stub: prologue, relocated instructions, jump back. Immutable once published.
struct StubRecord {
  uint64_t address = 0;
  uint64_t original = 0;  // patch_address of its site
  uint16_t size = 0;
  uint16_t body = 0;  // offset of the relocated run
  uint8_t displaced = 0;
  uint8_t count = 0;
  bool comes_back = true;
  // Instruction starts at the original place, and in the stub: where a thread goes that was to run
  // the instruction (the prologue of a probe inside, if there is one), and the moved instruction.
  uint8_t offset[kMaxBoundaries] = {};
  uint16_t start[kMaxBoundaries] = {};
  uint16_t moved[kMaxBoundaries] = {};
  StubRecord* older = nullptr;  // another, parked stub of the same site

  // Where a thread that was to run the instruction at original + `at` continues; 0: no boundary.
  uint64_t continue_at(uint64_t at) const;
  // Where execution goes on at the original place, behind the displaced instructions; 0: nowhere.
  uint64_t exit() const { return comes_back ? original + displaced : 0; }
};

struct ChunkView {
  uint64_t base, size;
  const StubRecord* records;
  const uint32_t* count;  // atomic
};
inline constexpr size_t kMaxChunks = 4096;

extern ChunkView g_chunk_views[kMaxChunks] __attribute__((visibility("hidden")));
extern size_t g_chunk_view_count __attribute__((visibility("hidden")));  // atomic

uint64_t patch_original_ip(uint64_t ip);  // patch/patcher.h

}  // namespace patchbay
