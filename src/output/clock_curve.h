// SPDX-License-Identifier: MIT
//
// The time of the raw clock (TSC) in nanoseconds, for all readers of one process, while new pairs
// of both clocks still come. Each pair changes the best line through all pairs by some ten
// nanoseconds. The next reader could show the same record a microsecond later, or earlier. So the
// line bends, and times that have been shown stay the same:
//
//      ns │               ·──── the newest line
//         │            ·´   `meet`: the curve is on it
//         │         ·´
//         │    ──·´    `shown_`: the latest time that anybody has asked for
//         │ ──
//         └────────────────────── ticks
//
// Only for one thread at a time: readers hold the agent's lock.
#pragma once

#include <cstdint>
#include <vector>

#include "ring_buffer/buffer_file.h"

namespace patchbay {

class ClockCurve {
 public:
  ClockCurve() = default;  // ticks as they are
  explicit ClockCurve(const ClockLine& line) : pieces_{line} {}
  // Never decreasing in `ticks`. The same answer for ever, whatever bend() is told later.
  uint64_t to_ns(uint64_t ticks);
  // From `now` on, or soon after, times are those of `line`.
  void bend(uint64_t now, const ClockLine& line);

 private:
  // Each holds from its tsc0 on, the first one for all before as well.
  const ClockLine& piece_of(uint64_t ticks) const;

  std::vector<ClockLine> pieces_;
  ClockLine newest_;  // what bend() was told last
  uint64_t shown_ = 0;
};

}  // namespace patchbay
