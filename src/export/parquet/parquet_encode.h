// SPDX-License-Identifier: MIT
// The encodings of Parquet's pages that need more than a copy of the values.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace patchbay {

// Bits that the largest of the values 0 … `max` needs.
constexpr int bit_width(uint64_t max) {
  int bits = 0;
  for (; max; max >>= 1) bits++;
  return bits;
}

// Appends the lowest `width` bits of each value, the first value in the lowest bits of the first
// byte. The last byte is filled with zeros.
void pack_bits(std::string* out, std::span<const uint32_t> values, int width);
void pack_bits(std::string* out, std::span<const uint64_t> values, int width);

// Encoding RLE: runs of at least eight equal values as (length, value), everything else bit-packed
// in groups of eight. It holds levels and indices into a dictionary. `width` 0: all values are 0.
void put_rle(std::string* out, std::span<const uint32_t> values, int width);
void put_rle_run(std::string* out, uint64_t count, uint32_t value, int width);

// Encoding DELTA_BINARY_PACKED of INT64: what times become small by. Differences are modulo 2^64.
void put_delta(std::string* out, std::span<const int64_t> values);

}  // namespace patchbay
