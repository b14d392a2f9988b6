// SPDX-License-Identifier: MIT
//
// What `common_timestamp` is: the raw clock of records (TSC) in units of trace_clock, with one
// multiplication (hist_program.h: HistClock). The line through two readings of both clocks is laid
// anew when the readings lie twice as far apart as before, and goes on where the old one was: time
// never jumps, and within a few seconds of the program's start its rate is right to some 10^-8.
// What the line says is exact: a difference is never off by more than one from its rounding.
#pragma once

#include <cstdint>

#include "event/trace_options.h"
#include "hist/hist_program.h"

namespace patchbay {

// The word that hits read. Made at the first call for a clock, never freed. `buffer_clock`: kClock…
// of the instance's buffer.
const HistClock* const* hist_clock(TraceClock clock, uint32_t buffer_clock);

// Lays the lines anew if it is worth it. The first call, at the program's start, is the first
// reading; later calls come now and then. Any thread.
void keep_hist_clocks();

}  // namespace patchbay
