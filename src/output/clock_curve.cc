// SPDX-License-Identifier: MIT
#include "output/clock_curve.h"

#include <algorithm>

#include "base/check.h"

namespace patchbay {
namespace {

constexpr uint64_t kMeetTicks = uint64_t{1} << 22;  // a millisecond or two: room to bend gently

// The line from (from, ns) to (to, to_ns), which is not lower.
ClockLine line_between(uint64_t from, uint64_t ns, uint64_t to, uint64_t to_ns) {
  PB_CHECK_VALUES(from < to && ns <= to_ns, to - from, to_ns - ns);
  ClockLine line{from, ns, 0, 31};
  const double rate = double(to_ns - ns) / double(to - from);
  while (line.shift > 0 && times_power_of_two(rate, line.shift) >= 4294967295.0) line.shift--;
  line.mult = uint32_t(std::min(times_power_of_two(rate, line.shift), 4294967295.0));
  return line;
}

bool same_line(const ClockLine& a, const ClockLine& b) {
  return a.tsc0 == b.tsc0 && a.ns0 == b.ns0 && a.mult == b.mult && a.shift == b.shift;
}

}  // namespace

// Most questions are for new times.
const ClockLine& ClockCurve::piece_of(uint64_t ticks) const {
  if (pieces_.back().tsc0 <= ticks) return pieces_.back();
  auto after =
      std::upper_bound(pieces_.begin() + 1, pieces_.end(), ticks,
                       [](uint64_t value, const ClockLine& piece) { return value < piece.tsc0; });
  return *(after - 1);
}

uint64_t ClockCurve::to_ns(uint64_t ticks) {
  if (pieces_.empty()) return ticks;
  shown_ = std::max(shown_, ticks);
  return piece_of(ticks).to_ns(ticks);
}

void ClockCurve::bend(uint64_t now, const ClockLine& line) {
  if (!pieces_.empty() && same_line(line, newest_)) return;
  newest_ = line;
  if (pieces_.empty() || shown_ == 0) {
    pieces_ = {line};
    return;
  }
  // No reader asks for the future, but another processor's TSC may be a little ahead.
  const uint64_t from = std::min(shown_, now + kMeetTicks), from_ns = piece_of(from).to_ns(from);
  const uint64_t meet = std::max(now, from + kMeetTicks);
  while (pieces_.size() > 1 && pieces_.back().tsc0 >= from) pieces_.pop_back();
  const uint64_t meet_ns = std::max(line.to_ns(meet), from_ns);
  const ClockLine bent = line_between(from, from_ns, meet, meet_ns);
  pieces_.push_back(bent);
  pieces_.push_back({meet, std::max(meet_ns, bent.to_ns(meet)), line.mult, line.shift});
}

}  // namespace patchbay
