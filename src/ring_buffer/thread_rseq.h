// SPDX-License-Identifier: MIT
//
// Whether this thread may use restartable sequences.
//
//   clone      start_thread            rseq(2)                    the program's function
//     |  its first functions may be hit   |                              |
//     |  cpu_id_start == cpu_id == 0      |  the kernel keeps both       |
//     |  (zeros, or what the last thread  |                              |
//     |  on this stack has left)          |                              |
//     +-- not registered -----------------+-- registered ----------------+----------
//         registered by us for one record          the CPU's ring
//
// libc registers each thread itself, a little after its start. Before that the area looks like that
// of a registered thread on CPU 0, but no kernel restarts anything: two CPUs would write one ring.
// So each thread begins unsettled, and its first hit asks the kernel. It asks on slow paths only: a
// quick one needs ProbeThread.fast_tid, which an unsettled thread does not have. What a thread does
// before it is registered is recorded under a registration of ours, which is taken back before libc
// comes (it ends the program where it cannot register the thread). The locked ring would do, too,
// but waiting for it is bounded: main holds the address space while it makes threads, whoever is
// at its first page fault in the ring has to wait, and the next thread that begins would give up.
//
// Where libc registers no thread at all the area is the agent's (agent/own_rseq.cc): a thread's
// first hit registers it, for good. The child of a vfork() or clone() that hits something on its
// parent's storage does not: the parent would believe that the kernel knows it, and would write
// the ring of the CPU that the child was on.
#pragma once

#include <cstdint>

#include "hot/rseq.h"
#include "ring_buffer/ring_set.h"

namespace patchbay {

// True: this thread is registered, which is settled from here on. Otherwise its next hit asks
// again.
inline bool settle_rseq() {
  if (!rseq_is_registered()) {
    if (!rseq_is_own() || !is_libcs_thread()) return false;
    if (!register_own_rseq()) {
      pb_thread.no_rseq |= kRseqNever;
      return false;
    }
  }
  pb_thread.no_rseq &= ~kRseqUnsettled;
  return true;
}

inline bool may_use_rseq() {
  const uint32_t no_rseq = pb_thread.no_rseq;
  if (__builtin_expect(!no_rseq, 1)) return pb_rseq_offset != 0;
  return no_rseq == kRseqUnsettled && settle_rseq();
}

// The program wants an area of its own in this thread.
inline void give_up_own_rseq() {
  if (!rseq_is_own() || pb_thread.is_lent() || !is_libcs_thread()) return;
  pb_thread.no_rseq |= kRseqNever;
  pb_thread.fast_tid = 0;
  unregister_own_rseq();
}

// Where libc has registered this thread already, because a function of the program runs on it:
// settles that without a system call.
inline void rseq_was_registered() {
  if (pb_rseq_offset && rseq_cpu_id() >= 0) pb_thread.no_rseq &= ~kRseqUnsettled;
}

}  // namespace patchbay
