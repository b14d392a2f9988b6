// SPDX-License-Identifier: MIT
#include "output/trace_clock_convert.h"

#include <time.h>

namespace patchbay {

namespace {

constexpr uint64_t kUptimeUnit = 10000000;  // 1 / USER_HZ

uint64_t now(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return uint64_t(time.tv_sec) * 1000000000 + uint64_t(time.tv_nsec);
}

// How far `clock` is ahead of CLOCK_MONOTONIC: the best of some tries, each between two readings.
uint64_t distance(clockid_t clock) {
  uint64_t best = 0, best_width = ~uint64_t{0};
  for (int i = 0; i < 8; i++) {
    uint64_t before = now(CLOCK_MONOTONIC), there = now(clock), after = now(CLOCK_MONOTONIC);
    if (after - before >= best_width) continue;
    best_width = after - before;
    best = there - (before + best_width / 2);
  }
  return best;
}

uint64_t offset_of(TraceClock clock) {
  switch (clock) {
    case TraceClock::kMonoRaw:
      return distance(CLOCK_MONOTONIC_RAW);
    case TraceClock::kBoot:
      return distance(CLOCK_BOOTTIME);
    case TraceClock::kTai:
      return distance(CLOCK_TAI);
    default:
      return 0;
  }
}

}  // namespace

TraceClockConvert::TraceClockConvert(TraceClock clock, uint32_t buffer_clock,
                                     const std::vector<abi::ClockPair>& pairs)
    : clock_(clock), line_(fit_clock(buffer_clock, pairs)), offset_(offset_of(clock)) {}

uint64_t TraceClockConvert::convert(uint64_t ticks) const {
  if (is_identity()) return ticks;
  uint64_t ns = line_.to_ns(ticks) + offset_;
  return clock_ == TraceClock::kUptime ? ns / kUptimeUnit : ns;
}

uint64_t raw_clock_now(uint32_t buffer_clock) {
  return buffer_clock == abi::kClockTsc ? __builtin_ia32_rdtsc() : now(CLOCK_MONOTONIC);
}

}  // namespace patchbay
