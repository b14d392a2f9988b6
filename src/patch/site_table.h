// SPDX-License-Identifier: MIT
//
// Every place that was ever patched, by address, as the SIGTRAP handler sees it. Sites and stub
// records are never freed and never move: a thread may have trapped long before its signal arrives.
#pragma once

#include <atomic>
#include <cstdint>

#include "arch/x86_64/relocate.h"
#include "patch/patcher.h"

namespace patchbay {

// One stub: prologue, relocated instructions, jump back. Immutable once published.
struct StubRecord {
  uint64_t address = 0;
  uint64_t original = 0;  // patch_address of its site
  uint16_t size = 0;
  uint16_t body = 0;  // offset of the relocated run
  uint8_t displaced = 0;
  uint8_t count = 0;
  uint8_t offset[kMaxBoundaries] = {};  // instruction starts at the original place …
  uint8_t start[kMaxBoundaries] = {};   // … and in the stub, from `body`
  StubRecord* older = nullptr;          // another, parked stub of the same site

  // Where a thread that was to run the instruction at original + `at` continues; 0: no boundary.
  uint64_t continue_at(uint64_t at) const;
};

enum class SiteState : uint8_t {
  kOriginal,
  kPatched,
  kPending,  // int3 at every instruction start, the jump is not written yet
  kLeaving,  // int3 at the head and in the padding, the original bytes are not all back yet
};

struct Site {
  uint64_t address = 0;  // patch_address
  uint64_t entry = 0;
  SiteKind kind = SiteKind::kRefused;
  SiteState state = SiteState::kOriginal;
  uint8_t displaced = 0;
  uint8_t boundary_count = 0;
  uint8_t boundary[kMaxBoundaries] = {};
  uint8_t original[kMaxDisplaced] = {};
  uint8_t padding[5] = {};
  uint64_t alias = 0;  // kShortJump: address of the jmp in the padding
  bool in_transaction = false;
  bool watched = false;         // a thread behind the first byte, or in the padding, is in the way
  StubRecord* stubs = nullptr;  // newest first
  StubRecord* current = nullptr;
  // What the handler answers: 0 = original bytes are back; a StubRecord*; with bit 0 set: going
  // away, skip the prologue.
  std::atomic<uintptr_t> trap{0};
};

// Control thread only.
Site* site_find_or_add(uint64_t patch_address);
Site* site_find(uint64_t patch_address);
void site_set_alias(Site* site, uint64_t alias);
// The record that stands for the jump of a key to `target`; made once for each target.
StubRecord* key_record(Site* site, uint64_t target);
// Async-signal-safe: the site whose displaced bytes contain `address`, or whose alias it is, or
// null.
Site* site_containing(uint64_t address);

}  // namespace patchbay
