// SPDX-License-Identifier: MIT
// A line that is laid anew goes on where the old one was, and stays beside the clock that it is of.
#include "hist/hist_clock.h"

#include <gtest/gtest.h>
#include <time.h>
#include <unistd.h>

#include "abi/buffer_abi.h"

namespace patchbay {
namespace {

uint64_t convert(const HistClock* clock, uint64_t ticks) {
  const auto product = static_cast<unsigned __int128>(ticks - clock->ticks) * clock->multiply;
  return clock->time + uint64_t(product >> clock->shift);
}

uint64_t monotonic() {
  timespec now = {};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return uint64_t(now.tv_sec) * 1000000000 + uint64_t(now.tv_nsec);
}

TEST(HistClock, GoesOnWhereItWas) {
  keep_hist_clocks();
  const HistClock* const* word = hist_clock(TraceClock::kMono, abi::kClockTsc);
  ASSERT_EQ(word, hist_clock(TraceClock::kMono, abi::kClockTsc)) << "one word for all";
  for (int round = 0; round < 3; round++) {
    const HistClock* before = *word;
    while (*word == before) {
      ::usleep(5000);
      keep_hist_clocks();
    }
    const HistClock* now = *word;
    EXPECT_EQ(now->time, convert(before, now->ticks));
    EXPECT_GT(now->multiply, uint64_t{1} << 61);
  }
}

// Whatever comes between two readings, the clock's lies between them; by as much as lines may be
// off that were laid over some ten milliseconds.
TEST(HistClock, IsBesideItsClock) {
  const HistClock* clock = *hist_clock(TraceClock::kMono, abi::kClockTsc);
  constexpr uint64_t kOff = 1000000;
  const uint64_t before = monotonic();
  const uint64_t here = convert(clock, __builtin_ia32_rdtsc());
  const uint64_t behind = monotonic();
  EXPECT_GE(here + kOff, before);
  EXPECT_LE(here, behind + kOff);
}

TEST(HistClock, UnitsOfOtherClocks) {
  const HistClock* ticks = *hist_clock(TraceClock::kTsc, abi::kClockTsc);
  EXPECT_EQ(convert(ticks, 12345), 12345u);
  const HistClock* raw = *hist_clock(TraceClock::kMono, abi::kClockMonotonic);
  EXPECT_TRUE(raw->is_monotonic);
  EXPECT_EQ(convert(raw, 987654321), 987654321u);
  const HistClock* uptime = *hist_clock(TraceClock::kUptime, abi::kClockTsc);
  const uint64_t now = convert(uptime, __builtin_ia32_rdtsc()), expected = monotonic() / 10000000;
  EXPECT_LE(now, expected + 1);
  EXPECT_GE(now + 1, expected);
}

}  // namespace
}  // namespace patchbay
