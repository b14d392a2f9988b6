// SPDX-License-Identifier: MIT
// Ranges of values: sums of them are those of all hits at once, in order, and have their quantiles.
#include "hist/text/hist_values.h"

#include <gtest/gtest.h>

#include <map>

#include "hist/quantile_buckets.h"

namespace patchbay {
namespace {

HistRanges ranges_of(const std::vector<uint64_t>& values) {
  std::map<int32_t, uint64_t> ranges;
  for (const uint64_t value : values) ranges[int32_t(quantile_bucket(value))]++;
  return {ranges.begin(), ranges.end()};
}

std::string counters_of(uint64_t sum, const HistRanges& ranges, bool is_signed = false) {
  std::string text;
  put_hist_counters(&text, "n", sum, ranges, is_signed);
  return text;
}

std::string quantiles_of(const HistRanges& ranges, bool is_signed = false) {
  std::string text;
  put_hist_quantiles(&text, "n", ranges, is_signed);
  return text;
}

TEST(HistValues, SumsOfRangesAreThoseOfAllHits) {
  std::vector<uint64_t> all;
  HistRanges added;
  for (uint64_t process = 1; process <= 3; process++) {
    std::vector<uint64_t> own;
    for (uint64_t i = 0; i < 500 * process; i++) own.push_back(i * i * process);
    all.insert(all.end(), own.begin(), own.end());
    add_ranges(&added, ranges_of(own));
  }
  EXPECT_EQ(added, ranges_of(all));
  EXPECT_EQ(hits_in(added), all.size());
  EXPECT_EQ(quantiles_of(added), quantiles_of(ranges_of(all)));
}

TEST(HistValues, CountersOfNothing) {
  EXPECT_EQ(counters_of(0, {}), " n.counters: sum=0");
  EXPECT_EQ(quantile_of({}, 0, 500), 0u);
}

// 98 times -11, once -5000000000, once 3.
TEST(HistValues, NumbersWithASign) {
  HistRanges ranges = {{-901, 1}, {-11, 98}, {3, 1}};
  EXPECT_EQ(quantile_bucket(5000000000), 901u);
  const auto sum = uint64_t(-98 * 11 - 5000000000 + 3);
  EXPECT_EQ(counters_of(sum, ranges, true), " n.counters: sum=-5000001075,-901=1,-11=98,3=1");
  EXPECT_EQ(quantiles_of(ranges, true),
            " n.p50:        -11  n.p90:        -11  n.p99:        -11  n.p99.9:          3"
            "  n.max:          3");
  add_ranges(&ranges, {{-11, 1}, {2, 1}});
  EXPECT_EQ(counters_of(sum - 8, ranges, true),
            " n.counters: sum=-5000001083,-901=1,-11=99,2=1,3=1");
}

}  // namespace
}  // namespace patchbay
