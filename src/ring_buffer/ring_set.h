// SPDX-License-Identifier: MIT
// What a writer knows of a buffer, and of its own thread.
#pragma once

#include <cstdint>

#include "abi/buffer_abi.h"

namespace patchbay {

// Writer's view of one instance's buffer: pointers into the mapping. Immutable. Shared by forked
// children, because the mapping is at the same address there.
struct RingSet {
  abi::BufferHeader* header;
  uint8_t* controls;          // RingControl of ring r at controls + r * kRingControlStride
  abi::ReaderState* readers;  // of ring r at readers + r
  abi::CommTable* comms;      // of the top instance's buffer, whatever instance this is
  uint32_t subbuf_size;
  uint32_t subbuf_shift;
  uint32_t nr_cpus;
  uint32_t clock;

  abi::RingControl* control(uint32_t ring) const {
    return reinterpret_cast<abi::RingControl*>(controls + ring * abi::kRingControlStride);
  }
};

// Per thread, in the agent's initial-exec TLS.
struct ProbeThread {
  uint32_t fast_tid;  // the id that records carry; 0 sends the thread to the slow path
  uint32_t tid;       // the thread id, 0 = not yet known
  uint32_t in_agent;  // > 0: this thread runs agent code, its hits are counted as recursion
  uint32_t no_rseq;   // > 0: this thread must use the locked ring (vfork child)
  uint32_t known;     // its comm is in the CommTable (all instances share the top one's)
  uint32_t task_id;  // the task it plays (patchbay_set_current), 0 = itself. Whoever sets it zeroes
                     // fast_tid, and enters that task's comm (RingBuffer::add_comm).
};

extern "C" {
extern __thread ProbeThread pb_thread
    __attribute__((tls_model("initial-exec"), visibility("hidden")));
}

}  // namespace patchbay
