// SPDX-License-Identifier: MIT
//
// Between the raw clock of records and nanoseconds, for durations.
#pragma once

#include <cstdint>

#include "ring_buffer/ring_buffer.h"

namespace patchbay {

struct TickRate {
  double ns_per_tick = 1;
  bool is_tsc = false;  // else the raw clock is CLOCK_MONOTONIC

  uint64_t to_ticks(uint64_t ns) const { return uint64_t(double(ns) / ns_per_tick); }
  double to_ns(double ticks) const { return ticks * ns_per_tick; }
};
// From the buffer's clock pairs, and one of now when they are close together.
TickRate tick_rate(RingBuffer& buffer);

}  // namespace patchbay
