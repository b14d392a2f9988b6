// SPDX-License-Identifier: MIT
#include "export/parquet/parquet_encode.h"

#include <algorithm>
#include <bit>

#include "export/parquet/thrift_compact.h"

namespace patchbay {
namespace {

constexpr size_t kBlock = 128, kMiniblocks = 4, kMiniblock = kBlock / kMiniblocks;
constexpr size_t kGroup = 8;  // values of a bit-packed group of encoding RLE

template <typename T>
void pack(std::string* out, std::span<const T> values, int width) {
  using Wide = unsigned __int128;
  Wide bits = 0;
  int held = 0;
  const uint64_t mask = width == 64 ? ~uint64_t{0} : (uint64_t{1} << width) - 1;
  for (const T value : values) {
    bits |= Wide(uint64_t(value) & mask) << held;
    for (held += width; held >= 8; held -= 8, bits >>= 8) *out += char(uint8_t(bits));
  }
  if (held > 0) *out += char(uint8_t(bits));
}

void put_groups(std::string* out, std::span<const uint32_t> values, int width) {
  if (values.empty()) return;
  const size_t groups = (values.size() + kGroup - 1) / kGroup;
  put_varint(out, groups << 1 | 1);
  const size_t begin = out->size();
  pack_bits(out, values, width);
  out->resize(begin + groups * size_t(width));  // the last group is whole
}

}  // namespace

void pack_bits(std::string* out, std::span<const uint32_t> values, int width) {
  uint64_t bits = 0;  // up to 31 held bits and 32 new ones
  int held = 0;
  const uint64_t mask = (uint64_t{1} << width) - 1;
  const size_t begin = out->size();
  out->resize(begin + (values.size() * size_t(width) + 7) / 8 + 4);
  char* at = out->data() + begin;
  for (const uint32_t value : values) {
    bits |= (value & mask) << held;
    held += width;
    if (held < 32) continue;
    for (int i = 0; i < 4; i++) *at++ = char(bits >> (8 * i));
    bits >>= 32;
    held -= 32;
  }
  for (; held > 0; held -= 8, bits >>= 8) *at++ = char(bits);
  out->resize(size_t(at - out->data()));
}

void pack_bits(std::string* out, std::span<const uint64_t> values, int width) {
  pack(out, values, width);
}

void put_rle_run(std::string* out, uint64_t count, uint32_t value, int width) {
  put_varint(out, count << 1);
  for (int bits = 0; bits < width; bits += 8) *out += char(value >> bits);
}

void put_rle(std::string* out, std::span<const uint32_t> values, int width) {
  size_t packed = 0;  // where the values begin that wait to be packed
  for (size_t at = 0; at < values.size();) {
    size_t end = at + 1;
    while (end < values.size() && values[end] == values[at]) end++;
    if (end - at < kGroup) {
      at = std::min(at + kGroup, values.size());
      continue;
    }
    put_groups(out, values.subspan(packed, at - packed), width);
    put_rle_run(out, end - at, values[at], width);
    packed = at = end;
  }
  put_groups(out, values.subspan(packed), width);
}

void put_delta(std::string* out, std::span<const int64_t> values) {
  put_varint(out, kBlock);
  put_varint(out, kMiniblocks);
  put_varint(out, values.size());
  put_varint(out, zigzag(values.empty() ? 0 : values[0]));
  uint64_t deltas[kBlock];
  for (size_t first = 1; first < values.size(); first += kBlock) {
    const size_t count = std::min(kBlock, values.size() - first);
    int64_t least = INT64_MAX;
    for (size_t i = 0; i < count; i++) {
      deltas[i] = uint64_t(values[first + i]) - uint64_t(values[first + i - 1]);
      least = std::min(least, int64_t(deltas[i]));
    }
    for (size_t i = 0; i < count; i++) deltas[i] -= uint64_t(least);
    std::fill(deltas + count, deltas + kBlock, 0);
    put_varint(out, zigzag(least));
    int widths[kMiniblocks];
    for (size_t m = 0; m < kMiniblocks; m++) {
      uint64_t all = 0;
      for (size_t i = 0; i < kMiniblock; i++) all |= deltas[m * kMiniblock + i];
      widths[m] = bit_width(all);
      *out += char(widths[m]);
    }
    for (size_t m = 0; m * kMiniblock < count; m++)
      pack_bits(out, std::span<const uint64_t>(deltas + m * kMiniblock, kMiniblock), widths[m]);
  }
}

}  // namespace patchbay
