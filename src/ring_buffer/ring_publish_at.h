// SPDX-License-Identifier: MIT
// Publishing a record for a caller that has just read the clock.
#pragma once

#include "ring_buffer/ring_write_hot.h"

namespace patchbay {

extern "C" {
// As ring_publish_rseq(). `ticks` is the record's time, unless the ring has a later one already or
// the record is not the usual case: then the clock is read anew.
int ring_publish_rseq_at(const RingSet* const* rings, const uint8_t* record, uint32_t size,
                         uint64_t ticks);

// The same for a record of two words, `header` and `value`, that only goes the usual way, so that
// they never stand in memory. Whatever it returns but kRingPublished, nothing was done: the record
// is for ring_publish_at().
int ring_publish_value_at(const RingSet* const* rings, uint64_t header, uint64_t value,
                          uint64_t ticks);
}

// As ring_publish().
inline int ring_publish_at(const RingSet* const* rings, const uint8_t* record, uint32_t size,
                           uint64_t ticks) {
  if (may_use_rseq()) {
    const int status = ring_publish_rseq_at(rings, record, size, ticks);
    if (__builtin_expect(status != kRingNoRseq, 1)) return status;
  }
  return ring_publish_otherwise(rings, record, size);
}

}  // namespace patchbay
