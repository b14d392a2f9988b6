// SPDX-License-Identifier: MIT
//
// Pages of several CPUs -> events in order of time. Ties go to the lower CPU, as in trace-cmd;
// within a CPU the order is that of the ring (G2).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ring_buffer/buffer_file.h"

namespace patchbay {

// Where pages come from: a trace.dat or a buffer file.
class PageSource {
 public:
  virtual ~PageSource() = default;
  virtual size_t nr_cpus() const = 0;
  virtual uint32_t cpu_number(size_t index) const { return uint32_t(index); }
  // The next page of a CPU, with used and lost_before filled in. False at the end.
  virtual bool next_page(size_t index, PageImage* out) = 0;
  virtual uint64_t to_ns(uint64_t time) const = 0;
};

struct MergedEvent {
  uint64_t ns = 0;
  uint32_t cpu = 0;
  uint64_t lost_before = 0;         // of this CPU, just before this event (kLostUnknown: some)
  std::span<const uint8_t> record;  // valid until the next call
  uint32_t index = 0;               // of the source's CPU
  uint32_t page_used = 0;           // bytes of events of its page up to and with this one …
  uint64_t page_entries = 0;        // … and their number
};

class EventMerger {
 public:
  explicit EventMerger(PageSource* source);
  ~EventMerger();
  bool next(MergedEvent* out);
  // The time of the event that next() would give. Ends the life of the last event's record.
  bool peek(uint64_t* ns);
  // The event behind the one that next() gave, of the same CPU and the same page, if nothing was
  // lost between them and no other event of this CPU comes between. Both records are valid until
  // next(), which goes on behind this one if it was taken.
  bool peek_behind(MergedEvent* out);
  void take_behind();
  // CPUs that had come to their end are asked again.
  void refill();
  uint32_t malformed_pages() const { return malformed_pages_; }

 private:
  struct Stream;
  bool advance(Stream* stream);
  bool look_behind(Stream* stream);
  bool before(uint32_t a, uint32_t b) const;
  void sift_down();
  void drop_pending();

  PageSource* source_;
  std::vector<Stream> streams_;
  std::vector<uint32_t> heap_;  // streams with an event, the earliest first
  bool pending_ = false;        // the first one's event was handed out
  uint32_t malformed_pages_ = 0;
};

}  // namespace patchbay
