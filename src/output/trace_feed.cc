// SPDX-License-Identifier: MIT
#include "output/trace_feed.h"

#include "output/trace_clock_convert.h"

namespace patchbay {

namespace {

class RingFeed : public TraceFeed {
 public:
  explicit RingFeed(RingBuffer* buffer) : buffer_(buffer) { restart(); }
  uint32_t nr_rings() const override { return reader_->nr_rings(); }
  uint32_t clock() const override { return buffer_->header()->clock; }
  uint64_t now() const override { return raw_clock_now(clock()); }
  bool next_page(uint32_t ring, PageImage* out) override {
    return reader_->next_page(ring, true, out);
  }
  void consume(uint32_t ring, uint32_t used, uint64_t time, uint64_t entries) override {
    reader_->consume_part(ring, used, time, entries);
  }
  RingPosition position(uint32_t ring) const override { return buffer_->position(ring); }
  RingCounts counts(uint32_t ring) const override { return buffer_->counts(ring); }
  void restart() override { reader_ = std::make_unique<RingReader>(buffer_, false); }

 private:
  RingBuffer* buffer_;
  std::unique_ptr<RingReader> reader_;
};

}  // namespace

std::unique_ptr<TraceFeed> make_ring_feed(RingBuffer* buffer) {
  return std::make_unique<RingFeed>(buffer);
}

}  // namespace patchbay
