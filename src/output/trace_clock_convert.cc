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

constexpr int64_t kSameOffset = 1000;

}  // namespace

uint64_t TraceClockConvert::offset_of(TraceClock clock, uint64_t before) {
  uint64_t ahead = 0;
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
  const auto change = int64_t(ahead - before);
  return before != 0 && change > -kSameOffset && change < kSameOffset ? before : ahead;
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
