// SPDX-License-Identifier: MIT
//
// The trace options of an instance (docs/files.md), in the order of trace_options; those of
// the tracers come last. An option whose feature does not exist yet is absent here, not broken.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace patchbay {

enum class TraceOption : uint8_t {
  kPrintParent,
  kSymOffset,
  kSymAddr,
  kVerbose,
  kRaw,
  kHex,
  kBin,
  kBlock,
  kFields,
  kTracePrintk,
  kAnnotate,
  kUserStackTrace,
  kSymUserObj,
  kPrintkMsgOnly,
  kContextInfo,
  kLatencyFormat,
  kRecordCmd,
  kRecordTgid,
  kOverwrite,
  kDisableOnFree,
  kIrqInfo,
  kMarkers,
  kEventFork,
  kTracePrintkDest,
  kCopyTraceMarker,
  kPauseOnTrace,
  kHashPtr,
  kFunctionTrace,  // of latency tracers, of which there are none: changes nothing
  kFunctionFork,
  kStackTrace,
  kFuncStackTrace,  // of the tracer function, from here on
  kFuncNoRepeats,
  kFuncArgs,
  kFuncgraphOverrun,  // of function_graph, from here on
  kFuncgraphCpu,
  kFuncgraphOverhead,
  kFuncgraphProc,
  kFuncgraphDuration,
  kFuncgraphAbstime,
  kFuncgraphIrqs,
  kFuncgraphTail,
  kFuncgraphRetval,
  kFuncgraphRetvalHex,
  kFuncgraphRetaddr,
  kFuncgraphArgs,
  kSleepTime,
  kGraphTime,
};

struct TraceOptionInfo {
  std::string_view name;
  bool on;        // at start
  bool top_only;  // not in an instance
};
inline constexpr std::array<TraceOptionInfo, 47> kTraceOptions = {{
    {"print-parent", true, false},
    {"sym-offset", false, false},
    {"sym-addr", false, false},
    {"verbose", false, false},
    {"raw", false, false},
    {"hex", false, false},
    {"bin", false, false},
    {"block", false, false},
    {"fields", false, false},
    {"trace_printk", true, true},
    {"annotate", true, false},
    {"userstacktrace", false, false},
    {"sym-userobj", false, false},
    {"printk-msg-only", false, true},
    {"context-info", true, false},
    {"latency-format", false, false},
    {"record-cmd", true, true},
    {"record-tgid", false, false},
    {"overwrite", true, false},
    {"disable_on_free", false, false},
    {"irq-info", true, false},
    {"markers", true, false},
    {"event-fork", false, false},
    {"trace_printk_dest", false, false},
    {"copy_trace_marker", false, false},
    {"pause-on-trace", false, false},
    {"hash-ptr", true, false},
    {"function-trace", true, false},
    {"function-fork", false, false},
    {"stacktrace", false, false},
    {"func_stack_trace", false, false},
    {"func-no-repeats", false, false},
    {"func-args", false, false},
    {"funcgraph-overrun", false, false},
    {"funcgraph-cpu", true, false},
    {"funcgraph-overhead", true, false},
    {"funcgraph-proc", false, false},
    {"funcgraph-duration", true, false},
    {"funcgraph-abstime", false, false},
    {"funcgraph-irqs", true, false},
    {"funcgraph-tail", false, false},
    {"funcgraph-retval", false, false},
    {"funcgraph-retval-hex", false, false},
    {"funcgraph-retaddr", false, false},
    {"funcgraph-args", false, false},
    {"sleep-time", true, false},
    {"graph-time", true, true},
}};

// Which tracer an option belongs to. trace_options shows and takes those of all tracers, and of the
// current one its own; options/ has them all.
enum class OptionOwner : uint8_t { kAll, kFunction, kFunctionGraph };
constexpr OptionOwner owner_of(TraceOption option) {
  if (option >= TraceOption::kFuncgraphOverrun) return OptionOwner::kFunctionGraph;
  return option >= TraceOption::kFuncStackTrace ? OptionOwner::kFunction : OptionOwner::kAll;
}

class TraceOptions {
 public:
  constexpr TraceOptions() {
    for (size_t i = 0; i < kTraceOptions.size(); i++)
      if (kTraceOptions[i].on) bits_ |= uint64_t{1} << i;
  }
  constexpr bool operator[](TraceOption option) const { return bits_ >> uint32_t(option) & 1; }
  constexpr void set(TraceOption option, bool on) {
    const uint64_t bit = uint64_t{1} << uint32_t(option);
    bits_ = on ? bits_ | bit : bits_ & ~bit;
  }

 private:
  uint64_t bits_ = 0;
};

// The clocks of trace_clock, in its order (docs/files.md). Records always carry the buffer's
// raw clock (TSC); a clock is how readers convert it. `counter` numbers the events by time.
enum class TraceClock : uint8_t {
  kLocal,
  kGlobal,
  kCounter,
  kUptime,
  kPerf,
  kMono,
  kMonoRaw,
  kBoot,
  kTai,
  kTsc,
};
struct TraceClockInfo {
  std::string_view name;
  bool in_ns;  // shown as seconds.microseconds; else a plain number
};
inline constexpr std::array<TraceClockInfo, 10> kTraceClocks = {{
    {"local", true},
    {"global", true},
    {"counter", false},
    {"uptime", false},
    {"perf", true},
    {"mono", true},
    {"mono_raw", true},
    {"boot", true},
    {"tai", true},
    {"x86-tsc", false},
}};

}  // namespace patchbay
