// SPDX-License-Identifier: MIT
#include "output/merge.h"

#include <algorithm>
#include <utility>

namespace patchbay {

struct EventMerger::Stream {
  size_t index = 0;
  PageImage page;
  EventIterator events{{}, 0};
  EventView event{};
  uint64_t ns = 0;
  uint64_t lost = 0;
  uint64_t page_entries = 0;
  struct Behind {  // the event behind the current one, where somebody has looked at it
    EventIterator events{{}, 0};
    EventView event{};
    uint64_t ns = 0;
  };
  Behind behind;
  bool has_page = false;
  bool has_behind = false;
  bool skips = false;  // the event behind the current one was taken
  bool ended = true;   // not in the heap
};

EventMerger::EventMerger(PageSource* source) : source_(source), streams_(source->nr_cpus()) {
  for (uint32_t i = 0; i < streams_.size(); i++) streams_[i].index = i;
  refill();
}

void EventMerger::refill() {
  drop_pending();
  auto after = [this](uint32_t a, uint32_t b) { return before(b, a); };
  for (uint32_t i = 0; i < streams_.size(); i++) {
    if (!streams_[i].ended || !advance(&streams_[i])) continue;
    streams_[i].ended = false;
    heap_.push_back(i);
    std::push_heap(heap_.begin(), heap_.end(), after);
  }
}

EventMerger::~EventMerger() = default;

bool EventMerger::before(uint32_t a, uint32_t b) const {
  return streams_[a].ns != streams_[b].ns ? streams_[a].ns < streams_[b].ns : a < b;
}

bool EventMerger::look_behind(Stream* stream) {
  if (stream->has_behind) return true;
  Stream::Behind& behind = stream->behind;
  behind.events = stream->events;
  stream->has_behind = behind.events.next(&behind.event);
  if (stream->has_behind) behind.ns = source_->to_ns(behind.event.time);
  return stream->has_behind;
}

bool EventMerger::advance(Stream* stream) {
  if (std::exchange(stream->has_behind, false)) {
    stream->events = stream->behind.events;
    stream->event = stream->behind.event;
    stream->ns = stream->behind.ns;
    stream->page_entries++;
    return true;
  }
  for (;;) {
    if (stream->has_page && stream->events.next(&stream->event)) {
      stream->ns = source_->to_ns(stream->event.time);
      stream->page_entries++;
      return true;
    }
    if (stream->has_page && stream->events.malformed()) malformed_pages_++;
    stream->page_entries = 0;
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

// The event that was handed out last gives way to the next one of its CPU.
void EventMerger::drop_pending() {
  if (!pending_) return;
  pending_ = false;
  Stream& first = streams_[heap_[0]];
  if (!advance(&first) || (std::exchange(first.skips, false) && !advance(&first))) {
    first.skips = false;
    streams_[heap_[0]].ended = true;
    heap_[0] = heap_.back();
    heap_.pop_back();
  }
  sift_down();
}

bool EventMerger::peek(uint64_t* ns) {
  drop_pending();
  if (heap_.empty()) return false;
  *ns = streams_[heap_[0]].ns;
  return true;
}

bool EventMerger::peek_behind(MergedEvent* out) {
  if (!pending_) return false;
  Stream& stream = streams_[heap_[0]];
  if (!look_behind(&stream)) return false;
  const auto& [events, event, ns] = stream.behind;
  const uint32_t cpu = source_->cpu_number(stream.index);
  // Two buffers may have events of one CPU. Most streams are further on.
  for (const Stream& other : streams_)
    if (other.ns < ns && !other.ended && &other != &stream &&
        source_->cpu_number(other.index) == cpu)
      return false;
  *out = {ns,
          cpu,
          0,
          event.record,
          uint32_t(stream.index),
          events.position() - abi::kPageHeaderSize,
          stream.page_entries + 1};
  return true;
}

void EventMerger::take_behind() {
  if (pending_) streams_[heap_[0]].skips = true;
}

bool EventMerger::next(MergedEvent* out) {
  drop_pending();
  pending_ = !heap_.empty();
  if (!pending_) return false;
  Stream& stream = streams_[heap_[0]];
  *out = {stream.ns,
          source_->cpu_number(stream.index),
          stream.lost,
          stream.event.record,
          uint32_t(stream.index),
          stream.events.position() - abi::kPageHeaderSize,
          stream.page_entries};
  stream.lost = 0;
  return true;
}

}  // namespace patchbay
