// SPDX-License-Identifier: MIT
#include "event/off_cpu_times.h"

#include <algorithm>

namespace patchbay {
namespace {
constexpr uint64_t kNever = ~uint64_t{0};
}

void OffCpuTimes::go(Thread* thread, uint64_t ns, const SchedSwitch& event) {
  if (thread->state == Thread::State::kOff) {  // it was back in between
    thread->doubts.push_back({thread->since_ns, ns});
    come(thread, ns);
  }
  thread->since_ns = ns;
  thread->state = event.prev_ended ? Thread::State::kUnknown : Thread::State::kOff;
  if (event.prev_ended) return;  // another thread may get its number
  const OffCpuSpan* last = thread->spans.empty() ? nullptr : &thread->spans.back();
  const uint64_t before = last ? last->before_ns + (last->until_ns - last->from_ns) : 0;
  thread->spans.push_back({ns, kNever, event.prev_state, before});
}

void OffCpuTimes::come(Thread* thread, uint64_t ns) {
  if (thread->state == Thread::State::kOff) {
    thread->spans.back().until_ns = std::max(ns, thread->spans.back().from_ns);
  } else {  // it has gone in between; the first time it may have begun
    thread->doubts.push_back({thread->since_ns, ns});
  }
  thread->state = Thread::State::kOn;
  thread->since_ns = ns;
}

void OffCpuTimes::take(uint64_t ns, const SchedSwitch& event) {
  if (event.prev_tid != 0) go(&threads_[event.prev_tid], ns, event);
  if (event.next_tid != 0) come(&threads_[event.next_tid], ns);
}

void OffCpuTimes::lose(uint64_t from_ns, uint64_t until_ns) {
  gaps_.push_back({from_ns, until_ns});
}

// Gaps of several CPUs may lie over each other: they become one.
void OffCpuTimes::finish(uint64_t losses_at_end) {
  if (losses_at_end != kNever) gaps_.push_back({losses_at_end, kNever});
  std::sort(gaps_.begin(), gaps_.end(),
            [](const Gap& a, const Gap& b) { return a.from_ns < b.from_ns; });
  std::vector<Gap> apart;
  for (const Gap& gap : gaps_) {
    if (apart.empty() || gap.from_ns > apart.back().until_ns)
      apart.push_back(gap);
    else
      apart.back().until_ns = std::max(apart.back().until_ns, gap.until_ns);
  }
  gaps_ = std::move(apart);
}

bool OffCpuTimes::touches(const std::vector<Gap>& gaps, uint64_t from_ns, uint64_t until_ns) {
  const auto first = std::partition_point(gaps.begin(), gaps.end(),
                                          [&](const Gap& gap) { return gap.until_ns <= from_ns; });
  return first != gaps.end() && first->from_ns < until_ns;
}

OffCpuShare OffCpuTimes::within(int32_t tid, uint64_t from_ns, uint64_t until_ns) const {
  OffCpuShare share{0, !touches(gaps_, from_ns, until_ns)};
  const auto known = threads_.find(tid);
  if (known == threads_.end() || from_ns >= until_ns) return share;
  const Thread& thread = known->second;
  share.is_sure = share.is_sure && !touches(thread.doubts, from_ns, until_ns);
  // The sum of what lies before a moment, and whether the moment is within a span.
  const auto sum_before = [&](uint64_t ns, bool* is_off) -> uint64_t {
    const auto behind =
        std::partition_point(thread.spans.begin(), thread.spans.end(),
                             [&](const OffCpuSpan& span) { return span.from_ns < ns; });
    if (behind == thread.spans.begin()) return 0;
    const OffCpuSpan& span = behind[-1];
    *is_off |= span.until_ns > ns;
    return span.before_ns + std::min(span.until_ns, ns) - span.from_ns;
  };
  bool is_off = false;
  const uint64_t before = sum_before(from_ns, &is_off);
  share.off_ns = sum_before(until_ns, &is_off) - before;
  share.is_sure = share.is_sure && !is_off;
  return share;
}

std::span<const OffCpuSpan> OffCpuTimes::spans(int32_t tid) const {
  const auto known = threads_.find(tid);
  if (known == threads_.end()) return {};
  return known->second.spans;
}

std::vector<int32_t> OffCpuTimes::threads() const {
  std::vector<int32_t> tids;
  for (const auto& [tid, thread] : threads_) tids.push_back(tid);
  std::sort(tids.begin(), tids.end());
  return tids;
}

}  // namespace patchbay
