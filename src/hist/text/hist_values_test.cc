// SPDX-License-Identifier: MIT
// Texts of .counters: what is written is what is read, sums of them are those of all hits at once,
// and a text that is none changes nothing.
#include "hist/text/hist_values.h"

#include <gtest/gtest.h>

#include <vector>

#include "hist/quantile_buckets.h"

namespace patchbay {
namespace {

using Counters = std::vector<uint64_t>;

std::string text_of(uint64_t sum, const Counters& counters) {
  std::string text;
  put_hist_counters(&text, "n", sum, counters);
  return text;
}

std::string quantiles_of(const Counters& counters) {
  std::string text;
  put_hist_quantiles(&text, "n", counters);
  return text;
}

TEST(HistValues, SumsOfCountersAreThoseOfAllHits) {
  Counters all(kQuantileBuckets);
  HistCounters added;
  uint64_t total = 0;
  const std::string label = " n.counters: ";
  for (uint64_t process = 1; process <= 3; process++) {
    Counters own(kQuantileBuckets);
    uint64_t own_total = 0;
    for (uint64_t i = 0; i < 500 * process; i++) {
      const uint64_t value = i * i * process;
      all[quantile_bucket(value)]++;
      own[quantile_bucket(value)]++;
      own_total += value;
    }
    total += own_total;
    const std::string text = text_of(own_total, own);
    ASSERT_EQ(text.compare(0, label.size(), label), 0);
    const auto read = HistCounters::parse(text.substr(label.size()));
    ASSERT_TRUE(read) << text;
    EXPECT_EQ(read->sum, own_total);
    EXPECT_EQ(read->counters(), own);
    added.add(*read);
  }
  EXPECT_EQ(added.sum, total);
  EXPECT_EQ(added.counters(), all);
  EXPECT_EQ(quantiles_of(added.counters()), quantiles_of(all));
}

TEST(HistValues, CountersOfNothing) {
  EXPECT_EQ(text_of(0, Counters(kQuantileBuckets)), " n.counters: sum=0");
  const auto read = HistCounters::parse("sum=0");
  ASSERT_TRUE(read);
  EXPECT_EQ(read->sum, 0u);
  EXPECT_TRUE(read->ranges.empty());
}

// 98 times -11, once -5000000000, once 3.
TEST(HistValues, NumbersWithASign) {
  Counters counters(2 * kQuantileBuckets);
  counters[signed_quantile_bucket(uint64_t(-11))] = 98;
  counters[signed_quantile_bucket(uint64_t(-5000000000))] = 1;
  counters[signed_quantile_bucket(3)] = 1;
  const auto sum = uint64_t(-98 * 11 - 5000000000 + 3);
  const std::string text = text_of(sum, counters);
  EXPECT_EQ(text, " n.counters: sum=-5000001075,-901=1,-11=98,3=1");
  EXPECT_EQ(quantiles_of(counters),
            " n.p50:        -11  n.p90:        -11  n.p99:        -11  n.p99.9:          3"
            "  n.max:          3");
  auto read = HistCounters::parse(text.substr(text.find("sum")));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->sum, sum);
  EXPECT_EQ(read->counters(), counters);
  EXPECT_TRUE(read->has_negative());
  read->add(*HistCounters::parse("sum=-8,-11=1,2=1"));
  EXPECT_EQ(read->sum, sum - 8);
  EXPECT_EQ(text_of(read->sum, read->counters()),
            " n.counters: sum=-5000001083,-901=1,-11=99,2=1,3=1");
  constexpr auto kLowest = uint64_t{1} << 63;
  EXPECT_EQ(signed_quantile_bucket(kLowest), kQuantileBuckets + quantile_bucket(kLowest));
}

TEST(HistValues, TheLastRange) {
  const auto read = HistCounters::parse("sum=18446744073709551615,1919=1");
  ASSERT_TRUE(read);
  EXPECT_EQ(read->sum, ~uint64_t{0});
  EXPECT_EQ(read->counters()[quantile_bucket(read->sum)], 1u);
}

TEST(HistValues, OtherTextsAreRefused) {
  for (const char* text :
       {"", "sum", "sum=", "sum=x", "sum=1,", "sum=1,2", "sum=1,2=", "sum=1,=2", "sum=1,1920=1",
        "sum=1,--1=1", "sum=1,-1920=1", "sum=--1", "sum=1,3=1,-3=1", "sum=1,4294967297=1",
        "sum=1,3=1 ", "sum=1,3=1,4=99999999999999999999", "sum=1,3=1,3=1", "sum=1,4=1,3=1", "1=2"})
    EXPECT_FALSE(HistCounters::parse(text)) << text;
}

}  // namespace
}  // namespace patchbay
