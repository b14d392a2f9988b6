// SPDX-License-Identifier: MIT
//
// Numbers and texts of a hit, as both ways through a histogram read them (hist_hot.cc,
// hist_quick_hot.cc).
#pragma once

#include "base/raw_syscall.h"
#include "hist/hist_program.h"

namespace patchbay {

template <typename T>
struct __attribute__((packed, may_alias)) Unaligned {
  T value;
};
template <typename T>
inline T get(const uint8_t* at) {
  return reinterpret_cast<const Unaligned<T>*>(at)->value;
}

__attribute__((noinline, unused)) static uint64_t hist_load_small(const uint8_t* at, HistOp op) {
  if (op == HistOp::kU8) return *at;
  if (op == HistOp::kU16) return get<uint16_t>(at);
  if (op == HistOp::kS8) return uint64_t(int64_t(int8_t(*at)));
  return uint64_t(int64_t(get<int16_t>(at)));
}

// What stands at this place of the record. Few enough comparisons that no table is made of them.
inline uint64_t hist_load(const uint8_t* at, HistOp op) {
  if (op == HistOp::k64) return get<uint64_t>(at);
  if (op == HistOp::kU32) return get<uint32_t>(at);
  if (op == HistOp::kS32) return uint64_t(int64_t(get<int32_t>(at)));
  return hist_load_small(at, op);
}

// Of the raw clock, and as the histogram's clock shows it.
struct HistInstant {
  uint64_t ticks, time;
};

inline uint64_t hist_scale(uint64_t ticks, const HistClock* clock) {
  const auto product = static_cast<unsigned __int128>(ticks) * clock->multiply;
  if (__builtin_expect(clock->shift == 64, 1)) return uint64_t(product >> 64);
  return uint64_t(product >> clock->shift);
}

inline HistInstant hist_read_time(const HistClock* const* current) {
  const HistClock* clock = __atomic_load_n(current, __ATOMIC_ACQUIRE);  // pairs with keep…()
  const uint64_t ticks =
      __builtin_expect(clock->is_monotonic, 0) ? raw_monotonic_ns() : __builtin_ia32_rdtsc();
  // The clock may have been set on while this thread had read it already.
  if (__builtin_expect(int64_t(ticks - clock->ticks) < 0, 0))
    return {ticks, clock->time - hist_scale(clock->ticks - ticks, clock)};
  return {ticks, clock->time + hist_scale(ticks - clock->ticks, clock)};
}

// Nanoseconds as `.usecs` shows them.
inline uint64_t hist_usecs(uint64_t time) { return (time + 500) / 1000; }

// --- texts

struct HistText {
  const uint8_t* at;
  uint32_t size;            // at most; a NUL may end it earlier
  bool is_counted = false;  // only the last byte may
};

// Which bytes are 0: the lowest mark is right, those above it need not be.
inline uint64_t hist_zero_marks(uint64_t word) {
  constexpr uint64_t kOnes = 0x0101010101010101, kTops = 0x8080808080808080;
  return (word - kOnes) & ~word & kTops;
}
// Its bytes in front of the first 0; without marks, all of it.
inline uint64_t hist_before_zero(uint64_t word, uint64_t marks) {
  return word & (((marks & -marks) >> 7) - 1);
}

// put(i, word) for each word of a text, from `first` on; the last one holds the NUL and is filled
// with 0: at most limit / 8 + 1. Returns the i behind them. The eight bytes in front of `text` can
// be read: a record's header, at least.
template <typename Put>
inline uint32_t hist_each_word(const HistText& text, uint32_t limit, uint64_t first, Put put) {
  const uint32_t size = text.size < limit ? text.size : limit;
  const uint64_t end = first + size / 8;
  uint64_t i = first;
  for (; i < end; i++) {
    const uint64_t word = get<uint64_t>(text.at + (i - first) * 8);
    const uint64_t marks = hist_zero_marks(word);
    if (__builtin_expect(marks != 0, 0)) {
      put(i, hist_before_zero(word, marks));
      return uint32_t(i) + 1;
    }
    put(i, word);
  }
  const uint32_t left = size & 7;
  const uint64_t last = left ? get<uint64_t>(text.at + size - 8) >> (64 - 8 * left) : 0;
  put(i, hist_before_zero(last, hist_zero_marks(last)));
  return uint32_t(i) + 1;
}

// All words of the room, the last byte of which tells texts apart that differ only in NULs.
template <typename Put>
__attribute__((noinline)) uint32_t hist_each_counted(const HistText& text, uint32_t limit,
                                                     uint64_t first, Put put) {
  uint32_t size = text.size;
  if (size && !text.at[size - 1]) size--;
  const bool is_cut = size > limit;
  if (is_cut) size = limit;
  uint32_t nuls = 0;
  while (nuls < size && nuls < kHistTextCut - 1u && !text.at[size - 1 - nuls]) nuls++;
  const uint64_t mark = is_cut ? kHistTextCut : nuls;
  const uint64_t words = (limit + 1) / 8;
  for (uint64_t i = 0; i < words; i++) {
    uint64_t word = 0;
    for (uint32_t n = 0; n < 8 && i * 8 + n < size; n++)
      word |= uint64_t{text.at[i * 8 + n]} << 8 * n;
    put(first + i, i + 1 == words ? word | mark << 56 : word);
  }
  return uint32_t(first + words);
}

// A text in a key: what is cut is marked.
template <typename Put>
inline uint32_t hist_each_key_word(const HistText& text, uint32_t limit, uint64_t first, Put put) {
  constexpr uint32_t kRoom = kHistTextBytes - 1;
  if (__builtin_expect(text.is_counted, 0)) return hist_each_counted(text, limit, first, put);
  if (__builtin_expect(text.size <= kRoom || limit != kRoom, 1))
    return hist_each_word(text, limit, first, put);
  const uint64_t mark = text.at[kRoom] ? uint64_t{kHistTextCut} << 56 : 0;
  return hist_each_word(text, limit, first, [&](uint64_t i, uint64_t word) {
    const bool is_last = i - first == kHistTextBytes / 8 - 1;
    const bool is_full = is_last && word >> 48;  // no NUL before
    put(i, is_full ? word | mark : word);
  });
}

// Their number.
inline uint32_t hist_copy_key_text(uint64_t* out, const HistText& text, uint32_t limit) {
  return hist_each_key_word(text, limit, 0, [&](uint64_t i, uint64_t word) { out[i] = word; });
}
inline uint32_t hist_copy_text(uint64_t* out, const HistText& text, uint32_t limit) {
  return hist_each_word(text, limit, 0, [&](uint64_t i, uint64_t word) { out[i] = word; });
}

// What lies in the record, as far as it does; nothing in its header.
inline HistText hist_text_within(const uint8_t* record, uint32_t record_size, uint32_t at,
                                 uint32_t size) {
  if (__builtin_expect(at < 8 || at > record_size, 0)) return {record + 8, 0};
  const uint32_t room = record_size - at;
  return {record + at, size < room ? size : room};
}

inline HistText hist_text_of(const HistValue& value, const uint8_t* record, uint32_t size) {
  const uint32_t offset = value.offset;
  const bool is_data_loc = value.source == HistSource::kDataLoc;
  if (__builtin_expect(is_data_loc || value.source == HistSource::kFieldStack, 1)) {
    const uint32_t location = get<uint32_t>(record + offset);
    return hist_text_within(record, size, location & 0xffff, location >> 16);
  }
  if (value.source == HistSource::kCounted) {
    const uint32_t location = get<uint32_t>(record + offset);
    HistText text = hist_text_within(record, size, location & 0xffff, location >> 16);
    text.is_counted = true;
    return text;
  }
  if (value.source == HistSource::kChars)
    return hist_text_within(record, size, offset, value.field_size);
  if (value.source == HistSource::kRestText) return hist_text_within(record, size, offset, size);
  const uint32_t location = get<uint32_t>(record + offset);
  return hist_text_within(record, size, offset + 4 + (location & 0xffff), location >> 16);
}

}  // namespace patchbay
