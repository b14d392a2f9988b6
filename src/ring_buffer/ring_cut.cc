// SPDX-License-Identifier: MIT
// The control thread's part of a snapshot at a hit (ring_cut.h has the protocol).
#include "ring_buffer/ring_cut.h"

#include <fcntl.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>

#include "ring_buffer/buffer_file.h"
#include "ring_buffer/ring_fill.h"
#include "ring_buffer/ring_state.h"

namespace patchbay {

using abi::PageMeta;

// What belongs to the snapshot is later than `from` and not later than `to`.
struct CutTimes {
  uint64_t from, to;
};

namespace {

constexpr int kMostCuts = 16;
constexpr int kTries = 1000;

uint64_t load(const uint64_t* word) { return __atomic_load_n(word, __ATOMIC_ACQUIRE); }
void store(uint64_t* word, uint64_t value) { __atomic_store_n(word, value, __ATOMIC_RELEASE); }

// Both words of one exchange. (A later one may raise `from` alone: it has come in between then.)
CutTimes load_times(const RingCut& cut) {
  CutTimes times = {};
  for (int i = 0; i < kTries; i++) {
    times.to = load(&cut.to);
    times.from = load(&cut.from);
    if (load(&cut.to) == times.to) break;
  }
  return times;
}

// The records of one ring that belong to a snapshot, sub-buffer by sub-buffer.
class CutCopy {
 public:
  CutCopy(const RingSet& set, uint32_t ring, const CutTimes& times, const RingPosition& start)
      : set_(set), ring_(ring), times_(times), start_(start), end_(start) {}

  void run(RingFill* fill) {
    const uint64_t current = ring_now(set_, ring_).seq;
    const uint64_t nr = set_.control(ring_)->nr_subbufs;
    // From here on none has been begun anew yet, as far as is known: tried one after the other.
    const uint64_t first = std::max(start_.seq, current + 1 > nr ? current + 1 - nr : 0);
    for (uint64_t number : numbers_aside(first, nr))
      if (!copy(number, fill)) return;
    for (uint64_t number = first; number <= current; number++)
      if (!copy(number, fill)) return;
  }
  const RingPosition& start() const { return start_; }  // behind what is not later than `from`
  const RingPosition& end() const { return end_; }

 private:
  const PageMeta* meta_aside(uint64_t number) const {
    return reinterpret_cast<const PageMeta*>(
        reinterpret_cast<const uint8_t*>(ring_page_meta(set_, ring_, number)) +
        set_.cut.side_delta);
  }
  std::vector<uint64_t> numbers_aside(uint64_t before, uint64_t nr) const {
    std::vector<uint64_t> numbers;
    for (uint64_t slot = 0; set_.cut.side_delta && slot < nr; slot++) {
      const uint64_t number = load(&meta_aside(slot)->seq);
      if (number >= start_.seq && number < before && number % nr == slot) numbers.push_back(number);
    }
    std::sort(numbers.begin(), numbers.end());
    return numbers;
  }

  // A copy that was not written to meanwhile: its number is the same before and after.
  bool copy_bytes(uint64_t number, const PageMeta* meta, const uint8_t* from) {
    if (load(&meta->seq) != number) return false;
    entries_before_ = load(&meta->entries_before);
    page_.bytes.resize(set_.subbuf_size);
    std::memcpy(page_.bytes.data(), from, set_.subbuf_size);
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    if (load(&meta->seq) != number) return false;
    uint64_t commit;
    std::memcpy(&commit, page_.bytes.data() + 8, 8);
    used_ =
        uint32_t(std::min<uint64_t>(commit & 0x7ffffff, set_.subbuf_size - abi::kPageHeaderSize));
    return true;
  }
  bool copy_raw(uint64_t number) {
    const RingNow now = ring_now(set_, ring_);
    const uint8_t* from = ring_subbuf(set_, ring_, number);
    if (copy_bytes(number, ring_page_meta(set_, ring_, number), from)) {
      if (number == now.seq) used_ = now.used;
      return true;
    }
    const uint64_t delta = load(&set_.cut.side_delta);
    return delta && copy_bytes(number, meta_aside(number), from + delta);
  }

  // False: a record is later than the cut, and so are all that follow. A sub-buffer that is nowhere
  // any more was overwritten before the hit, or belongs to a cut that is no longer the last.
  bool copy(uint64_t number, RingFill* fill) {
    if (!copy_raw(number)) return true;
    EventIterator events(page_.bytes, used_);
    EventView event;
    uint64_t entry = entries_before_;
    uint32_t begin = abi::kPageHeaderSize, end = begin;
    uint64_t begin_time = 0;
    std::memcpy(&begin_time, page_.bytes.data(), 8);
    bool reached = false;
    page_.entries = 0;
    while (events.next(&event)) {
      reached = event.time > times_.to;
      if (reached) break;
      entry++;
      end = events.position();
      const RingPosition behind = {number, end - abi::kPageHeaderSize, event.time, entry, 0};
      const bool had = number == start_.seq && behind.offset <= start_.offset;
      if (!had && event.time <= times_.from) start_ = behind;
      if (!had) end_ = behind;
      if (had || event.time <= times_.from) {
        begin = end;
        begin_time = event.time;
      } else {
        page_.entries++;
      }
    }
    if (page_.entries) deliver(begin, end, begin_time, entry - page_.entries, fill);
    return !reached;
  }
  void deliver(uint32_t begin, uint32_t end, uint64_t time, uint64_t first, RingFill* fill) {
    uint8_t* bytes = page_.bytes.data();
    page_.used = end - begin;
    page_.first = first;
    std::memcpy(bytes, &time, 8);
    std::memmove(bytes + abi::kPageHeaderSize, bytes + begin, page_.used);
    fill->add(page_);
  }

  const RingSet& set_;
  const uint32_t ring_;
  const CutTimes times_;
  RingPosition start_, end_;
  PageImage page_;
  uint64_t entries_before_ = 0;
  uint32_t used_ = 0;
};

}  // namespace

// Of the places aside: behind all data.
uint64_t RingBuffer::side_offset() const {
  const auto* h = reinterpret_cast<const abi::BufferHeader*>(mapping_.data());
  uint64_t subbufs = 0;
  for (uint32_t ring = 0; ring < h->nr_rings; ring++)
    subbufs += reinterpret_cast<const abi::RingControl*>(mapping_.data() + h->ring_offset +
                                                         ring * abi::kRingControlStride)
                   ->nr_subbufs;
  constexpr uint64_t kFilePage = 4096;
  return (h->data_offset + subbufs * h->subbuf_size + kFilePage - 1) & ~(kFilePage - 1);
}

Status RingBuffer::make_side() {
  wants_side_ = true;
  if (set_->cut.side_delta) return {};
  const auto* h = reinterpret_cast<const abi::BufferHeader*>(mapping_.data());
  const uint64_t side = side_offset();
  const bool was_open = fd_.valid();
  PB_ASSIGN(auto fd, file());
  Status status = reserve(fd, side, h->meta_offset - side, "the snapshots of ");
  if (!was_open) release_file();
  if (!status.ok() && status.error().errno_value == ENOSPC)
    return sys_error(status.error().what, ENOMEM);
  PB_TRY(status);
  auto* meta = reinterpret_cast<PageMeta*>(mapping_.data() + side);
  for (uint64_t i = 0; i < (h->data_offset - h->page_meta_offset) / sizeof *meta; i++)
    meta[i].seq = kNotAside;
  store(&cut()->side_delta, side - h->page_meta_offset);
  return {};
}

bool RingBuffer::has_pending_cut() const { return ring_cut_is_pending(set_); }

void RingBuffer::forget_pending_cut() { store(&cut()->served, load(&set_->cut.to)); }

void RingBuffer::forget_cuts() {
  if (!set_->cut.side_delta) return;
  store(&cut()->side_delta, 0);
  const bool quiet = quiesce();
  forget_pending_cut();
  const uint64_t side = side_offset(), size = set_->header->meta_offset - side;
  if (!quiet) return;
  // The memory goes. (That it stays where this fails harms nobody.)
  if (in_memory()) {
    ::madvise(mapping_.data() + side, size, MADV_REMOVE);
  } else if (auto fd = file(); fd.ok()) {
    ::fallocate(*fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, off_t(side), off_t(size));
  }
  release_file();
}

// Of the buffer that this one takes the place of: what was pending there, and what late threads
// have entered there since. The times mean the same here.
void RingBuffer::inherit_cuts(const RingSet& old) {
  const CutTimes times = load_times(old.cut);
  if (!set_->cut.to) store(&cut()->served, load(&old.cut.served));
  if (times.to <= load(&set_->cut.to)) return;
  if (times.from) ring_cut_at(cut(), times.from);
  ring_cut_at(cut(), times.to);
}

// Each of those that came one after the other, at most so many: hits may come without end.
Status RingBuffer::take_cut(std::unique_ptr<RingBuffer>* spare) {
  Status status;
  for (int i = 0; i < kMostCuts && status.ok() && has_pending_cut(); i++) {
    const CutTimes times = load_times(set_->cut);
    status = prepare_spare(spare);
    for (uint32_t ring = 0; status.ok() && ring <= set_->nr_cpus; ring++)
      move_cut_ring(times, ring, **spare);
    store(&cut()->served, times.to);
  }
  return status;
}

void RingBuffer::move_cut_ring(const CutTimes& times, uint32_t ring, RingBuffer& spare) {
  abi::ReaderState state = load_reader_state(*set_, ring);
  const RingNow now = ring_now(*set_, ring), spare_now = ring_now(*spare.set_, ring);
  RingFill fill(*spare.set_, ring, spare_now.entries ? spare_now.seq + 1 : 0);
  CutCopy copy(*set_, ring, times, ring_position(state, now));
  copy.run(&fill);
  // What went with an earlier snapshot was not read.
  if (is_before(ring_position(state, now), copy.start())) state.base_entries = copy.start().entries;
  finish_ring(ring, copy.start(), copy.end(), state, spare, &fill);
}

}  // namespace patchbay
