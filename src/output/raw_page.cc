// SPDX-License-Identifier: MIT
#include "output/raw_page.h"

#include <algorithm>

#include "abi/buffer_abi.h"
#include "output/graph_times.h"
#include "output/text_put.h"

namespace patchbay {

namespace {

constexpr uint64_t kMaxDelta = (uint64_t{1} << abi::kDeltaBits) - 1;
constexpr uint64_t kStampMask = (uint64_t{1} << 59) - 1;
constexpr uint32_t kCommitMask = (1u << 27) - 1;

template <typename T>
void store(uint8_t* to, T value) {
  std::memcpy(to, &value, sizeof value);
}

struct Walk {
  uint8_t* at;
  size_t left;
  uint64_t raw;    // time of the event before, in ticks …
  uint64_t shown;  // … and as a reader of the new page has it
};

void store_header(uint8_t* at, uint32_t type_len, uint64_t delta) {
  store(at, uint32_t(type_len | (delta & kMaxDelta) << 5));
}

// Time extend and time stamp: 8 bytes without data.
void convert_time_event(Walk* walk, uint32_t type_len, uint64_t value,
                        const TraceClockConvert& clock) {
  bool stamp = type_len == abi::kTypeTimeStamp;
  walk->raw = stamp ? (walk->raw & ~kStampMask) | (value & kStampMask) : walk->raw + value;
  uint64_t target = std::max(clock.convert(walk->raw), walk->shown);
  uint64_t stored = stamp ? target & kStampMask : std::min(target - walk->shown, kStampMask);
  walk->shown = stamp ? target : walk->shown + stored;
  store_header(walk->at, type_len, stored);
  store(walk->at + 4, uint32_t(stored >> abi::kDeltaBits));
}

void convert_delta(Walk* walk, uint32_t type_len, uint64_t delta, const TraceClockConvert& clock) {
  walk->raw += delta;
  uint64_t target = std::max(clock.convert(walk->raw), walk->shown);
  uint64_t stored = std::min(target - walk->shown, kMaxDelta);
  // A discarded event of delta 0 would read as the page's end.
  if (type_len == abi::kTypePadding && stored == 0) stored = 1;
  walk->shown += stored;
  store_header(walk->at, type_len, stored);
}

// Bytes of the event at walk->at, converted; 0: the end, or malformed.
size_t convert_event(Walk* walk, const TraceClockConvert& clock) {
  uint32_t header = load<uint32_t>(walk->at), type_len = header & 31;
  uint64_t delta = header >> 5;
  if (type_len >= 1 && type_len <= abi::kTypeDataMax) {
    size_t size = 4 + 4 * size_t(type_len);
    if (size > walk->left) return 0;
    convert_delta(walk, type_len, delta, clock);
    return size;
  }
  if ((type_len == abi::kTypePadding && delta == 0) || walk->left < 8) return 0;
  uint32_t word = load<uint32_t>(walk->at + 4);
  if (type_len == abi::kTypeTimeExtend || type_len == abi::kTypeTimeStamp) {
    convert_time_event(walk, type_len, (uint64_t(word) << abi::kDeltaBits) + delta, clock);
    return 8;
  }
  if (word < 4 || word % 4 != 0 || word > walk->left - 4) return 0;
  convert_delta(walk, type_len, delta, clock);
  return 4 + size_t(word);
}

}  // namespace

void convert_raw_page(std::span<uint8_t> page, const TraceClockConvert& clock) {
  if (page.size() < abi::kPageHeaderSize) return;
  convert_graph_times_of_page(page, [&](uint64_t ticks) { return clock.to_ns(ticks); });
  if (clock.is_identity()) return;
  size_t used = load<uint32_t>(page.data() + 8) & kCommitMask;
  Walk walk{page.data() + abi::kPageHeaderSize, std::min(used, page.size() - abi::kPageHeaderSize),
            load<uint64_t>(page.data()), 0};
  walk.shown = clock.convert(walk.raw);
  store(page.data(), walk.shown);
  while (walk.left >= 4) {
    size_t size = convert_event(&walk, clock);
    if (size == 0) return;
    walk.at += size;
    walk.left -= size;
  }
}

}  // namespace patchbay
