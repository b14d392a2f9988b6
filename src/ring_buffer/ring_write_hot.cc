// SPDX-License-Identifier: MIT
// The slower path of publishing (G8): the protocol of abi/buffer_abi.h in C, for all cases, under a
// lock. ring_publish.S is the fast one, and ring_record.inc says who else writes.
#include "ring_buffer/ring_write_hot.h"

#include "base/raw_syscall.h"
#include "ring_buffer/ring_cut.h"

namespace patchbay {

using abi::PageMeta;
using abi::RingControl;
using abi::RingSlot;

namespace {

constexpr uint32_t kLockSpins = 4000;

enum class Lock { kTaken, kBusy, kOwn };
// Never 0, which is "free". A thread on the storage of another one has no number there.
uint32_t lock_owner(uint32_t tid) {
  return (tid ? tid : uint32_t(raw_syscall(SYS_gettid))) | 0x80000000u;
}

// kOwn: this is a signal handler above the holder, and waiting would never end. kBusy: it has
// waited a little; `spin` says how often before.
Lock try_lock(RingControl* rc, uint32_t owner, uint32_t spin) {
  uint32_t holder = 0;
  if (__atomic_compare_exchange_n(&rc->lock, &holder, owner, false, __ATOMIC_ACQUIRE,
                                  __ATOMIC_RELAXED))
    return Lock::kTaken;
  if (holder == owner) return Lock::kOwn;
  if (spin % 64 == 63) raw_sched_yield();
  __builtin_ia32_pause();
  return Lock::kBusy;
}
void unlock(RingControl* rc) { __atomic_store_n(&rc->lock, 0, __ATOMIC_RELEASE); }

// Where the next event goes. Everything here is invisible to readers until publish is stored.
struct Place {
  uint64_t lap;
  uint32_t offset;  // in the ring's data
  uint32_t delta;
};

uint64_t read_clock(uint32_t clock) {
  if (clock == abi::kClockTsc) return __builtin_ia32_rdtsc();
  return raw_monotonic_ns();
}

uint8_t* ring_data(RingControl* rc) { return reinterpret_cast<uint8_t*>(rc) + rc->data_delta; }
PageMeta* ring_page_meta(RingControl* rc) {
  return reinterpret_cast<PageMeta*>(reinterpret_cast<uint8_t*>(rc) + rc->page_meta_delta);
}

// `meta` and `data` are of the sub-buffer that is to be overwritten, number seq - nr_subbufs.
// Copies it aside where a pending snapshot wants it (ring_cut.h).
void keep_aside(const RingSet* set, PageMeta* meta, uint8_t* data, uint64_t number) {
  const uint64_t delta = __atomic_load_n(&set->cut.side_delta, __ATOMIC_ACQUIRE);
  const uint64_t time = *reinterpret_cast<const uint64_t*>(data);
  if (!delta || time > __atomic_load_n(&set->cut.to, __ATOMIC_ACQUIRE)) return;
  auto* aside = reinterpret_cast<PageMeta*>(reinterpret_cast<uint8_t*>(meta) + delta);
  if (meta->seq != number || aside->seq == number) return;
  __atomic_store_n(&aside->seq, kNotAside, __ATOMIC_RELAXED);
  __atomic_thread_fence(__ATOMIC_RELEASE);
  aside->entries_before = meta->entries_before;
  auto* to = reinterpret_cast<uint64_t*>(data + delta);
  const auto* from = reinterpret_cast<const uint64_t*>(data);
  for (uint32_t i = 0; i < set->subbuf_size / 8; i++)
    __atomic_store_n(&to[i], from[i], __ATOMIC_RELAXED);
  __atomic_store_n(&aside->seq, number, __ATOMIC_RELEASE);
}

// Closes the current sub-buffer and begins the next one. False: full, and must not overwrite.
bool begin_subbuf(const RingSet* set, uint32_t ring, RingControl* rc, uint64_t now, Place* place) {
  uint64_t publish = rc->publish;
  uint32_t last = uint32_t(publish) - 1;
  uint32_t index = last >> set->subbuf_shift;
  uint64_t seq = (publish >> abi::kLapShift) * rc->nr_subbufs + index + 1;
  int64_t unread = int64_t(seq - __atomic_load_n(&set->readers[ring].read_seq, __ATOMIC_ACQUIRE));
  if (!rc->overwrite && unread > int64_t(rc->nr_subbufs) - 2) return false;
  uint8_t* data = ring_data(rc);
  uint32_t mask = set->subbuf_size - 1;
  *reinterpret_cast<uint64_t*>(data + (last & ~mask) + 8) =
      (last & mask) + 1 - abi::kPageHeaderSize;
  place->lap = publish >> abi::kLapShift;
  if (++index == rc->nr_subbufs) {
    index = 0;
    place->lap++;
  }
  PageMeta* meta = ring_page_meta(rc) + index;
  const RingSlot& slot = rc->slot[(publish & abi::kParityBit) ? 1 : 0];
  uint32_t start = index << set->subbuf_shift;
  if (ring_cut_is_pending(set)) keep_aside(set, meta, data + start, seq - rc->nr_subbufs);
  __atomic_store_n(&meta->seq, seq, __ATOMIC_RELEASE);  // before anything else of it: read_kept()
  __atomic_thread_fence(__ATOMIC_RELEASE);
  meta->entries_before = slot.entries;
  *reinterpret_cast<uint64_t*>(data + start) = now;
  place->offset = start + abi::kPageHeaderSize;
  place->delta = 0;
  return true;
}

// Finds the place for an event of `bytes` bytes at time `now`; may write a time extend.
bool find_place(const RingSet* set, uint32_t ring, RingControl* rc, uint64_t now, uint64_t delta,
                uint32_t bytes, Place* place) {
  uint64_t publish = rc->publish;
  uint32_t offset = uint32_t(publish);
  uint32_t used = offset & (set->subbuf_size - 1);
  uint32_t room = used ? set->subbuf_size - used : 0;
  uint8_t* data = ring_data(rc);
  *place = {publish >> abi::kLapShift, offset, uint32_t(delta)};
  if (used == abi::kPageHeaderSize) {
    *reinterpret_cast<uint64_t*>(data + offset - abi::kPageHeaderSize) = now;
    place->delta = 0;
    return true;
  }
  bool extend = delta >> abi::kDeltaBits;
  if (room < bytes + (extend ? 8 : 0)) return begin_subbuf(set, ring, rc, now, place);
  if (!extend) return true;
  uint32_t* words = reinterpret_cast<uint32_t*>(data + offset);
  words[0] = abi::kTypeTimeExtend | uint32_t(delta) << 5;
  words[1] = uint32_t(delta >> abi::kDeltaBits);
  place->offset += 8;
  place->delta = 0;
  return true;
}

void write_event(uint8_t* to, uint32_t delta, const uint8_t* record, uint32_t size) {
  uint32_t* words = reinterpret_cast<uint32_t*>(to);
  if (size <= abi::kMaxSmallData) {
    *words++ = delta << 5 | size / 4;
  } else {
    *words++ = delta << 5;
    *words++ = size + 4;
  }
  const uint32_t* from = reinterpret_cast<const uint32_t*>(record);
  for (uint32_t i = 0; i < size / 4; i++) words[i] = from[i];
}

int missed(const RingSet* set) {
  __atomic_fetch_add(&set->header->missed, 1, __ATOMIC_RELAXED);
  return kRingDropped;
}

int publish_holding_lock(const RingSet* set, uint32_t ring, RingControl* rc, const uint8_t* record,
                         uint32_t size) {
  if (!ring_is_on(set)) return kRingOff;
  if (!__atomic_load_n(&rc->space_mask, __ATOMIC_RELAXED)) {
    if (!rc->closed) return kRingOff;
    rc->dropped++;
    return kRingDropped;
  }
  const RingSlot& slot = rc->slot[(rc->publish & abi::kParityBit) ? 1 : 0];
  uint64_t now = read_clock(set->clock);
  if (now < slot.time) now = slot.time;
  uint32_t bytes = size + (size <= abi::kMaxSmallData ? 4 : 8);
  if (abi::kPageHeaderSize + bytes > set->subbuf_size) return missed(set);
  Place place;
  if (!find_place(set, ring, rc, now, now - slot.time, bytes, &place)) {
    rc->dropped++;
    return kRingDropped;
  }
  write_event(ring_data(rc) + place.offset, place.delta, record, size);
  uint64_t parity = (rc->publish & abi::kParityBit) ^ abi::kParityBit;
  RingSlot& next = rc->slot[parity ? 1 : 0];
  next.entries = slot.entries + 1;
  next.time = now;
  uint64_t publish = place.lap << abi::kLapShift | parity | (place.offset + bytes);
  __atomic_store_n(&rc->publish, publish, __ATOMIC_RELEASE);  // pairs with BufferFile's acquire
  return kRingPublished;
}

// With the lock of `set` taken. False: the event does not go there any more.
bool publish_if_current(const RingSet* const* rings, const RingSet* set, const uint8_t* record,
                        uint32_t size, int* status) {
  if (__atomic_load_n(rings, __ATOMIC_RELAXED) != set) return false;
  *status = publish_holding_lock(set, set->nr_cpus, set->control(set->nr_cpus), record, size);
  return true;
}

// Of the last record here; the clock may be behind it, in a virtual machine that was moved.
uint64_t time_of_this_cpu(const RingSet* set) {
  const auto cpu = uint32_t(rseq_cpu_id());
  if (cpu >= set->nr_cpus) return 0;
  const RingControl* rc = set->control(cpu);
  const uint64_t publish = __atomic_load_n(&rc->publish, __ATOMIC_ACQUIRE);
  return __atomic_load_n(&rc->slot[publish & abi::kParityBit ? 1 : 0].time, __ATOMIC_RELAXED);
}

}  // namespace

bool ring_cut(const RingSet* set) {
  if (!__atomic_load_n(&set->cut.side_delta, __ATOMIC_ACQUIRE)) return false;
  auto* cut = const_cast<RingCut*>(&set->cut);
  if (!may_use_rseq() || !ring_cut_rseq(cut, time_of_this_cpu(set)))
    ring_cut_at(cut, read_clock(set->clock));
  return true;
}

// The control side changes *rings and then takes the lock of the old set once
// (RingBuffer::quiesce): a writer that held it then is done, and one that takes it later sees the
// new set.
extern "C" int ring_publish_locked(const RingSet* const* rings, const uint8_t* record,
                                   uint32_t size, uint32_t tid) {
  for (uint32_t spin = 0; spin < kLockSpins; spin++) {
    const RingSet* set = __atomic_load_n(rings, __ATOMIC_ACQUIRE);
    RingControl* rc = set->control(set->nr_cpus);
    if (!ring_is_on(set)) return kRingOff;
    if (!__atomic_load_n(&rc->space_mask, __ATOMIC_RELAXED) && !rc->closed) return kRingOff;
    const Lock lock = try_lock(rc, lock_owner(tid), spin);
    if (lock == Lock::kOwn) break;
    if (lock == Lock::kBusy) continue;
    int status = kRingOff;
    const bool done = publish_if_current(rings, set, record, size, &status);
    unlock(rc);
    if (done) return status;
  }
  return missed(__atomic_load_n(rings, __ATOMIC_ACQUIRE));
}

extern "C" int ring_publish_otherwise(const RingSet* const* rings, const uint8_t* record,
                                      uint32_t size) {
  BorrowedRseq rseq;
  if (pb_thread.no_rseq == kRseqUnsettled && borrow_rseq(&rseq)) {
    pb_thread.no_rseq++;  // a handler asks nobody, and takes the lock
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    const int status = ring_publish_rseq(rings, record, size);
    return_rseq(&rseq);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    pb_thread.no_rseq--;
    if (status != kRingNoRseq) return status;
  }
  return ring_publish_locked(rings, record, size, pb_thread.tid);
}

// Under the lock `dropped` is a plain word.
extern "C" void ring_drop_locked(const RingSet* const* rings) {
  const RingSet* set = __atomic_load_n(rings, __ATOMIC_ACQUIRE);
  RingControl* rc = set->control(set->nr_cpus);
  for (uint32_t spin = 0; spin < kLockSpins; spin++) {
    const Lock lock = try_lock(rc, lock_owner(pb_thread.tid), spin);
    if (lock == Lock::kOwn) break;
    if (lock == Lock::kBusy) continue;
    rc->dropped++;
    unlock(rc);
    return;
  }
  missed(set);
}

}  // namespace patchbay
