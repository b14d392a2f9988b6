// SPDX-License-Identifier: MIT
// Putting pages that were read from one ring into another one that nobody writes to: resize and
// snapshot.
#pragma once

#include "ring_buffer/buffer_file.h"
#include "ring_buffer/ring_state.h"

namespace patchbay {

class RingFill {
 public:
  // Begins at sub-buffer `start` of `ring`. What does not fit pushes out the oldest, as a writer
  // would.
  RingFill(const RingSet& set, uint32_t ring, uint64_t start)
      : set_(set), ring_(ring), start_(start), next_(start) {}
  void add(const PageImage& page);
  // Publishes it all: a reader finds what was added, and an event count of `entries`, the last at
  // `time`. Nothing was added: an empty ring of that count.
  void finish(uint64_t entries, uint64_t time);
  bool empty() const { return next_ == start_; }

 private:
  const RingSet& set_;
  uint32_t ring_;
  uint64_t start_, next_;
  uint32_t used_ = 0;
};

// Everything between the position of `from` and where it stands now, and whatever came while that
// was copied. Returns the position behind it.
RingPosition copy_ring(BufferFile* from, const RingNow& until, uint32_t ring, RingFill* to);

}  // namespace patchbay
