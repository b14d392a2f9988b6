// SPDX-License-Identifier: MIT
//
// Memory that stubs live in: chunks near the code they serve, readable and executable, filled in
// bulk through TextMemory. Nothing is ever given back: a thread that was preempted inside a stub
// returns there at any later time. Stubs of a site that went back to its original bytes are parked
// with the site and reused when the same prologue is asked for again.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "arch/x86_64/text_memory.h"
#include "patch/site_table.h"

namespace patchbay {

// What a stub is made of: the site whose text leads to it, what runs before each of the displaced
// instructions (null: nothing), and where the jmp goes that stands for the nop of a static event
// that is on (0: the instruction stays what it is).
struct StubParts {
  const Site* site = nullptr;
  const StubPrologue* prologue[kMaxBoundaries] = {};
  uint64_t key[kMaxBoundaries] = {};
};

class StubPool {
 public:
  // About how many stubs this transaction will ask for: sizes the next chunk.
  void expect(size_t stubs) { expected_ = stubs; }
  // Builds a stub in memory of our own; it can be entered after flush(). Null and the reason when
  // that is impossible.
  StubRecord* build(const StubParts& parts, std::string* reason);
  // A parked stub of the site that consists of the same bytes, else null.
  StubRecord* find_parked(const StubParts& parts) const;
  // Writes what was built since the last call. False: some chunk could not be written.
  bool flush(TextMemory& memory);

 private:
  struct Chunk;
  Chunk* chunk_for(uint64_t code);
  bool consists_of(const StubRecord& stub, const StubParts& parts) const;

  std::vector<Chunk*> chunks_;
  size_t expected_ = 0;
};

}  // namespace patchbay
