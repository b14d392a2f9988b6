// SPDX-License-Identifier: MIT
//
// What a recording has lost, as report, graph, replay and flame graphs say it: the figures of
// `record`. A page says how many events are missing before it only while it has room for the
// number. The statistics of its CPU have the sum. They also count what a full ring dropped, which
// has no place in the pages.
#pragma once

#include <cstdint>
#include <map>
#include <string_view>

#include "cmd/common/trace_input.h"
#include "output/merge.h"

namespace patchbay::cmd {

struct Losses {
  std::map<uint32_t, uint64_t> by_cpu;
  bool at_least = false;  // more may be lost than is counted
  uint64_t lost() const;
};

class LossCounter {
 public:
  // Of each event that is read, in any buffer.
  void take(const MergedEvent& event);
  // When all was read.
  Losses finish(const TraceInput& input) const;

 private:
  struct Cpu {
    uint64_t lost = 0;
    bool unknown = false;
  };
  std::map<uint32_t, Cpu> cpus_;
};

// "patchbay report: lost 123 events (cpu0 100, cpu1 23)" on standard error; nothing is nothing.
void print_losses(std::string_view command, const Losses& losses);

}  // namespace patchbay::cmd
