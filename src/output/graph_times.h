// SPDX-License-Identifier: MIT
//
// calltime and rettime of ftrace:funcgraph_exit. In our rings they are raw ticks, as all times are
// there; whoever reads the record elsewhere (trace-cmd, KernelShark, libtraceevent) takes their
// difference for nanoseconds, whatever the clock of the recording. So they are converted where
// pages leave the rings: into a trace.dat, and out of trace_pipe_raw. The times of the pages
// themselves are none of this.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

namespace patchbay {

using TicksToNs = std::function<uint64_t(uint64_t)>;

// One of our records; others stay as they are.
void convert_graph_times(std::span<uint8_t> record, const TicksToNs& to_ns);
// All records of a page image.
void convert_graph_times_of_page(std::span<uint8_t> page, const TicksToNs& to_ns);

}  // namespace patchbay
