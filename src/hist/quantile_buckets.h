// SPDX-License-Identifier: MIT
//
// The counters of a value with .quantiles: how often it was in each of 1920 ranges, which are exact
// up to 63 and then 32 to a power of two, so no range is wider than 1/32 of where it begins. The
// middle of one is at most 1/64 (1.6 %) away from any value in it.
//
//   0 1 2 … 63 | 64-65 66-67 … 126-127 | 128-131 … 252-255 | 256-263 …
//
// An entry of a table has kQuantileBuckets counters for each such value, in the order of the
// values; twice as many where the value has a sign. The second half counts those below 0, by how
// far they are below: that of -5 is the range of 5.
#pragma once

#include <bit>
#include <cstdint>

namespace patchbay {

inline constexpr uint32_t kQuantileSteps = 32;  // ranges of a power of two
inline constexpr uint32_t kQuantileExact = 2 * kQuantileSteps;
inline constexpr uint32_t kQuantileBuckets = kQuantileExact + (64 - 6) * kQuantileSteps;

// Which range a value is in: < kQuantileBuckets.
constexpr uint32_t quantile_bucket(uint64_t value) {
  if (value < kQuantileExact) return uint32_t(value);
  const uint32_t power = 63 - uint32_t(std::countl_zero(value));  // >= 6
  const uint32_t step = uint32_t(value >> (power - 5)) & (kQuantileSteps - 1);
  return kQuantileExact + (power - 6) * kQuantileSteps + step;
}

// How many counters a value has.
constexpr uint32_t quantile_counters(bool is_signed) {
  return is_signed ? 2 * kQuantileBuckets : kQuantileBuckets;
}
// Which counter of a value with a sign: < 2 * kQuantileBuckets.
constexpr uint32_t signed_quantile_bucket(uint64_t value) {
  if (int64_t(value) >= 0) return quantile_bucket(value);
  return kQuantileBuckets + quantile_bucket(0 - value);
}

struct QuantileRange {
  uint64_t low = 0, high = 0;  // both in it
  constexpr uint64_t middle() const { return low + (high - low) / 2; }
};

constexpr QuantileRange quantile_range(uint32_t bucket) {
  if (bucket < kQuantileExact) return {bucket, bucket};
  const uint32_t power = (bucket - kQuantileExact) / kQuantileSteps + 6;
  const uint64_t step = (bucket - kQuantileExact) % kQuantileSteps + kQuantileSteps;
  const uint64_t low = step << (power - 5);
  return {low, low + ((uint64_t{1} << (power - 5)) - 1)};
}

}  // namespace patchbay
