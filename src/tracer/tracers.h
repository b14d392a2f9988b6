// SPDX-License-Identifier: MIT
//
// current_tracer of each instance, and everything that is set about function tracers: which
// functions, which threads, which commands, the profiler, the stack tracer. The tracefs files of
// function tracing act on it: each method is one file's read or write. Under the registry's lock.
//
//   files ── Tracers ─┬─ FtraceOpsTable   tracers, functions       tracer/ftrace_ops.h
//                     ├─ FunctionCommands f:traceoff:3             tracer/function_commands.h
//                     ├─ GraphControl     set_graph_function …     tracer/graph_control.h
//                     ├─ Profiler         function_profile_enabled tracer/profiler.h
//                     └─ StackTracer      stack_trace              tracer/stack_tracer.h
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "registry/pid_lists.h"
#include "tracer/ftrace_ops.h"

namespace patchbay {

class FunctionCommands;
class GraphControl;
class Profiler;
class StackTracer;

class Tracers {
 public:
  Tracers(Registry& registry, Patcher& patcher, ProbeSites& sites);
  ~Tracers();

  FunctionTable& table();
  FtraceOpsTable& ops();
  FunctionCommands& commands();
  GraphControl& graph();
  Profiler& profiler();
  StackTracer& stack_tracer();

  // --- current_tracer
  static std::string_view available();  // "function_graph function nop"
  // EINVAL: no such tracer. EBUSY: trace_pipe is open and it is another one. Another tracer clears
  // the buffer; the same one keeps it. The instance's ops is made and registered, or goes.
  Status set_tracer(TraceArray& array, std::string_view name);
  std::string_view tracer_name(const TraceArray& array) const;
  // An option that the ops' program depends on has changed (func_stack_trace, func-args,
  // func-no-repeats, funcgraph-retval …, stacktrace): the program is made anew.
  Status option_changed(TraceArray& array);

  // --- function_profile_enabled. Where no other tracer of the top instance runs, set_ftrace_filter
  // is about the tracer that starts next: the profiler takes the filter over, and leaves it behind
  // when it stops. Beside other tracers it has the functions that it had the last time; the first
  // time it has all.
  Status set_profiling(bool on);

  // --- set_ftrace_filter, set_ftrace_notrace. The hashes of an instance's tracer "trace" are there
  // before and after the tracer runs; a write goes to the default ops while any is registered.
  enum class Filter : uint8_t { kFilter, kNotrace };
  // One write session of a file: open (with `truncate`: O_TRUNC), lines, close. Nothing is patched
  // before close; commands act at once.
  struct FilterSession {
    TraceArray* array = nullptr;
    Filter which = Filter::kFilter;
    FtraceOps* ops = nullptr;
    FtraceHash hash;
    bool changed = false;
  };
  Result<FilterSession> open_filter(TraceArray& array, Filter which, bool truncate);
  Status write_filter_line(FilterSession* session, std::string_view line);
  Status close_filter(FilterSession* session);
  std::string show_filter(TraceArray& array, Filter which);

  // --- set_ftrace_pid, set_ftrace_notrace_pid: words as in set_event_pid
  std::string show_pids(const TraceArray& array, PidList which) const;

  // --- lists
  std::string available_filter_functions(bool with_addresses);
  std::string enabled_functions();
  std::string touched_functions();
  std::string function_tracers(const TraceArray& array) const;
  // Whose filters set_ftrace_filter and set_ftrace_notrace are for; "*": all tracers have the same,
  // also those to come, as in the kernel. EINVAL: no such tracer.
  Status choose_tracer(TraceArray& array, std::string_view name);
  std::string total_info();  // dyn_ftrace_total_info

  // Some function tracer runs, so functions of objects that come may be wanted.
  bool is_tracing() const;
  // The same, or a filter that is kept names some.
  bool wants_objects() const;
  // Objects came or went.
  void refresh();
  // No tracer runs: the table of functions goes, with all that names any. Where something that is
  // set names some still, nothing changes.
  void forget_all();
  // An instance goes: its ops, commands and pids with it.
  void remove_array(TraceArray& array);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace patchbay
