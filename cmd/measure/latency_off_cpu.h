// SPDX-License-Identifier: MIT
//
// `patchbay latency --off-cpu`: times out of a recording, and how much of them the thread was off
// the CPU. A process that counts by itself knows nothing of switches, so it takes a recording.
//
//   funcgraph entry … exit of FUNC, or START … END of a thread  --> OffCpuCall --+--> ranges
//   sched_switch of the same file                               --> off_ns ------'    quantiles
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace patchbay::cmd {

struct OffCpuCall {
  uint64_t ns = 0, off_ns = 0;
  bool is_sure = true;
};

// Calls of about the same length.
struct OffCpuBand {
  std::string name;                  // of a quantile: "p50"; of a range: empty
  uint64_t above_ns = 0, to_ns = 0;  // a quantile's: its time
  uint64_t hits = 0, sum_ns = 0, off_ns = 0;
  uint64_t unsure = 0;  // calls for which switches are missing
  void add(const OffCpuCall& call);
};

struct OffCpuLatency {
  OffCpuBand all;
  std::vector<OffCpuBand> ranges;     // of powers of two, without the empty ones
  std::vector<OffCpuBand> quantiles;  // from the one before up to this; the last is max
};
OffCpuLatency off_cpu_latency(std::vector<OffCpuCall> calls);

// `end` empty: the calls of the function `start`, a glob. Else from the event `start` to the next
// `end` of the same thread, "SYSTEM:EVENT" or "EVENT". The error is a sentence.
Result<std::vector<OffCpuCall>> recorded_off_cpu_calls(const std::string& path,
                                                       const std::string& start,
                                                       const std::string& end);

std::string off_cpu_text(const OffCpuLatency& latency);
// One object on a line.
std::string off_cpu_json(const std::string& start, const std::string& end,
                         const OffCpuLatency& latency);

}  // namespace patchbay::cmd
