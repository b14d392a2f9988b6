// SPDX-License-Identifier: MIT
// What TraceText reads from: a RingBuffer, or in tests pages made by hand.
#pragma once

#include <cstdint>
#include <memory>

#include "ring_buffer/ring_buffer.h"
#include "ring_buffer/ring_reader.h"

namespace patchbay {

class TraceFeed {
 public:
  virtual ~TraceFeed() = default;
  virtual uint32_t nr_rings() const = 0;
  // kClock…, and its time now.
  virtual uint32_t clock() const = 0;
  virtual uint64_t now() const = 0;
  // The next events of a ring, whole ones of the sub-buffer being written among them.
  virtual bool next_page(uint32_t ring, PageImage* out) = 0;
  // The events up to `used` bytes of the page last given for `ring`, `entries` of them, the last at
  // `time`, are gone for every later reader.
  virtual void consume(uint32_t ring, uint32_t used, uint64_t time, uint64_t entries) = 0;
  virtual RingPosition position(uint32_t ring) const = 0;
  virtual RingCounts counts(uint32_t ring) const = 0;
  // Begins again at position().
  virtual void restart() = 0;
};

// `buffer` outlives it.
std::unique_ptr<TraceFeed> make_ring_feed(RingBuffer* buffer);

}  // namespace patchbay
