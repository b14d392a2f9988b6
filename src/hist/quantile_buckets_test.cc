// SPDX-License-Identifier: MIT
// Every value is in the range that its counter stands for; ranges follow each other without a gap.
#include "hist/quantile_buckets.h"

#include <gtest/gtest.h>

namespace patchbay {
namespace {

TEST(QuantileBuckets, RangesFollowEachOther) {
  uint64_t next = 0;
  for (uint32_t bucket = 0; bucket < kQuantileBuckets; bucket++) {
    const QuantileRange range = quantile_range(bucket);
    ASSERT_EQ(range.low, next) << bucket;
    ASSERT_GE(range.high, range.low) << bucket;
    ASSERT_EQ(quantile_bucket(range.low), bucket);
    ASSERT_EQ(quantile_bucket(range.high), bucket);
    next = range.high + 1;
  }
  EXPECT_EQ(next, 0u) << "the last one ends with the largest value";
}

TEST(QuantileBuckets, MiddleIsNear) {
  for (uint64_t value : {uint64_t{0}, uint64_t{63}, uint64_t{64}, uint64_t{65}, uint64_t{127},
                         uint64_t{1000}, uint64_t{1023}, uint64_t{123456789}, ~uint64_t{0}}) {
    const uint64_t middle = quantile_range(quantile_bucket(value)).middle();
    const uint64_t away = middle > value ? middle - value : value - middle;
    EXPECT_LE(away, value / 64) << value;
  }
}

}  // namespace
}  // namespace patchbay
