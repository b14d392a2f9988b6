// SPDX-License-Identifier: MIT
#include "output/merge.h"

#include <algorithm>

namespace patchbay {

struct EventMerger::Stream {
  size_t index = 0;
  PageImage page;
  EventIterator events{{}, 0};
  EventView event{};
  uint64_t ns = 0;
  uint64_t lost = 0;
  bool has_page = false;
};

EventMerger::EventMerger(PageSource* source) : source_(source), streams_(source->nr_cpus()) {
  for (uint32_t i = 0; i < streams_.size(); i++) {
    streams_[i].index = i;
    if (advance(&streams_[i])) heap_.push_back(i);
  }
  std::make_heap(heap_.begin(), heap_.end(),
                 [this](uint32_t a, uint32_t b) { return before(b, a); });
}

EventMerger::~EventMerger() = default;

bool EventMerger::before(uint32_t a, uint32_t b) const {
  return streams_[a].ns != streams_[b].ns ? streams_[a].ns < streams_[b].ns : a < b;
}

bool EventMerger::advance(Stream* stream) {
  for (;;) {
    if (stream->has_page && stream->events.next(&stream->event)) {
      stream->ns = source_->to_ns(stream->event.time);
      return true;
    }
    if (stream->has_page && stream->events.malformed()) malformed_pages_++;
    stream->has_page = source_->next_page(stream->index, &stream->page);
    if (!stream->has_page) return false;
    uint64_t lost = stream->page.lost_before;
    bool unknown = lost == kLostUnknown || stream->lost == kLostUnknown;
    stream->lost = unknown ? kLostUnknown : stream->lost + lost;
    stream->events = EventIterator(stream->page.bytes, stream->page.used);
  }
}

void EventMerger::sift_down() {
  size_t at = 0;
  for (;;) {
    size_t child = 2 * at + 1;
    if (child >= heap_.size()) return;
    if (child + 1 < heap_.size() && before(heap_[child + 1], heap_[child])) child++;
    if (!before(heap_[child], heap_[at])) return;
    std::swap(heap_[at], heap_[child]);
    at = child;
  }
}

bool EventMerger::next(MergedEvent* out) {
  if (pending_) {
    if (!advance(&streams_[heap_[0]])) {
      heap_[0] = heap_.back();
      heap_.pop_back();
    }
    sift_down();
  }
  pending_ = !heap_.empty();
  if (!pending_) return false;
  Stream& stream = streams_[heap_[0]];
  *out = {stream.ns, source_->cpu_number(stream.index), stream.lost, stream.event.record};
  stream.lost = 0;
  return true;
}

}  // namespace patchbay
