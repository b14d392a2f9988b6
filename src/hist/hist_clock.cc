// SPDX-License-Identifier: MIT
#include "hist/hist_clock.h"

#include <time.h>

#include <bit>
#include <chrono>
#include <mutex>
#include <thread>

#include "abi/buffer_abi.h"

namespace patchbay {

namespace {

constexpr uint64_t kSecond = 1000000000;
constexpr uint64_t kUptimeUnit = 10000000;                  // 1 / USER_HZ
constexpr auto kLeastSpan = std::chrono::milliseconds(10);  // between the readings of a line
constexpr int kTries = 16;

struct Reading {
  uint64_t ticks = 0;
  uint64_t ns = 0;
};

struct Kept {
  HistClock* current = nullptr;
  const HistClock* word = nullptr;  // what hits read
};

std::mutex g_lock;
Reading g_first;
uint64_t g_span = 0;  // ticks between the readings of the lines that are in force
Kept g_kept[kTraceClocks.size()][2];

clockid_t clock_id(TraceClock clock) {
  switch (clock) {
    case TraceClock::kMonoRaw:
      return CLOCK_MONOTONIC_RAW;
    case TraceClock::kBoot:
      return CLOCK_BOOTTIME;
    case TraceClock::kTai:
      return CLOCK_TAI;
    default:
      return CLOCK_MONOTONIC;
  }
}

// The best of some tries, each between two readings of the TSC.
Reading read_both(clockid_t clock) {
  Reading best;
  uint64_t best_width = ~uint64_t{0};
  for (int i = 0; i < kTries; i++) {
    timespec now = {};
    const uint64_t before = __builtin_ia32_rdtsc();
    ::clock_gettime(clock, &now);
    const uint64_t width = __builtin_ia32_rdtsc() - before;
    if (width >= best_width) continue;
    best_width = width;
    best = {before + width / 2, uint64_t(now.tv_sec) * kSecond + uint64_t(now.tv_nsec)};
  }
  return best;
}

void first_reading() {
  if (!g_first.ticks) g_first = read_both(CLOCK_MONOTONIC);
}

bool counts_ticks(TraceClock clock) {
  return clock == TraceClock::kTsc || clock == TraceClock::kCounter;
}

// ns / ticks, times 2^shift: 2^64 where that has bits enough, which hits are quickest with.
void set_rate(uint64_t ns, uint64_t ticks, uint64_t unit, HistClock* clock) {
  constexpr uint64_t kEnough = uint64_t{1} << 61, kHalf = uint64_t{1} << 63;
  const auto divisor = static_cast<unsigned __int128>(ticks) * unit;
  unsigned __int128 rest = ns;
  unsigned __int128 quotient = rest / divisor;
  rest %= divisor;
  clock->shift = 0;
  while ((quotient < kEnough || (clock->shift < 64 && quotient < kHalf)) && clock->shift < 100) {
    rest <<= 1;
    quotient <<= 1;
    clock->shift++;
    if (rest < divisor) continue;
    rest -= divisor;
    quotient |= 1;
  }
  clock->multiply = uint64_t(quotient);
}

uint64_t convert(const HistClock& clock, uint64_t ticks) {
  const auto product = static_cast<unsigned __int128>(ticks - clock.ticks) * clock.multiply;
  return clock.time + uint64_t(product >> clock.shift);
}

// `before`: the line in force, which this one continues; null: none.
HistClock* lay_line(TraceClock clock, bool is_monotonic, const HistClock* before) {
  auto* made = new HistClock{0, 0, 1, 0, is_monotonic};
  if (counts_ticks(clock)) return made;
  const uint64_t unit = clock == TraceClock::kUptime ? kUptimeUnit : 1;
  Reading here = read_both(clock_id(clock));
  if (is_monotonic) {
    set_rate(1, 1, unit, made);
    return made;
  }
  const Reading now = read_both(CLOCK_MONOTONIC);
  set_rate(now.ns - g_first.ns, now.ticks - g_first.ticks, unit, made);
  made->ticks = here.ticks;
  made->time = before ? convert(*before, here.ticks) : here.ns / unit;
  return made;
}

void publish(Kept* kept, HistClock* made) {
  made->before = kept->current;
  kept->current = made;
  __atomic_store_n(&kept->word, made, __ATOMIC_RELEASE);  // pairs with the load of a hit
}

}  // namespace

const HistClock* const* hist_clock(TraceClock clock, uint32_t buffer_clock) {
  const bool is_monotonic = buffer_clock != abi::kClockTsc;
  std::lock_guard guard(g_lock);
  Kept& kept = g_kept[size_t(clock)][is_monotonic];
  if (kept.current) return &kept.word;
  first_reading();
  const Reading now = read_both(CLOCK_MONOTONIC);
  if (now.ns - g_first.ns < uint64_t(std::chrono::nanoseconds(kLeastSpan).count()))
    std::this_thread::sleep_for(kLeastSpan);
  publish(&kept, lay_line(clock, is_monotonic, nullptr));
  if (!g_span) g_span = now.ticks - g_first.ticks;
  return &kept.word;
}

void keep_hist_clocks() {
  std::lock_guard guard(g_lock);
  first_reading();
  const uint64_t span = __builtin_ia32_rdtsc() - g_first.ticks;
  if (!g_span || span / 2 < g_span) return;
  g_span = span;
  for (size_t clock = 0; clock < kTraceClocks.size(); clock++) {
    Kept& kept = g_kept[clock][0];
    if (kept.current && !counts_ticks(TraceClock(clock)))
      publish(&kept, lay_line(TraceClock(clock), false, kept.current));
  }
}

}  // namespace patchbay
