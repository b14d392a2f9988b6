// SPDX-License-Identifier: MIT
//
// A snapshot at a hit. The kernel swaps two buffers there. Here the hit fixes a moment, and what
// takes time is done later:
//
//   hit              cut.to = now: one exchange of two words, in a restartable sequence
//   writers          go on. Who is about to overwrite a sub-buffer that began before `to` while
//                    to != served copies it aside first: the same sub-buffer, side_delta behind
//   control thread   copies what is not later than `to` into the spare, each sub-buffer from its
//                    place or from aside; moves the position behind it; served = to
//
//   ring at the hit     | 4 | 5 | 6 | 7 |.8..|        records of 4 … 7, and of 8 up to `to`
//   and somewhat later  | 9 |10 | 6 | 7 | 8  |
//   aside               | 4 | 5 |   |   |    |        complete where its PageMeta has the number
//
// A time is a cut through all rings at once: within a ring times never run back, and every record
// that was published before the hit has an earlier one. A record that another CPU is publishing at
// that moment may have read the clock before and become visible after: it is in the snapshot if
// the control thread finds it, else in the buffer behind the position; never in both, and never in
// neither.
//
// Why nothing is lost. A sub-buffer that readers may use (s > seq + 1 - nr_subbufs) when the hit
// exchanges the words is overwritten by a turn that begins later, on the CPU of its ring. That turn
// reads `to` after the exchange, and so copies first. The clock is read and the words exchanged
// within one restartable sequence: a thread that is preempted in between begins it again, so no
// turn comes between the two. (A thread without rseq has no such guarantee; where it is preempted
// just there the oldest records may be missing. They then count as overwritten.)
//
// The hit's own record is published before its action runs. Where the thread is preempted between
// the two, the snapshot is of the moment when the action runs; a ring that others fill anew in that
// time holds the record no more.
//
// The copy aside is made within the sequence that turns the sub-buffer (ring_publish.S):
//
//   PageMeta aside = none │ copy │ PageMeta aside = s │ PageMeta of the ring = n │ write
//
// Who is preempted while it copies begins again, and finds what others on its CPU have done
// meanwhile. So nobody ever copies what is being overwritten, and who finds PageMeta of the ring
// changed finds the copy aside. The threads without rseq do the same under the lock of their ring.
// The place aside is in the mapping of the buffer: each process that writes has it.
//
// Another hit before the first one is served: the snapshot is that of the last, and has what came
// between the two (from, to]. What came before went with the snapshot that nobody has seen. The
// place aside has room for one ring: what the later cut needs takes the place of what only the
// earlier one needed.
//
// kill -9 in between: the buffer and the old snapshot are as if there had been no hit.
#pragma once

#include <cstdint>

#include "abi/buffer_abi.h"
#include "ring_buffer/ring_set.h"

namespace patchbay {

inline constexpr uint64_t kNotAside = ~uint64_t{0};  // PageMeta.seq of a place aside: nothing

inline bool ring_cut_is_pending(const RingSet* set) {
  return __atomic_load_n(&set->cut.to, __ATOMIC_ACQUIRE) !=
         __atomic_load_n(&set->cut.served, __ATOMIC_ACQUIRE);
}

extern "C" {
// The restartable sequence (ring_cut.S): enters a moment not before `floor`. 0: this thread has no
// rseq, or was aborted too often.
int ring_cut_rseq(RingCut* cut, uint64_t floor);
// Any time; keeps the two latest. (For hits: ring_cut.)
void ring_cut_at(RingCut* cut, uint64_t time);
}

// A hit asks for a snapshot of what the buffer holds now. Async-signal-safe, no lock, no system
// call. False: nothing is kept aside in this buffer, so none can be taken of this moment.
bool ring_cut(const RingSet* set);

}  // namespace patchbay
