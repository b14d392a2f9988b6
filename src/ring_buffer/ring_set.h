// SPDX-License-Identifier: MIT
// What a writer knows of a buffer, and of its own thread.
#pragma once

#include <cstdint>

#include "abi/buffer_abi.h"

namespace patchbay {

// The moments at which hits have asked for a snapshot (ring_cut.h). A time is one of the buffer's
// clock; what is not later belongs to the snapshot.
struct alignas(16) RingCut {
  uint64_t from, to;  // atomic, exchanged together: the last two, from <= to; 0: none
  uint64_t served;    // atomic; `to` when it was carried out last: another value of `to` is pending
  // Atomic; from a PageMeta or a sub-buffer to where it is kept aside. 0: no hit can ask.
  uint64_t side_delta;
};

// Writer's view of one instance's buffer: pointers into the mapping. Immutable but for `controls`
// and `cut`.
// Shared by forked children, as the mapping is, which is at the same address there.
//
//   tracing_on 1   controls == home: the RingControls of the file
//   tracing_on 0   controls == off: RingControls of rings that take nothing (dead_rings())
//
// This one word is what tracing_on is; there is no other record of it. A traced thread may change
// it (ring_switch). Writers read it inside the restartable sequence, so what is guaranteed is:
// after the store, on the CPU where it was made, no record of any thread comes into the rings any
// more; on another CPU at most the one record whose sequence had read the word before; and when
// membarrier(RSEQ) has returned (RingBuffer::quiesce) none at all.
struct RingSet {
  abi::BufferHeader* header;
  uint8_t* controls;          // atomic; RingControl of ring r at controls + r * kRingControlStride
  abi::ReaderState* readers;  // of ring r at readers + r
  abi::CommTable* comms;      // of the top instance's buffer, whatever instance this is
  uint32_t subbuf_size;
  uint32_t subbuf_shift;
  uint32_t nr_cpus;
  uint32_t clock;
  uint8_t* home;  // of the file, whether recording is on or not
  uint8_t* off;
  RingCut cut = {};

  // For everybody but writers.
  abi::RingControl* control(uint32_t ring) const {
    return reinterpret_cast<abi::RingControl*>(home + ring * abi::kRingControlStride);
  }
};

inline bool ring_is_on(const RingSet* set) {
  return __atomic_load_n(&set->controls, __ATOMIC_SEQ_CST) != set->off;
}
// Switches recording. True: it was the other way before. Async-signal-safe.
inline bool ring_switch(const RingSet* set, bool on) {
  uint8_t* wanted = on ? set->home : set->off;
  uint8_t** word = const_cast<uint8_t**>(&set->controls);
  return __atomic_exchange_n(word, wanted, __ATOMIC_SEQ_CST) != wanted;
}

inline constexpr uint32_t kRseqUnsettled = 1u << 31;  // as each thread begins
inline constexpr uint32_t kRseqNever = 1u << 30;      // the program has an area of its own

struct CallbackSlot;  // probe/callbacks/callback_hot.h
// Per thread, in the agent's initial-exec TLS, of which a process has little: what hits do not need
// is in the thread's block (hot/thread_block.h).
struct ProbeThread {
  uint32_t fast_tid;  // the id that records carry; 0 sends the thread to the slow path
  uint32_t tid;       // the thread id, 0 = not yet known
  uint32_t in_agent;  // > 0: this thread runs agent code, its hits are counted as recursion
  // Not 0: rseq must not be used, because a vfork child runs on this storage (+ 1), or because
  // nobody knows yet whether libc has registered the thread (kRseqUnsettled, thread_rseq.h), or
  // because the program has (kRseqNever).
  uint32_t no_rseq;
  CallbackSlot* callback_slot;  // says which callback the thread is in; null: none yet
  // 1: a fault of this thread is known to reach our handler. 0, as every thread begins: it may be
  // where libc has all signals blocked (probe/open_signals.h). Whoever makes it 0 zeroes fast_tid.
  uint8_t open;
  uint8_t known;    // its comm is in the CommTable (all instances share the top one's)
  uint16_t opened;  // > 0: an OpenSignals has opened the mask, and puts it back
  // Signals (bit sig - 1) that were sent to it: meanwhile; and while the program had them blocked,
  // as it believes (agent/signal_hooks.cc). All of ours are below 16.
  uint16_t held, held_blocked;

  // A vfork child runs on this thread's storage, or the thread is about to make one.
  bool is_lent() const { return no_rseq & ~(kRseqUnsettled | kRseqNever); }
};
static_assert(sizeof(ProbeThread) == 32);

extern "C" {
extern __thread ProbeThread pb_thread
    __attribute__((tls_model("initial-exec"), visibility("hidden")));
}

}  // namespace patchbay
