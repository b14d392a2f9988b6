// SPDX-License-Identifier: MIT
// From TSC ticks to CLOCK_MONOTONIC. The TSC is invariant where it is recorded, so one straight
// line is enough: through the first and the last pair, whose own error (some 50 ns each) is then
// spread over the whole recording. A recording shorter than a second borrows a pair of now, when
// the machine has not been started again since.
#include <time.h>

#include <algorithm>

#include "ring_buffer/buffer_file.h"

namespace patchbay {

namespace {

using abi::ClockPair;

constexpr uint64_t kSecond = 1000000000;
constexpr double kMinRate = 1e-3, kMaxRate = 1e3;  // believable nanoseconds per tick

uint64_t clock_now(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return uint64_t(now.tv_sec) * kSecond + uint64_t(now.tv_nsec);
}

ClockPair pair_of_now() {
  ClockPair best{};
  uint64_t best_width = ~uint64_t{0};
  for (int i = 0; i < 8; i++) {
    uint64_t before = __builtin_ia32_rdtsc();
    uint64_t mono = clock_now(CLOCK_MONOTONIC);
    uint64_t width = __builtin_ia32_rdtsc() - before;
    if (width >= best_width) continue;
    best_width = width;
    best = {before + width / 2, mono, clock_now(CLOCK_REALTIME)};
  }
  return best;
}

// The same boot of the same machine: both clocks went on, and the wall clock at boot agrees.
bool same_boot(const ClockPair& then, const ClockPair& now) {
  if (now.tsc <= then.tsc || now.mono_ns <= then.mono_ns) return false;
  int64_t drift = int64_t((now.real_ns - now.mono_ns) - (then.real_ns - then.mono_ns));
  return drift > -2 * int64_t(kSecond) && drift < 2 * int64_t(kSecond);
}

double rate_between(const ClockPair& a, const ClockPair& b) {
  if (b.tsc <= a.tsc || b.mono_ns <= a.mono_ns) return 0;
  double rate = double(b.mono_ns - a.mono_ns) / double(b.tsc - a.tsc);
  return rate >= kMinRate && rate <= kMaxRate ? rate : 0;
}

uint64_t scale(uint64_t ticks, uint32_t mult, uint32_t shift) {
  return uint64_t((static_cast<unsigned __int128>(ticks) * mult) >> shift);
}

}  // namespace

uint64_t ClockLine::to_ns(uint64_t tsc) const { return scale(tsc - tsc0, mult, shift & 63) + ns0; }

uint64_t ClockLine::to_tsc(uint64_t ns) const {
  const uint64_t since = ns - ns0;
  if (mult == 0 || int64_t(since) < 0) return tsc0;
  const auto ticks = (static_cast<unsigned __int128>(since) << (shift & 63)) + mult - 1;
  return tsc0 + uint64_t(ticks / mult);
}

ClockLine fit_clock(uint32_t clock, const std::vector<ClockPair>& pairs) {
  ClockLine line;
  if (clock != abi::kClockTsc || pairs.empty()) return line;
  const ClockPair& first = pairs.front();
  ClockPair last = pairs.back();
  if (last.mono_ns - first.mono_ns < kSecond || last.mono_ns < first.mono_ns) {
    ClockPair now = pair_of_now();
    if (same_boot(first, now) && rate_between(first, now) > 0) last = now;
  }
  double rate = rate_between(first, last);
  if (rate == 0) rate = 1;
  line.shift = 31;  // libtracecmd shifts a 32-bit half left by 32 - shift
  while (line.shift > 0 && times_power_of_two(rate, line.shift) >= 4294967295.0) line.shift--;
  line.mult = uint32_t(times_power_of_two(rate, line.shift) + 0.5);
  // mult is rounded to one part in 2^31 or so: the line is exact at one point, best in the middle.
  const ClockPair& middle = pairs[pairs.size() / 2];
  const ClockPair& pin = rate_between(first, middle) > 0 ? middle : first;
  line.ns0 = pin.mono_ns - scale(pin.tsc, line.mult, line.shift);
  return line;
}

}  // namespace patchbay
