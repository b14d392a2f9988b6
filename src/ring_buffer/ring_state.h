// SPDX-License-Identifier: MIT
//
// Looking at one ring from the control side while its writers go on, and the words that readers
// keep in the file. Everything that a reader may have written is a claim, not a fact (G4).
#pragma once

#include "ring_buffer/ring_buffer.h"

namespace patchbay {

// Where the writers of a ring stand, all taken at one moment.
struct RingNow {
  uint64_t seq = 0;      // the sub-buffer being written
  uint64_t oldest = 0;   // the lowest one that is not being reused
  uint32_t used = 0;     // bytes of events in seq
  uint64_t time = 0;     // of the last event
  uint64_t entries = 0;  // ever published
};
RingNow ring_now(const RingSet& set, uint32_t ring);
// Grows by one with each event that comes to nothing in rings that were replaced.
uint64_t lost_when_replaced(const RingSet& set, uint32_t ring);

const uint8_t* ring_subbuf(const RingSet& set, uint32_t ring, uint64_t seq);
abi::PageMeta* ring_page_meta(const RingSet& set, uint32_t ring, uint64_t seq);

// A consistent copy of what readers claim; ring_position() is what it says as far as it can be
// true.
abi::ReaderState load_reader_state(const RingSet& set, uint32_t ring);
RingPosition ring_position(const abi::ReaderState& state, const RingNow& now);
// Writes position and read_seq under the version.
void store_position(const RingSet& set, uint32_t ring, const RingPosition& position);

}  // namespace patchbay
