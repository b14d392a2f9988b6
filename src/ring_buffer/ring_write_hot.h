// SPDX-License-Identifier: MIT
// Publishing one record in a ring: what a traced thread runs (abi/buffer_abi.h has the protocol).
#pragma once

#include <cstdint>

#include "hot/rseq.h"
#include "ring_buffer/ring_set.h"
#include "ring_buffer/thread_rseq.h"

namespace patchbay {

enum RingWriteStatus : int {
  kRingPublished = 0,
  kRingDropped = 1,  // the ring is full and must not overwrite: counted in RingControl.dropped
  kRingOff = 2,      // recording is off: not a loss
  kRingNoRseq = 3,   // (ring_publish_rseq only) this thread has no rseq, or was aborted too often
};

extern "C" {

// A thread that enters a text into the PrintkTable counts itself in first. While the table is
// closed it does not enter any: the file is being replaced (ring_resize.cc). Both are atomic.
extern uint32_t pb_printk_entering __attribute__((visibility("hidden")));
extern uint32_t pb_printk_closed __attribute__((visibility("hidden")));

// One restartable sequence (ring_publish.S): G1. `size` is a multiple of 4, at least 8, and the
// record fits into an empty sub-buffer.
// `rings` is read inside the sequence: a store of dead_rings() there, then membarrier(RSEQ), and no
// record of that event can come any more (EventProgram.rings).
int ring_publish_rseq(const RingSet* const* rings, const uint8_t* record, uint32_t size);
// The same for a record of more than kMaxSmallData bytes, a multiple of 8, of which only `pieces`
// are copied: what lies between them is whatever stood in the ring before. The list ends with a
// piece whose `to` is 0, and has one before it.
struct RingPiece {
  uint32_t from, to;  // bytes of the record, multiples of 8; from < to
};
int ring_publish_pieces(const RingSet* const* rings, const uint8_t* record, uint32_t size,
                        const RingPiece* pieces);
// The slower path (G8): ring nr_cpus under its lock, with a bounded wait; reads `rings` under the
// lock.
int ring_publish_locked(const RingSet* const* rings, const uint8_t* record, uint32_t size,
                        uint32_t tid);

// For a thread that may not use rseq: of one that libc has not registered yet (thread_rseq.h) the
// record comes into the ring of its CPU all the same, of others into the locked one.
int ring_publish_otherwise(const RingSet* const* rings, const uint8_t* record, uint32_t size)
    __attribute__((cold));

// One event more in RingControl.dropped, of a record that was not even made: it belongs to another
// one that was dropped just now.
void ring_drop(const RingSet* const* rings);
void ring_drop_locked(const RingSet* const* rings) __attribute__((visibility("hidden")));
}

// The one to call.
inline int ring_publish(const RingSet* const* rings, const uint8_t* record, uint32_t size) {
  if (may_use_rseq()) {
    int status = ring_publish_rseq(rings, record, size);
    if (__builtin_expect(status != kRingNoRseq, 1)) return status;
  }
  return ring_publish_otherwise(rings, record, size);
}

}  // namespace patchbay
