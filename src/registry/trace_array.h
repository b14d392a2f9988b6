// SPDX-License-Identifier: MIT
//
// An instance: its buffer, its options, and for each event what it wants of it. Plain data. The
// registry owns and changes it (registry/registry.h); the tracefs files show it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "event/error_log.h"
#include "event/trace_options.h"
#include "filter/filter.h"
#include "probe/probe_abi.h"
#include "registry/live_event.h"
#include "ring_buffer/ring_buffer.h"

namespace patchbay {

// One event in one instance.
struct EventFile {
  LiveEvent* event = nullptr;
  bool enabled = false;  // what its enable file shows, but in soft mode: see is_on()
  // Soft mode: commands and triggers hold it, shown as `*`. It is patched in, and records while
  // *soft, which a hit may switch (EventProgram.soft). Never freed, shared by forked children.
  uint32_t soft_users = 0;
  uint32_t* soft = nullptr;  // null: was never in soft mode
  std::string filter_text;   // as written; empty: none
  std::string filter_error;  // the failed expression with its caret; shown instead, no filter then
  FilterProgramPtr filter;
  bool filter_ran = false;                   // a thread may be in it: it is never freed
  const EventProgram* program = nullptr;     // published; null while the event is off
  EventProgram* newest = nullptr;            // last made: used again when nothing has changed
  const TriggerProgram* triggers = nullptr;  // Registry::set_triggers()

  bool is_on() const { return soft_users ? __atomic_load_n(soft, __ATOMIC_ACQUIRE) != 0 : enabled; }
};

enum class Tracer : uint8_t { kNop, kFunction, kFunctionGraph };
inline constexpr std::string_view kTracerNames[] = {"nop", "function", "function_graph"};

struct TraceArray {
  std::string name;     // "" for the top one
  uint64_t serial = 0;  // no two instances ever have the same; 0: the top one
  std::unique_ptr<RingBuffer> buffer;
  std::unique_ptr<RingBuffer> snapshot;  // null: freed
  TraceOptions options;
  TraceClock clock = TraceClock::kLocal;
  std::vector<bool> cpumask;
  uint32_t buffer_percent = 50;
  std::vector<uint32_t> pids, notrace_pids;  // ascending, as the files show them
  // In force, even when the last of its tasks has exited; null: no such filter.
  PidSet* pid_set = nullptr;
  PidSet* notrace_pid_set = nullptr;
  // The same of set_ftrace_pid and set_ftrace_notrace_pid.
  std::vector<uint32_t> ftrace_pids, ftrace_notrace_pids;
  PidSet* ftrace_pid_set = nullptr;
  PidSet* ftrace_notrace_pid_set = nullptr;
  Tracer tracer = Tracer::kNop;  // current_tracer; tracer/tracers.h changes it
  ErrorLog errors;
  std::unordered_map<const LiveEvent*, EventFile> files;  // made at first use
  std::vector<std::string> module_requests;     // set_event `:mod:` lines that wait for a load
  std::vector<std::string> systems;             // only these exist here; empty: all
  EventProgram* printk = nullptr;               // Printk::program()

  // What open files hold.
  uint32_t references = 0;        // open files and API users: rmdir is EBUSY
  uint32_t trace_readers = 0;     // `trace` open for reading: no resize
  uint32_t snapshot_readers = 0;  // `snapshot` open for reading: no resize, no other spare buffer
  bool paused = false;            // by pause-on-trace
  bool has_conditional_snapshot =
      false;  // a histogram's snapshot(), or the program, has it: 1 in `snapshot` is EBUSY
  bool pipe_open = false;  // trace_pipe
  std::vector<bool> cpu_pipe_open;
  uint32_t raw_readers = 0;  // trace_pipe_raw, snapshot_raw: as trace_pipe, they keep the tracer

  bool is_top() const { return name.empty(); }
  // A hit may have switched it (traceoff): ring_buffer/ring_set.h.
  bool tracing_on() const { return buffer->is_recording(); }
};

}  // namespace patchbay
