// SPDX-License-Identifier: MIT
// Which share of each range and quantile was off the CPU.
#include "cmd/measure/latency_off_cpu.h"

#include <gtest/gtest.h>

namespace patchbay::cmd {
namespace {

TEST(LatencyOffCpu, RangesAndQuantiles) {
  std::vector<OffCpuCall> calls;
  for (int i = 0; i < 90; i++) calls.push_back({1000, 0});
  for (int i = 0; i < 9; i++) calls.push_back({10000, 5000});
  calls.push_back({2000000, 1900000, false});
  const OffCpuLatency latency = off_cpu_latency(calls);
  EXPECT_EQ(latency.all.hits, 100u);
  EXPECT_EQ(latency.all.sum_ns, 90u * 1000 + 9 * 10000 + 2000000);
  EXPECT_EQ(latency.all.off_ns, 9u * 5000 + 1900000);
  EXPECT_EQ(latency.all.unsure, 1u);
  ASSERT_EQ(latency.ranges.size(), 3u);
  EXPECT_EQ(latency.ranges[0].above_ns, 512u);
  EXPECT_EQ(latency.ranges[0].to_ns, 1024u);
  EXPECT_EQ(latency.ranges[1].hits, 9u);
  EXPECT_EQ(latency.ranges[1].off_ns, 45000u);
  ASSERT_EQ(latency.quantiles.size(), 5u);
  const struct {
    const char* name;
    uint64_t ns, hits, off_ns;
  } table[] = {{"p50", 1000, 50, 0},
               {"p90", 1000, 40, 0},
               {"p99", 10000, 9, 45000},
               {"p99.9", 2000000, 1, 1900000},
               {"max", 2000000, 0, 0}};
  for (size_t i = 0; i < 5; i++) {
    EXPECT_EQ(latency.quantiles[i].name, table[i].name);
    EXPECT_EQ(latency.quantiles[i].to_ns, table[i].ns) << table[i].name;
    EXPECT_EQ(latency.quantiles[i].hits, table[i].hits) << table[i].name;
    EXPECT_EQ(latency.quantiles[i].off_ns, table[i].off_ns) << table[i].name;
  }
  const std::string text = off_cpu_text(latency);
  EXPECT_TRUE(text.starts_with("100 times, 2.18 ms, average 21.8 us,  89.2 %? off the CPU\n"))
      << text;
  EXPECT_NE(text.find("  p99     10.0 us          50.0 % off the CPU, from p90 on\n"), text.npos)
      << text;
  EXPECT_NE(text.find("?: for 1 of them switches are missing\n"), text.npos) << text;
  EXPECT_NE(off_cpu_json("f", "", latency)
                .find("{\"from_ns\": 8193, \"to_ns\": 16384, \"hits\": 9, \"sum_ns\": 90000, "
                      "\"off_cpu_ns\": 45000, \"off_cpu_unsure\": 0}"),
            std::string::npos)
      << off_cpu_json("f", "", latency);
}

TEST(LatencyOffCpu, OneCallAndNone) {
  const OffCpuLatency one = off_cpu_latency({{0, 0}});
  ASSERT_EQ(one.quantiles.size(), 5u);
  EXPECT_EQ(one.quantiles[0].hits, 1u);
  EXPECT_EQ(one.ranges.at(0).to_ns, 1u);
  EXPECT_TRUE(off_cpu_latency({}).quantiles.empty());
  EXPECT_EQ(off_cpu_latency({{10, 20}}).all.off_ns, 10u) << "never more than it took";
}

TEST(LatencyOffCpu, NoRecording) {
  EXPECT_FALSE(recorded_off_cpu_calls("/nonexistent/trace.dat", "f", "").ok());
}

}  // namespace
}  // namespace patchbay::cmd
