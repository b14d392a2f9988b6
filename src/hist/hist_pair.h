// SPDX-License-Identifier: MIT
//
// The usual latency, each half of it as assembler (probe/triggers/hist_pair.S):
//
//     start   hist:keys=KEY:ts0=common_timestamp
//     end     hist:keys=KEY:lat=common_timestamp-$ts0:onmatch(start).trace(NAME,$lat)
//
// KEY is one number of 4 or 8 bytes, the times may be in microseconds, NAME has one number. All
// that a hit has to know stands here together, ready to be used: nothing is decided at a hit. Every
// other histogram, and every hit that is not the usual case, goes the ways of hist_quick.h and
// hist_hot.cc; all three do the same.
//
// Of several hits that read one variable one gets it, which takes a locked exchange: as long as a
// clock read. Also where both keys are `common_pid`: another event may read the variable by another
// key, threads may play one task, and a raw clone() keeps the number of its parent's thread.
#pragma once

#include <cstdint>

#include "hist/hist_program.h"

namespace patchbay {

struct HistPairHalf;
struct TriggerHit;
using HistPairWay = void(const HistPairHalf* half, const TriggerHit* hit, const uint8_t* record);

// A table as a search needs it. HistTable has them too, but an entry counts from 1 here.
struct HistPairTable {
  const uint64_t* slots;
  uint8_t* entries;     // of entry 1: what would be entry 0 stands in front of the first
  uint64_t entry_size;  // bytes
  uint64_t slot_mask;
  HistTable* table;
};

// Immutable. In memory that is never freed.
struct alignas(64) HistPairHalf {
  HistPairWay* way;
  uint64_t key_at;  // in the record
  HistPairTable own;
  const HistClock* const* clock;
  uint8_t* sums;
  uint64_t row_size;
  uint32_t nr_cpus;
  uint32_t in_usecs;
  uint64_t variable_at;  // in an entry
  // Of the end alone.
  HistPairTable other;
  uint64_t other_at;  // of the variable that is taken
  uint64_t mask;      // of the field of the synthetic event
  const SyntheticTarget* target;
  const HistProgram* hist;
};

// In hist_pair.S, by how the key is loaded.
extern "C" {
HistPairWay hist_pair_start_u32, hist_pair_start_s32, hist_pair_start_64;
HistPairWay hist_pair_end_u32, hist_pair_end_s32, hist_pair_end_64;
}

// For a program that is complete but for `half`, and will stand at `published`. Null: it does not
// fit.
const HistPairHalf* make_hist_pair_half(const HistProgram& program, const HistProgram* published);

}  // namespace patchbay
