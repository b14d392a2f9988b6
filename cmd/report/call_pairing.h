// SPDX-License-Identifier: MIT
//
// From records of function_graph to calls: each thread has a stack of open calls, entries push,
// exits pop, and depth tells what is missing.
//
//   records of a thread      depth   open calls
//   entry main                 0     main
//   entry a                    1     main a
//   exit  a                    1     main             a returned
//   entry b                    1     main b
//   entry throws               2     main b throws
//   entry c                    1     main c           b and throws have ended without a return: an
//                                                     exception, a longjmp, or their exits are lost
//   exit  d                    2     main c           d returned; its entry is lost
//   (end)                                             main and c are open at the end: exit(), exec,
//                                                     or the recording stopped
//
// A call without a return has lasted at least until the last record of its thread before the one
// that shows its end. This counts as its time.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "cmd/report/graph_records.h"
#include "event/off_cpu_times.h"

namespace patchbay::cmd {

// How a call ended, as far as the records tell.
enum class CallEnd : uint8_t { kReturned, kNoReturn, kOpenAtEnd, kNoEntry };

struct OpenCall {
  uint64_t func = 0;
  uint32_t depth = 0;
  uint64_t start_ns = 0;
  uint64_t child_ns = 0;      // time of the calls that it made
  uint64_t tag = 0;           // the sink's
  uint64_t child_off_ns = 0;  // of these, off the CPU
  OffCpuShare off = {};       // only while CallSink::leave() runs: with the calls that it made
  std::span<const uint8_t> args = {};  // recorded words; only while CallSink::enter() runs
};

struct ThreadCalls {
  int32_t tid = 0;
  uint64_t last_ns = 0;
  std::vector<OpenCall> open;  // the outermost first
};

class CallSink {
 public:
  virtual ~CallSink() = default;
  // `call` is not among thread.open yet.
  virtual void enter(const ThreadCalls& thread, OpenCall* call) = 0;
  // `call` is no more among thread.open. `exit` is null unless it returned.
  virtual void leave(const ThreadCalls& thread, const OpenCall& call, CallEnd how,
                     uint64_t duration_ns, const GraphRecord* exit) = 0;
};

struct PairingTotals {
  uint64_t calls = 0;         // whose entry or exit was seen
  uint64_t open_at_end = 0;   // CallEnd::kOpenAtEnd
  uint64_t without_exit = 0;  // kNoReturn
  uint64_t without_entry = 0;
  PairingTotals& operator+=(const PairingTotals& other) {
    calls += other.calls;
    open_at_end += other.open_at_end;
    without_exit += other.without_exit;
    without_entry += other.without_entry;
    return *this;
  }
};

class CallPairing {
 public:
  // `off_cpu`, which may be null: when threads were off the CPU. It outlives this.
  explicit CallPairing(CallSink* sink, const OffCpuTimes* off_cpu = nullptr)
      : sink_(sink), off_cpu_(off_cpu) {}
  // Records of one buffer in order of time.
  void take(const GraphRecord& record);
  // Closes what is open.
  void finish();

  const PairingTotals& totals() const { return totals_; }
  size_t threads() const { return threads_.size(); }

 private:
  ThreadCalls& thread_of(int32_t tid);
  void enter(ThreadCalls* thread, const GraphRecord& record);
  void leave(ThreadCalls* thread, const GraphRecord& record);
  void close_from(ThreadCalls* thread, uint32_t depth, CallEnd how);
  void close_last(ThreadCalls* thread, CallEnd how, uint64_t duration_ns, const GraphRecord* exit);

  CallSink* sink_;
  const OffCpuTimes* off_cpu_;
  std::unordered_map<int32_t, ThreadCalls> threads_;
  ThreadCalls* last_ = nullptr;
  PairingTotals totals_;
};

}  // namespace patchbay::cmd
