// SPDX-License-Identifier: MIT
#include "cmd/report/call_pairing.h"

#include <algorithm>

namespace patchbay::cmd {

ThreadCalls& CallPairing::thread_of(int32_t tid) {
  if (last_ && last_->tid == tid) return *last_;
  last_ = &threads_[tid];  // stays where it is
  last_->tid = tid;
  return *last_;
}

void CallPairing::take(const GraphRecord& record) {
  if (record.kind != GraphRecord::Kind::kEntry && record.kind != GraphRecord::Kind::kExit) return;
  ThreadCalls& thread = thread_of(record.tid);
  if (record.kind == GraphRecord::Kind::kEntry) {
    enter(&thread, record);
  } else {
    leave(&thread, record);
  }
  thread.last_ns = std::max(thread.last_ns, record.ns);
}

void CallPairing::enter(ThreadCalls* thread, const GraphRecord& record) {
  close_from(thread, record.depth, CallEnd::kNoReturn);
  totals_.calls++;
  OpenCall call{.func = record.func, .depth = record.depth, .start_ns = record.ns};
  call.args = record.args;
  sink_->enter(*thread, &call);
  call.args = {};
  thread->open.push_back(call);
}

void CallPairing::leave(ThreadCalls* thread, const GraphRecord& record) {
  close_from(thread, record.depth + 1, CallEnd::kNoReturn);
  bool paired = !thread->open.empty() && thread->open.back().depth == record.depth &&
                thread->open.back().func == record.func;
  if (paired) return close_last(thread, CallEnd::kReturned, record.duration_ns, &record);
  close_from(thread, record.depth, CallEnd::kNoReturn);
  totals_.calls++;
  OpenCall call{.func = record.func,
                .depth = record.depth,
                .start_ns = record.ns - std::min(record.ns, record.duration_ns)};
  sink_->enter(*thread, &call);
  thread->open.push_back(call);
  close_last(thread, CallEnd::kNoEntry, record.duration_ns, &record);
}

void CallPairing::close_from(ThreadCalls* thread, uint32_t depth, CallEnd how) {
  while (!thread->open.empty() && thread->open.back().depth >= depth) {
    uint64_t start = thread->open.back().start_ns;
    close_last(thread, how, thread->last_ns - std::min(thread->last_ns, start), nullptr);
  }
}

void CallPairing::close_last(ThreadCalls* thread, CallEnd how, uint64_t duration_ns,
                             const GraphRecord* exit) {
  OpenCall call = thread->open.back();
  thread->open.pop_back();
  totals_.open_at_end += how == CallEnd::kOpenAtEnd;
  totals_.without_exit += how == CallEnd::kNoReturn;
  totals_.without_entry += how == CallEnd::kNoEntry;
  // Between two records of the thread: it was there at both.
  if (off_cpu_)
    call.off = off_cpu_->within(thread->tid, call.start_ns, exit ? exit->ns : thread->last_ns);
  call.off.off_ns = std::min(call.off.off_ns, duration_ns);
  if (!thread->open.empty()) {
    thread->open.back().child_ns += duration_ns;
    thread->open.back().child_off_ns += call.off.off_ns;
  }
  sink_->leave(*thread, call, how, duration_ns, exit);
}

void CallPairing::finish() {
  std::vector<ThreadCalls*> threads;
  for (auto& [tid, thread] : threads_) threads.push_back(&thread);
  std::sort(threads.begin(), threads.end(),
            [](const ThreadCalls* a, const ThreadCalls* b) { return a->tid < b->tid; });
  for (ThreadCalls* thread : threads) close_from(thread, 0, CallEnd::kOpenAtEnd);
}

}  // namespace patchbay::cmd
