// SPDX-License-Identifier: MIT
#include "trace_dat/record_pages.h"

#include <algorithm>
#include <cstring>

#include "abi/buffer_abi.h"

namespace patchbay {
namespace {

constexpr uint64_t kMaxDelta = (uint64_t{1} << abi::kDeltaBits) - 1;
constexpr uint32_t kMaxShort = 4 * abi::kTypeDataMax;  // what the header word can say

}  // namespace

void RecordPages::begin(uint64_t time) {
  page_ = {};
  page_.bytes.resize(page_size_);
  page_.lost_before = lost_;
  std::memcpy(page_.bytes.data(), &time, sizeof time);
  time_ = time;
  lost_ = 0;
}

void RecordPages::put(const void* bytes, size_t size) {
  std::memcpy(page_.bytes.data() + abi::kPageHeaderSize + page_.used, bytes, size);
  page_.used += uint32_t(size);
}

bool RecordPages::add(uint64_t time, std::span<const uint8_t> record) {
  const uint32_t size = uint32_t((record.size() + 3) / 4 * 4);
  const uint32_t head = size > kMaxShort || size == 0 ? 8 : 4;
  const uint32_t room = page_size_ - uint32_t(abi::kPageHeaderSize);
  if (head + size > room) return false;
  if (!page_.bytes.empty()) {
    const uint32_t extend = time > time_ && time - time_ > kMaxDelta ? 8 : 0;
    const uint32_t count = page_.lost_before ? 8 : 0;  // of what was lost, behind the events
    if (lost_ || page_.used + extend + head + size + count > room) flush();
  }
  if (page_.bytes.empty()) begin(time);
  uint64_t delta = time > time_ ? time - time_ : 0;
  if (delta > kMaxDelta) {
    const uint32_t words[] = {abi::kTypeTimeExtend | uint32_t(delta & kMaxDelta) << 5,
                              uint32_t(delta >> abi::kDeltaBits)};
    put(words, sizeof words);
    delta = 0;
  }
  const uint32_t type = head == 4 ? size / 4 : 0;
  const uint32_t words[] = {type | uint32_t(delta) << 5, size + 4};
  put(words, head);
  last_ = abi::kPageHeaderSize + page_.used;
  put(record.data(), record.size());
  page_.used += size - uint32_t(record.size());
  page_.entries++;
  time_ = std::max(time, time_);
  return true;
}

void RecordPages::lose(uint64_t events) {
  lost_ = lost_ == kLostUnknown || events == kLostUnknown ? kLostUnknown : lost_ + events;
}

void RecordPages::flush() {
  if (page_.bytes.empty()) return;
  store_commit(page_.bytes, page_.used, page_.lost_before);
  sink_(page_);
  page_ = {};
}

}  // namespace patchbay
