// SPDX-License-Identifier: MIT
#include "output/trace_clock_convert.h"

#include <time.h>

#include <algorithm>

namespace patchbay {

namespace {

constexpr uint64_t kUptimeUnit = 10000000;  // 1 / USER_HZ
constexpr uint64_t kSameOffset = 1000;
constexpr int kTries = 8, kMostTries = 100;  // more where the thread is interrupted each time

uint64_t now(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return uint64_t(time.tv_sec) * 1000000000 + uint64_t(time.tv_nsec);
}

// How far a clock is ahead of CLOCK_MONOTONIC: the best of some tries, each between two readings.
struct Distance {
  uint64_t ns = 0;
  uint64_t width = ~uint64_t{0};  // it is less than this away from the truth
};
Distance distance(clockid_t clock) {
  Distance best;
  for (int i = 0; i < kTries || (i < kMostTries && best.width > kSameOffset); i++) {
    uint64_t before = now(CLOCK_MONOTONIC), there = now(clock), after = now(CLOCK_MONOTONIC);
    if (after - before >= best.width) continue;
    best = {there - (before + (after - before) / 2), after - before};
  }
  return best;
}

}  // namespace

uint64_t TraceClockConvert::offset_of(TraceClock clock, uint64_t before) {
  Distance ahead{0, 0};
  switch (clock) {
    case TraceClock::kMonoRaw:
      ahead = distance(CLOCK_MONOTONIC_RAW);
      break;
    case TraceClock::kBoot:
      ahead = distance(CLOCK_BOOTTIME);
      break;
    case TraceClock::kTai:
      ahead = distance(CLOCK_TAI);
      break;
    default:
      break;
  }
  const uint64_t change = std::min(ahead.ns - before, before - ahead.ns);
  return change < kSameOffset + ahead.width ? before : ahead.ns;  // 0: boot before any suspend
}

TraceClockConvert::TraceClockConvert(TraceClock clock, uint32_t buffer_clock,
                                     const std::vector<abi::ClockPair>& pairs)
    : clock_(clock),
      curve_(std::make_shared<ClockCurve>(fit_clock(buffer_clock, pairs))),
      offset_(offset_of(clock)) {}

uint64_t TraceClockConvert::convert(uint64_t ticks) const {
  if (is_identity()) return ticks;
  uint64_t ns = to_ns(ticks) + offset_;
  return clock_ == TraceClock::kUptime ? ns / kUptimeUnit : ns;
}

uint64_t raw_clock_now(uint32_t buffer_clock) {
  return buffer_clock == abi::kClockTsc ? __builtin_ia32_rdtsc() : now(CLOCK_MONOTONIC);
}

}  // namespace patchbay
