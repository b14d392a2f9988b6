// SPDX-License-Identifier: MIT
//
// When each thread was off the CPU, from the switches of all CPUs in order of time, and where this
// is not known. Times are nanoseconds of the recording's clock.
//
//   switch  a -> b        a goes: S      |
//   switch  b -> a        a comes back   v  a span of a: from, until, S
//
// What contradicts itself is a doubt: a thread that goes twice, or comes while it is there. So is
// the time in front of a thread's first switch if that brings it, and any time for which events of
// a CPU were lost. A doubt changes no figure; whoever shows the figure says that it is not sure.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "event/sched_switch.h"

namespace patchbay {

struct OffCpuSpan {
  uint64_t from_ns = 0, until_ns = 0;  // until: ~0 of a thread that has not come back
  uint64_t state = 0;                  // SchedSwitch::prev_state
  uint64_t before_ns = 0;              // the sum of this thread's spans before
};

struct OffCpuShare {
  uint64_t off_ns = 0;
  bool is_sure = true;
};

class OffCpuTimes {
 public:
  // Switches in order of time. The idle thread has no spans, nor has the end of a thread.
  void take(uint64_t ns, const SchedSwitch& event);
  // Events of a CPU are missing between these times; in any order.
  void lose(uint64_t from_ns, uint64_t until_ns);
  // Behind the last one. `losses_at_end`: from here on more is missing; ~0: nothing is.
  void finish(uint64_t losses_at_end = ~uint64_t{0});

  bool empty() const { return threads_.empty(); }
  bool has_losses() const { return !gaps_.empty(); }
  // Between two moments at which the thread was on the CPU. It is not sure where a doubt touches
  // them, or where one of the two is within a span.
  OffCpuShare within(int32_t tid, uint64_t from_ns, uint64_t until_ns) const;
  // All spans of a thread, the first one first. Valid until take().
  std::span<const OffCpuSpan> spans(int32_t tid) const;
  std::vector<int32_t> threads() const;  // ascending

 private:
  struct Gap {
    uint64_t from_ns = 0, until_ns = 0;
  };
  struct Thread {
    enum class State : uint8_t { kUnknown, kOn, kOff } state = State::kUnknown;
    uint64_t since_ns = 0;
    std::vector<OffCpuSpan> spans;
    std::vector<Gap> doubts;  // in order
  };
  void go(Thread* thread, uint64_t ns, const SchedSwitch& event);
  void come(Thread* thread, uint64_t ns);
  static bool touches(const std::vector<Gap>& gaps, uint64_t from_ns, uint64_t until_ns);

  std::unordered_map<int32_t, Thread> threads_;
  std::vector<Gap> gaps_;  // ascending and apart after finish()
};

}  // namespace patchbay
