// SPDX-License-Identifier: MIT
//
// Positions and counts of the rings (ring_state.h). A position moves forward only:
//
//     overwritten unread     consumed      unread                  sub-buffers ->
//     (lost)                            |<--- entries --->|
//                                    position            now
//
//     entries + overrun + read = everything published since the last clear
#include "ring_buffer/ring_state.h"

#include <time.h>

#include <algorithm>
#include <cstring>

#include "base/agreed.h"
#include "ring_buffer/buffer_file.h"
#include "ring_buffer/ring_write_hot.h"

namespace patchbay {

using abi::PageMeta;
using abi::ReaderState;
using abi::RingControl;

namespace {

constexpr int kTries = 1000;

uint64_t load(const uint64_t* word) { return __atomic_load_n(word, __ATOMIC_ACQUIRE); }
void store(uint64_t* word, uint64_t value) { __atomic_store_n(word, value, __ATOMIC_RELAXED); }

uint64_t clock_now(uint32_t clock) {
  if (clock == abi::kClockTsc) return __builtin_ia32_rdtsc();
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return uint64_t(time.tv_sec) * 1000000000u + uint64_t(time.tv_nsec);
}

// Time of the first event behind the position; 0: there is none any more.
uint64_t oldest_time(const RingSet& set, uint32_t ring, uint64_t seq, uint32_t offset,
                     uint32_t used) {
  std::vector<uint8_t> page(set.subbuf_size);
  std::memcpy(page.data(), ring_subbuf(set, ring, seq), page.size());
  EventIterator events(page, used);
  EventView event;
  while (events.next(&event))
    if (events.position() > abi::kPageHeaderSize + offset) return event.time;
  return 0;
}

uint32_t bytes_used(const RingSet& set, uint32_t ring, uint64_t seq, const RingNow& now) {
  if (seq == now.seq) return now.used;
  uint64_t commit = load(reinterpret_cast<const uint64_t*>(ring_subbuf(set, ring, seq)) + 1);
  return uint32_t(std::min<uint64_t>(commit & 0x7ffffff, set.subbuf_size - abi::kPageHeaderSize));
}

}  // namespace

// The slot that publish names is not written while publish stays: the pair is from one moment if
// publish is the same before and after.
RingNow ring_now(const RingSet& set, uint32_t ring) {
  const RingControl* rc = set.control(ring);
  RingNow now;
  uint64_t publish = load(&rc->publish);
  for (int i = 0; i < kTries; i++) {
    const abi::RingSlot& slot = rc->slot[publish & abi::kParityBit ? 1 : 0];
    now.time = load(&slot.time);
    now.entries = load(&slot.entries);
    uint64_t again = load(&rc->publish);
    if (again == publish) break;
    publish = again;
  }
  uint64_t last = std::max(uint32_t(publish), 1u) - 1;
  uint64_t nr = rc->nr_subbufs;
  now.seq = (publish >> abi::kLapShift) * nr + (last >> set.subbuf_shift);
  now.oldest = now.seq + 2 > nr ? now.seq + 2 - nr : 0;
  uint32_t within = uint32_t(last & (set.subbuf_size - 1)) + 1;
  now.used = within > abi::kPageHeaderSize ? within - abi::kPageHeaderSize : 0;
  return now;
}

const uint8_t* ring_subbuf(const RingSet& set, uint32_t ring, uint64_t seq) {
  const RingControl* rc = set.control(ring);
  return reinterpret_cast<const uint8_t*>(rc) + rc->data_delta +
         seq % rc->nr_subbufs * set.subbuf_size;
}

PageMeta* ring_page_meta(const RingSet& set, uint32_t ring, uint64_t seq) {
  RingControl* rc = set.control(ring);
  return reinterpret_cast<PageMeta*>(reinterpret_cast<uint8_t*>(rc) + rc->page_meta_delta) +
         seq % rc->nr_subbufs;
}

ReaderState load_reader_state(const RingSet& set, uint32_t ring) {
  const ReaderState* state = &set.readers[ring];
  ReaderState copy;
  for (int i = 0; i < kTries; i++) {
    uint64_t version = load(&state->version);
    const auto* from = reinterpret_cast<const uint64_t*>(state);
    auto* to = reinterpret_cast<uint64_t*>(&copy);
    for (size_t word = 0; word < sizeof copy / 8; word++) to[word] = load(from + word);
    if (version % 2 == 0 && load(&state->version) == version) break;
  }
  return copy;
}

RingPosition ring_position(const ReaderState& state, const RingNow& now) {
  RingPosition position{state.seq, uint32_t(state.offset), state.time, state.entries, state.lost};
  bool possible = is_before(position, {now.seq, now.used, 0, 0, 0}) ||
                  (state.seq == now.seq && state.offset == now.used);
  return possible && state.entries <= now.entries ? position : RingPosition{};
}

void store_position(const RingSet& set, uint32_t ring, const RingPosition& position) {
  ReaderState* state = &set.readers[ring];
  uint64_t version = load(&state->version) | 1;
  store(&state->version, version);
  __atomic_thread_fence(__ATOMIC_RELEASE);
  store(&state->seq, position.seq);
  store(&state->offset, position.offset);
  store(&state->time, position.time);
  store(&state->entries, position.entries);
  store(&state->lost, position.lost);
  __atomic_store_n(&state->read_seq, position.seq, __ATOMIC_RELEASE);  // pairs with begin_subbuf
  __atomic_store_n(&state->version, version + 1, __ATOMIC_RELEASE);
}

RingPosition RingBuffer::position(uint32_t ring) const {
  ReaderState state = load_reader_state(*set_, ring);  // first: now can only be later
  return ring_position(state, ring_now(*set_, ring));
}

void RingBuffer::consume(uint32_t ring, const RingPosition& upto) {
  if (is_before(position(ring), upto)) store_position(*set_, ring, upto);
}

void RingBuffer::clear(std::optional<uint32_t> cpu) {
  if (is_forked_child()) return;
  for (uint32_t ring = 0; ring <= set_->nr_cpus; ring++) {
    if (cpu && *cpu != ring) continue;
    RingNow now = ring_now(*set_, ring);
    restart_counts(ring, {now.seq, now.used, now.time, now.entries, 0});
  }
}

// All counts begin again, with what lies behind `position`.
uint64_t RingBuffer::restart_counts(uint32_t ring, const RingPosition& position) {
  fold_dropped();
  store_position(*set_, ring, position);
  ReaderState* state = &set_->readers[ring];
  store(&state->base_entries, position.entries);
  uint64_t dropped = load(&set_->control(ring)->dropped) + load(&state->extra_dropped);
  uint64_t before = load(&state->base_dropped);
  store(&state->base_dropped, dropped);
  return dropped - std::min(dropped, before);
}

RingCounts RingBuffer::counts(uint32_t ring) const {
  RingCounts counts;
  counts.now_time = clock_now(set_->clock);
  ReaderState state = load_reader_state(*set_, ring);
  RingNow now = ring_now(*set_, ring);
  RingPosition at = ring_position(state, now);
  uint64_t first = std::max(at.seq, now.oldest);
  uint64_t before = at.entries;  // events before the first that a reader finds
  if (first > at.seq) at.offset = 0;
  if (at.offset == 0) {
    const PageMeta* meta = ring_page_meta(*set_, ring, first);
    before = std::clamp(load(&meta->entries_before), at.entries, now.entries);
  }
  counts.entries = now.entries - before;
  counts.overrun = at.lost + before - at.entries;
  uint64_t since = std::min(state.base_entries + at.lost, at.entries);
  counts.read = at.entries - since;
  for (uint64_t seq = first; seq <= now.seq; seq++)
    counts.bytes += bytes_used(*set_, ring, seq, now);
  counts.bytes -= std::min<uint64_t>(counts.bytes, at.offset);
  if (counts.entries)
    counts.oldest_time =
        oldest_time(*set_, ring, first, at.offset, bytes_used(*set_, ring, first, now));
  uint64_t dropped = load(&set_->control(ring)->dropped) + state.extra_dropped;
  for (const Parked& parked : parked_)
    dropped += lost_when_replaced(*parked.set, ring) - parked.folded[ring];
  counts.dropped = dropped - std::min(dropped, state.base_dropped);
  return counts;
}

bool RingBuffer::has_data(uint32_t ring) const {
  ReaderState state = load_reader_state(*set_, ring);
  RingNow now = ring_now(*set_, ring);
  return now.entries > ring_position(state, now).entries;
}

// As the kernel's full_hit(): the sub-buffer that is being written counts as one.
uint64_t RingBuffer::unread_percent(uint32_t ring) const {
  ReaderState state = load_reader_state(*set_, ring);
  RingNow now = ring_now(*set_, ring);
  RingPosition at = ring_position(state, now);
  if (now.entries <= at.entries) return 0;
  uint64_t dirty = now.seq - std::max(at.seq, now.oldest) + 1;
  return std::min<uint64_t>(100, dirty * 100 / (set_->control(ring)->nr_subbufs - 1));
}

// A writer that was in the middle of an event when its rings were replaced may still drop it, or
// publish it where nobody looks any more: one that holds the lock and was stopped, or a forked
// child.
uint64_t lost_when_replaced(const RingSet& set, uint32_t ring) {
  return load(&set.control(ring)->dropped) + ring_now(set, ring).entries;
}

// What late writers lost in files that were replaced counts for this one.
void RingBuffer::fold_dropped() {
  for (Parked& parked : parked_) {
    uint64_t missed = load(&parked.set->header->missed);
    __atomic_fetch_add(&set_->header->missed, missed - parked.folded_missed, __ATOMIC_RELAXED);
    parked.folded_missed = missed;
    for (uint32_t ring = 0; ring <= set_->nr_cpus; ring++) {
      uint64_t dropped = lost_when_replaced(*parked.set, ring);
      store(&set_->readers[ring].extra_dropped,
            load(&set_->readers[ring].extra_dropped) + dropped - parked.folded[ring]);
      parked.folded[ring] = dropped;
    }
  }
}

}  // namespace patchbay
