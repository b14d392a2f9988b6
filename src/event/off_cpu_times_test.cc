// SPDX-License-Identifier: MIT
// From switches to the time that a thread was off the CPU, and where that is not sure.
#include "event/off_cpu_times.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <string>

namespace patchbay {
namespace {

// "10 7>0 S": at 10 thread 7 goes in the state S (1; D 2, R 0, X: it exits). Then '-' gaps
// "-20 30" were lost.
OffCpuTimes times_of(std::string_view text) {
  OffCpuTimes times;
  while (!text.empty()) {
    const std::string line(text.substr(0, text.find(';')));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    unsigned long long ns = 0, until = 0;
    int prev = 0, next = 0;
    char state = 'R';
    if (std::sscanf(line.c_str(), " -%llu %llu", &ns, &until) == 2) {
      times.lose(ns, until);
    } else if (std::sscanf(line.c_str(), " %llu %d>%d %c", &ns, &prev, &next, &state) >= 3) {
      times.take(ns, {prev, next, state == 'S' ? 1u : state == 'D' ? 2u : 0u, state == 'X'});
    }
  }
  times.finish();
  return times;
}

TEST(OffCpuTimes, Within) {
  const struct {
    const char *what, *switches;
    uint64_t from, until, off_ns;
    bool is_sure;
  } table[] = {
      {"never switched", "", 10, 90, 0, true},
      {"another thread's", "10 8>0 S;20 0>8", 5, 90, 0, true},
      {"one span", "20 7>0 S;50 0>7", 10, 90, 30, true},
      {"two, with another CPU's between", "20 7>0 S;25 9>8 S;50 0>7;60 7>9 R;65 9>7", 10, 90, 35,
       true},
      {"before and behind", "20 7>0 S;50 0>7;60 7>0 S;70 0>7", 50, 60, 0, true},
      {"only the second", "20 7>0 S;50 0>7;60 7>0 S;70 0>7", 55, 90, 10, true},
      {"at its very borders", "20 7>0 S;50 0>7", 20, 50, 30, true},
      {"a new thread comes", "20 0>7;30 7>0 S;40 0>7", 25, 90, 10, true},
      {"it came, and was thought to be there", "20 0>7", 10, 90, 0, false},
      {"it comes twice: a switch is missing", "20 7>0 S;30 0>7;60 0>7", 35, 90, 0, false},
      {"that does not touch this", "20 7>0 S;30 0>7;60 0>7", 60, 90, 0, true},
      {"it goes twice", "20 7>0 S;30 7>0 S;60 0>7", 10, 90, 40, false},
      {"it goes twice, earlier", "20 7>0 S;30 7>0 S;60 0>7;70 7>0 S;80 0>7", 60, 90, 10, true},
      {"the end is within a span", "20 7>0 S;50 0>7", 10, 40, 20, false},
      {"so is the begin", "20 7>0 S;50 0>7", 40, 90, 10, false},
      {"it does not come back", "20 7>0 S", 10, 90, 70, false},
      {"events of a CPU were lost within", "20 7>0 S;50 0>7;-60 70", 10, 90, 30, false},
      {"around it", "20 7>0 S;50 0>7;-0 1000", 10, 90, 30, false},
      {"at its begin", "20 7>0 S;50 0>7;-5 11", 10, 90, 30, false},
      {"before and behind it", "20 7>0 S;50 0>7;-5 10;-90 95", 10, 90, 30, true},
      {"two that lie over each other", "-30 40;-5 50;-45 60", 55, 90, 0, false},
      {"the thread has ended; another one has its number", "20 7>0 X;50 0>7;60 7>0 S;70 0>7", 50,
       90, 10, true},
  };
  for (const auto& row : table) {
    const OffCpuShare share = times_of(row.switches).within(7, row.from, row.until);
    EXPECT_EQ(share.off_ns, row.off_ns) << row.what;
    EXPECT_EQ(share.is_sure, row.is_sure) << row.what;
  }
}

TEST(OffCpuTimes, Spans) {
  const OffCpuTimes times = times_of("20 7>0 S;30 8>7 D;40 7>0 R;50 0>8;60 8>0 X");
  EXPECT_EQ(times.threads(), (std::vector<int32_t>{7, 8}));
  ASSERT_EQ(times.spans(7).size(), 2u);
  EXPECT_EQ(times.spans(7)[0].from_ns, 20u);
  EXPECT_EQ(times.spans(7)[0].until_ns, 30u);
  EXPECT_EQ(times.spans(7)[0].state, 1u);
  EXPECT_EQ(times.spans(7)[1].until_ns, ~uint64_t{0});
  EXPECT_EQ(times.spans(7)[1].before_ns, 10u);
  ASSERT_EQ(times.spans(8).size(), 1u) << "not the end";
  EXPECT_TRUE(times.spans(0).empty()) << "the idle thread";
  EXPECT_FALSE(times.has_losses());
}

TEST(OffCpuTimes, WhatIsMissingAtTheEnd) {
  OffCpuTimes times;
  times.finish(50);
  EXPECT_TRUE(times.within(7, 10, 50).is_sure);
  EXPECT_FALSE(times.within(7, 10, 51).is_sure);
}

}  // namespace
}  // namespace patchbay
