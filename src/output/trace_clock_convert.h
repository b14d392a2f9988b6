// SPDX-License-Identifier: MIT
//
// From the raw clock of the records (TSC) to the clock that trace_clock names (docs/files.md,
// "Clocks"). Records never change; only what readers show does.
//
//   local global perf mono   one curve (clock_curve.h) along the recorded pairs (TSC,
//                            CLOCK_MONOTONIC): some 100 ns
//   mono_raw boot tai        that, plus the distance of the two clocks now: exact for events of the
//                            present, off by what the distance has changed since for older ones
//                            (mono_raw: NTP's slewing, at most 0.05 %; boot: a suspend; tai: the
//                            wall clock was set)
//   uptime                   hundredths of a second of mono, as the kernel shows jiffies
//   x86-tsc                  the ticks themselves
//   counter                  the ticks too: readers number the events in order of time
//
// On a machine without an invariant TSC the raw clock is CLOCK_MONOTONIC in nanoseconds.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "event/trace_options.h"
#include "output/clock_curve.h"
#include "ring_buffer/buffer_file.h"

namespace patchbay {

class TraceClockConvert {
 public:
  TraceClockConvert() = default;  // ticks as they are
  // `buffer_clock`: kClock… of the buffer's header.
  TraceClockConvert(TraceClock clock, uint32_t buffer_clock,
                    const std::vector<abi::ClockPair>& pairs);
  // By a curve that others use, too. `offset`: of offset_of(clock).
  TraceClockConvert(TraceClock clock, std::shared_ptr<ClockCurve> curve, uint64_t offset)
      : clock_(clock), curve_(std::move(curve)), offset_(offset) {}
  // How far the clock is ahead of CLOCK_MONOTONIC now, modulo 2^64. What has hardly changed since
  // it was `before` is that still: the measure itself is some ten nanoseconds wide.
  static uint64_t offset_of(TraceClock clock, uint64_t before = 0);
  // Never decreasing in `ticks`.
  uint64_t convert(uint64_t ticks) const;
  // CLOCK_MONOTONIC whatever the clock: what calltime and rettime of funcgraph_exit are outside.
  uint64_t to_ns(uint64_t ticks) const {
    return curve_ ? curve_->to_ns(ticks) : ticks;
  }
  TraceClock clock() const { return clock_; }
  // Shown as seconds.microseconds; else a plain number.
  bool in_ns() const { return kTraceClocks[size_t(clock_)].in_ns; }
  // convert() changes nothing.
  bool is_identity() const { return clock_ == TraceClock::kTsc || clock_ == TraceClock::kCounter; }

 private:
  TraceClock clock_ = TraceClock::kTsc;
  std::shared_ptr<ClockCurve> curve_;  // null: ticks as they are
  uint64_t offset_ = 0;  // modulo 2^64
};

// The raw clock now.
uint64_t raw_clock_now(uint32_t buffer_clock);

}  // namespace patchbay
