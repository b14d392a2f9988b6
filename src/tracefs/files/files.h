// SPDX-License-Identifier: MIT
//
// One maker per tracefs file, each in the source that is named after the file, and the few shapes
// that they have. A maker gets a Place: which instance, CPU, event or option it is for, by name.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "tracefs/place.h"
#include "tracefs/tree.h"
#include "tracefs/write_style.h"

namespace patchbay::tracefs {

inline constexpr uint32_t kReadable = 0440;
inline constexpr uint32_t kWritable = 0640;
inline constexpr uint32_t kOnlyWritable = 0200;

using FilePtr = std::unique_ptr<File>;

// A file of an instance. While it is open the instance cannot be removed (EBUSY).
class ArrayFile : public File {
 public:
  explicit ArrayFile(Place place) : place_(std::move(place)) {}
  ~ArrayFile() override;
  Status open(uint32_t flags) final;

 protected:
  // What open(2) does beyond holding the instance. When it fails the file is not open.
  virtual Status opened(TraceArray& array, uint32_t flags);
  TraceArray* held() const { return held_; }  // null: not open
  Result<TraceArray*> array() const;
  Registry& registry() const { return place_.registry(); }

  const Place place_;

 private:
  TraceArray* held_ = nullptr;
};

using ShowArray = Result<std::string> (*)(TraceArray& array, const Place& place);
using WriteArray = Status (*)(TraceArray& array, const Place& place, std::string_view bytes);
using ShowEvent = Result<std::string> (*)(const TraceArray& array, LiveEvent& event,
                                          const Place& place);
using WriteEvent = Status (*)(TraceArray& array, LiveEvent& event, const Place& place,
                              std::string_view bytes);

// A file that is only read; one that shows a text and takes whole writes. They hold the instance.
FilePtr make_text_file(const Place& place, ShowArray show);
FilePtr make_value_file(const Place& place, ShowArray show, WriteArray write);
// Files of one event, which answer ENODEV when it is gone. The first does not hold the instance
// (docs/files.md, "Instances": an open format, id or trigger does not count), the second does.
FilePtr make_event_text_file(const Place& place, ShowEvent show);
FilePtr make_event_value_file(const Place& place, ShowEvent show, WriteEvent write);

// --- the root and each instance
FilePtr make_available_tracers(const Place& place);
FilePtr make_buffer_percent(const Place& place);
FilePtr make_buffer_size_kb(const Place& place);  // also per_cpu/cpuN
FilePtr make_buffer_subbuf_size_kb(const Place& place);
FilePtr make_buffer_total_size_kb(const Place& place);
FilePtr make_current_tracer(const Place& place);
FilePtr make_error_log(const Place& place);
FilePtr make_free_buffer(const Place& place);
FilePtr make_function_tracers(const Place& place);
FilePtr make_option(const Place& place);  // options/NAME
FilePtr make_set_event(const Place& place);
FilePtr make_set_event_notrace_pid(const Place& place);
FilePtr make_set_event_pid(const Place& place);
FilePtr make_set_ftrace_filter(const Place& place);
FilePtr make_set_ftrace_notrace(const Place& place);
FilePtr make_set_ftrace_notrace_pid(const Place& place);
FilePtr make_set_ftrace_pid(const Place& place);
FilePtr make_show_event_filters(const Place& place);
FilePtr make_show_event_triggers(const Place& place);
FilePtr make_snapshot(const Place& place);  // also per_cpu/cpuN
FilePtr make_timestamp_mode(const Place& place);
FilePtr make_trace(const Place& place);  // also per_cpu/cpuN
FilePtr make_trace_clock(const Place& place);
FilePtr make_trace_marker(const Place& place);
FilePtr make_trace_marker_raw(const Place& place);
FilePtr make_trace_options(const Place& place);
FilePtr make_trace_pipe(const Place& place);  // also per_cpu/cpuN
FilePtr make_tracing_cpumask(const Place& place);
FilePtr make_tracing_on(const Place& place);
// --- per_cpu/cpuN only
FilePtr make_snapshot_raw(const Place& place);
FilePtr make_stats(const Place& place);
FilePtr make_trace_pipe_raw(const Place& place);
// --- events
FilePtr make_events_enable(const Place& place);  // events/ and events/SYSTEM/
FilePtr make_event_enable(const Place& place);
FilePtr make_event_filter(const Place& place);
FilePtr make_event_format(const Place& place);
FilePtr make_event_hist(const Place& place);
FilePtr make_event_hist_debug(const Place& place);
FilePtr make_event_hist_image(const Place& place);  // not listed
FilePtr make_event_id(const Place& place);
FilePtr make_event_inject(const Place& place);
FilePtr make_event_mirror(const Place& place);
FilePtr make_event_trigger(const Place& place);
FilePtr make_header_event(const Place& place);
FilePtr make_header_page(const Place& place);
FilePtr make_system_filter(const Place& place);
// --- the root only
FilePtr make_available_events(const Place& place);
FilePtr make_available_filter_functions(const Place& place);
FilePtr make_available_filter_functions_addrs(const Place& place);
FilePtr make_dyn_ftrace_total_info(const Place& place);
FilePtr make_dynamic_events(const Place& place);
FilePtr make_enabled_functions(const Place& place);
FilePtr make_function_events(const Place& place);
FilePtr make_function_profile_enabled(const Place& place);
FilePtr make_kprobe_events(const Place& place);
FilePtr make_kprobe_profile(const Place& place);
FilePtr make_max_graph_depth(const Place& place);
FilePtr make_printk_formats(const Place& place);
FilePtr make_readme(const Place& place);
FilePtr make_saved_cmdlines(const Place& place);
FilePtr make_saved_cmdlines_size(const Place& place);
FilePtr make_saved_tgids(const Place& place);
FilePtr make_set_graph_function(const Place& place);
FilePtr make_set_graph_notrace(const Place& place);
FilePtr make_stack_max_size(const Place& place);
FilePtr make_stack_trace(const Place& place);
FilePtr make_stack_trace_filter(const Place& place);
FilePtr make_stack_tracer_enabled(const Place& place);
FilePtr make_synthetic_events(const Place& place);
FilePtr make_touched_functions(const Place& place);
FilePtr make_trace_stat(const Place& place);     // trace_stat/functionN
FilePtr make_profile(const Place& place);        // debug/profile
FilePtr make_profile_image(const Place& place);  // debug/profile_image, not listed
FilePtr make_tracing_max_latency(const Place& place);
FilePtr make_tracing_thresh(const Place& place);
FilePtr make_uprobe_events(const Place& place);
FilePtr make_uprobe_profile(const Place& place);
// --- kprobes
FilePtr make_kprobes_blacklist(const Place& place);
FilePtr make_kprobes_enabled(const Place& place);
FilePtr make_kprobes_optimization(const Place& place);
FilePtr make_kprobes_list(const Place& place);
// --- debug; the ring of no_rseq_stats is the one for threads without restartable sequences
FilePtr make_call_sites(const Place& place);
FilePtr make_combinations(const Place& place);
FilePtr make_counters(const Place& place);
FilePtr make_function_kinds(const Place& place);
FilePtr make_no_rseq_stats(const Place& place);
FilePtr make_refused_functions(const Place& place);
FilePtr make_status(const Place& place);

}  // namespace patchbay::tracefs
