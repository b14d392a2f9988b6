// SPDX-License-Identifier: MIT
// For tests: a TraceFeed over pages made by hand. Times are nanoseconds (kClockMonotonic).
#pragma once

#include <cstring>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "output/trace_feed.h"

namespace patchbay::test {

// A page image of the given events: (time, record).
inline PageImage make_page(const std::vector<std::pair<uint64_t, std::string>>& events,
                           uint64_t lost = 0, size_t size = 4096) {
  PageImage page;
  page.bytes.assign(size, 0);
  uint64_t time = events.empty() ? 0 : events.front().first;
  std::memcpy(page.bytes.data(), &time, 8);
  size_t at = 16;
  auto put = [&](uint32_t word) {
    std::memcpy(page.bytes.data() + at, &word, 4);
    at += 4;
  };
  for (const auto& [when, record] : events) {
    uint64_t delta = when - time;
    time = when;
    uint32_t length = uint32_t(record.size() + 3) & ~3u;
    if (delta >> abi::kDeltaBits) {
      put(abi::kTypeTimeExtend | uint32_t(delta << 5));
      put(uint32_t(delta >> abi::kDeltaBits));
      delta = 0;
    }
    bool big = length > abi::kMaxSmallData;
    put(uint32_t(delta << 5) | (big ? 0 : length / 4));
    if (big) put(length + 4);
    std::memcpy(page.bytes.data() + at, record.data(), record.size());
    at += length;
  }
  store_commit(page.bytes, uint32_t(at - 16), lost);
  read_commit(&page);
  return page;
}

class PageFeed : public TraceFeed {
 public:
  explicit PageFeed(uint32_t rings) : rings_(rings) {}
  void add(uint32_t ring, PageImage page) { rings_[ring].pages.push_back(std::move(page)); }
  // Everything that is there now is gone, by someone else's hand.
  void clear(uint32_t ring) {
    Ring& r = rings_[ring];
    r.position = {r.pages.size(), 0, 0, 0, 0};
  }
  RingCounts& counts_of(uint32_t ring) { return rings_[ring].counts; }
  const std::string& log() const { return log_; }  // "ring:used " for each consume()

  uint32_t nr_rings() const override { return uint32_t(rings_.size()); }
  uint32_t clock() const override { return abi::kClockMonotonic; }
  uint64_t now() const override { return now_; }
  void set_now(uint64_t now) { now_ = now; }
  bool next_page(uint32_t ring, PageImage* out) override {
    Ring& r = rings_[ring];
    if (r.next >= r.pages.size()) return false;
    *out = r.pages[r.next++];
    if (r.next - 1 == r.position.seq && r.position.offset) skip(r.position.offset, out);
    return true;
  }
  void consume(uint32_t ring, uint32_t used, uint64_t time, uint64_t entries) override {
    Ring& r = rings_[ring];
    log_ += std::to_string(ring) + ":" + std::to_string(entries) + " ";
    r.position = {r.next - 1, used, time, entries, 0};
    if (used == r.pages[r.next - 1].used) r.position = {r.next, 0, 0, 0, 0};
  }
  RingPosition position(uint32_t ring) const override { return rings_[ring].position; }
  RingCounts counts(uint32_t ring) const override { return rings_[ring].counts; }
  void restart() override {
    for (Ring& r : rings_) r.next = r.position.seq;
  }

 private:
  struct Ring {
    std::vector<PageImage> pages;
    size_t next = 0;
    RingPosition position;
    RingCounts counts;
  };
  static void skip(uint32_t bytes, PageImage* page) {
    EventIterator events(page->bytes, page->used);
    EventView event{};
    while (events.position() < 16 + bytes && events.next(&event)) {
    }
    uint32_t left = page->used - bytes;
    std::memmove(page->bytes.data() + 16, page->bytes.data() + 16 + bytes, left);
    std::memcpy(page->bytes.data(), &event.time, 8);
    store_commit(page->bytes, left, 0);
    read_commit(page);
  }

  std::vector<Ring> rings_;
  std::string log_;
  uint64_t now_ = ~uint64_t{0};
};

}  // namespace patchbay::test
