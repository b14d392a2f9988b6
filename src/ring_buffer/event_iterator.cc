// SPDX-License-Identifier: MIT
// Walks the events of one page image (docs/files.md, "Pages and records") and its commit word. The
// bytes may come from anywhere: each length is checked before it is followed.
#include <algorithm>
#include <cstring>

#include "ring_buffer/buffer_file.h"

namespace patchbay {

namespace {

constexpr uint64_t kStampMask = (uint64_t{1} << 59) - 1;  // a time stamp event has the low 59 bits
constexpr uint32_t kCommitMask = (1u << 27) - 1;
constexpr uint64_t kMissedEvents = uint64_t{1} << 31;
constexpr uint64_t kMissedStored = uint64_t{1} << 30;

template <typename T>
T load(const uint8_t* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

}  // namespace

EventIterator::EventIterator(std::span<const uint8_t> page, uint32_t used) : page_(page) {
  position_ = end_ = abi::kPageHeaderSize;
  if (page.size() < abi::kPageHeaderSize) {
    end_ = position_ = 0;
    malformed_ = true;
    return;
  }
  time_ = load<uint64_t>(page.data());
  size_t room = page.size() - abi::kPageHeaderSize;
  malformed_ = used > room;
  end_ += std::min<size_t>(used, room);
}

bool EventIterator::next(EventView* out) {
  while (end_ - position_ >= 4) {
    const uint8_t* at = page_.data() + position_;
    size_t left = end_ - position_;
    uint32_t header = load<uint32_t>(at);
    uint32_t type_len = header & 31;
    uint64_t delta = header >> 5;
    if (type_len >= 1 && type_len <= abi::kTypeDataMax) {
      size_t size = 4 * size_t(type_len);
      if (size + 4 > left) break;
      time_ += delta;
      position_ += 4 + size;
      *out = {time_, {at + 4, size}};
      return true;
    }
    if (type_len == abi::kTypePadding && delta == 0) {  // to the end of the page
      position_ = end_;
      return false;
    }
    if (left < 8) break;
    uint32_t word = load<uint32_t>(at + 4);
    if (type_len == abi::kTypeTimeExtend) {
      time_ += (uint64_t(word) << abi::kDeltaBits) + delta;
      position_ += 8;
    } else if (type_len == abi::kTypeTimeStamp) {
      time_ = (time_ & ~kStampMask) | (((uint64_t(word) << abi::kDeltaBits) + delta) & kStampMask);
      position_ += 8;
    } else {  // a discarded event or a big one: word counts itself
      if (word < 4 || word % 4 != 0 || word > left - 4) break;
      time_ += delta;
      position_ += 4 + size_t(word);
      if (type_len == abi::kTypePadding) continue;
      *out = {time_, {at + 8, size_t(word) - 4}};
      return true;
    }
  }
  if (position_ != end_) malformed_ = true;
  end_ = position_;
  return false;
}

void store_commit(std::span<uint8_t> page, uint32_t used, uint64_t lost) {
  uint64_t commit = used;
  size_t end = abi::kPageHeaderSize + size_t(used);
  if (lost) commit |= kMissedEvents;
  if (lost && lost != kLostUnknown && page.size() - end >= 8) {
    commit |= kMissedStored;
    std::memcpy(page.data() + end, &lost, 8);
  }
  std::memcpy(page.data() + 8, &commit, 8);
}

void read_commit(PageImage* image) {
  image->used = 0;
  image->lost_before = image->entries = 0;
  if (image->bytes.size() < abi::kPageHeaderSize) return;
  uint64_t commit = load<uint64_t>(image->bytes.data() + 8);
  uint64_t used = commit & kCommitMask;
  size_t room = image->bytes.size() - abi::kPageHeaderSize;
  if (commit & kMissedEvents) image->lost_before = kLostUnknown;
  if ((commit & kMissedEvents) && (commit & kMissedStored) && used + 8 <= room)
    image->lost_before = load<uint64_t>(image->bytes.data() + abi::kPageHeaderSize + used);
  EventIterator events(image->bytes, uint32_t(std::min<uint64_t>(used, room)));
  EventView event;
  while (events.next(&event)) image->entries++;
  image->used =
      events.position() > abi::kPageHeaderSize ? events.position() - abi::kPageHeaderSize : 0;
}

}  // namespace patchbay
