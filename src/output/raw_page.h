// SPDX-License-Identifier: MIT
// A copied page image for trace_pipe_raw and snapshot_raw: its times become those of a clock.
#pragma once

#include <cstdint>
#include <span>

#include "output/trace_clock_convert.h"

namespace patchbay {

// calltime and rettime of funcgraph_exit become nanoseconds, with each clock (graph_times.h).
// Rewrites page time and deltas in place; lengths, records, commit word and the stored count of
// lost events stay. Readers that follow the kernel's layout (libtraceevent's kbuffer) then find
// each event at clock.convert(its raw time). Where a delta has no room for that (27 bits; possible
// only when the clock counts faster than the TSC, below 1 GHz) the event comes earlier by as little
// as needed, and no event comes before the one before it. Whatever follows a malformed event stays.
void convert_raw_page(std::span<uint8_t> page, const TraceClockConvert& clock);

}  // namespace patchbay
