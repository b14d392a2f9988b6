// SPDX-License-Identifier: MIT
// per_cpu/cpuN/stats: counts of one ring (spec: ftrace.md 10.1).
//
//   entries      events that a reader still finds     overrun         events overwritten unread
//   read events  events in sub-buffers that a reader has released     dropped events  ring was full
//
// A reader publishes only how far it is. While it is ahead of the oldest sub-buffer, everything
// before it counts as read, else as overwritten; the exact figure of what it missed is the reader's
// own.
#include <time.h>

#include <algorithm>
#include <cstdio>

#include "tracefs/files/files.h"

namespace patchbay::tracefs {
namespace {

struct Counts {
  uint64_t entries = 0, overrun = 0, bytes = 0, oldest = 0, dropped = 0, read = 0;
};

// One ring as its writer sees it. Writers go on meanwhile: the figures are each right at some
// moment of the call, and a sub-buffer that is overwritten under our eyes can only make `bytes`
// inexact.
class RingView {
 public:
  RingView(const RingSet& set, uint32_t ring) : set_(set), ring_(ring) {
    control_ = reinterpret_cast<const abi::RingControl*>(set.controls +
                                                         size_t{ring} * abi::kRingControlStride);
    publish_ = __atomic_load_n(&control_->publish, __ATOMIC_ACQUIRE);  // pairs with ring_publish
  }

  Counts counts() const {
    Counts counts;
    counts.dropped = __atomic_load_n(&control_->dropped, __ATOMIC_RELAXED);
    const abi::RingSlot& slot = control_->slot[(publish_ & abi::kParityBit) != 0];
    uint64_t published = __atomic_load_n(&slot.entries, __ATOMIC_RELAXED);
    if (published == 0) return counts;
    uint64_t current = current_seq();
    uint64_t oldest = current + 2 > set_.nr_subbufs ? current + 2 - set_.nr_subbufs : 0;
    uint64_t consumed = __atomic_load_n(&set_.read_seq[ring_], __ATOMIC_RELAXED);
    uint64_t first = std::min(std::max(oldest, consumed), current + 1);
    uint64_t before_first = first > current ? published : meta(first).entries_before;
    // A reader that is past the oldest sub-buffer has released all before it; nobody else has.
    (consumed >= oldest && consumed > 0 ? counts.read : counts.overrun) = before_first;
    counts.entries = published - std::min(published, before_first);
    counts.oldest = first > current ? 0 : word(first, 0);
    for (uint64_t seq = first; seq <= current; seq++) counts.bytes += used(seq, current);
    return counts;
  }

 private:
  uint64_t current_seq() const {
    uint64_t offset = uint32_t(publish_);
    return (publish_ >> abi::kLapShift) * set_.nr_subbufs + (offset - 1) / set_.subbuf_size;
  }
  const abi::PageMeta& meta(uint64_t seq) const {
    return set_.page_meta[uint64_t{ring_} * set_.nr_subbufs + seq % set_.nr_subbufs];
  }
  uint64_t word(uint64_t seq, uint32_t index) const {
    const uint8_t* page =
        set_.data + ring_ * set_.ring_bytes + seq % set_.nr_subbufs * set_.subbuf_size;
    return __atomic_load_n(reinterpret_cast<const uint64_t*>(page) + index, __ATOMIC_RELAXED);
  }
  uint64_t used(uint64_t seq, uint64_t current) const {
    uint64_t capacity = set_.subbuf_size - abi::kPageHeaderSize;
    if (seq < current) return std::min(word(seq, 1) & 0x7ffffff, capacity);
    uint64_t in_page = (uint32_t(publish_) - 1) % set_.subbuf_size + 1;
    return in_page - std::min(in_page, uint64_t{abi::kPageHeaderSize});
  }

  const RingSet& set_;
  uint32_t ring_;
  const abi::RingControl* control_;
  uint64_t publish_;
};

uint64_t now(uint32_t clock) {
  if (clock == abi::kClockTsc) return __builtin_ia32_rdtsc();
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return uint64_t(time.tv_sec) * 1000000000 + uint64_t(time.tv_nsec);
}

// Counts of a counter are shown plain, nanoseconds as seconds and microseconds.
std::string time_text(uint32_t clock, uint64_t time) {
  char text[48];
  unsigned long long value = time;
  if (clock == abi::kClockTsc) {
    std::snprintf(text, sizeof text, "%llu", value);
  } else {
    std::snprintf(text, sizeof text, "%5llu.%06llu", value / 1000000000, value / 1000 % 1000000);
  }
  return text;
}

std::string stats_text(const RingSet& set, uint32_t ring) {
  Counts counts = RingView(set, ring).counts();
  auto line = [](const char* name, uint64_t value) {
    return std::string(name) + ": " + std::to_string(value) + "\n";
  };
  return line("entries", counts.entries) + line("overrun", counts.overrun) +
         line("commit overrun", 0) + line("bytes", counts.bytes) +
         "oldest event ts: " + time_text(set.clock, counts.oldest) +
         "\nnow ts: " + time_text(set.clock, now(set.clock)) + "\n" +
         line("dropped events", counts.dropped) + line("read events", counts.read);
}

}  // namespace

FilePtr make_stats(const TreeContext& context, uint32_t ring) {
  return make_text_file([&context, ring]() -> Result<std::string> {
    return stats_text(*context.buffer.rings(), ring);
  });
}

}  // namespace patchbay::tracefs
