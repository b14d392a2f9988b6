// SPDX-License-Identifier: MIT
#include "tracefs/root.h"

#include "base/text.h"
#include "tracefs/directories.h"
#include "tracefs/files/refused_returns.h"
#include "tracer/profiler.h"

namespace patchbay::tracefs {
namespace {

// In alphabetical order, as ls shows them.
constexpr Entry kArrayEntries[] = {
    {"README", make_readme, nullptr, true},
    {"available_events", make_available_events, nullptr, true},
    {"available_filter_functions", make_available_filter_functions, nullptr, true},
    {"available_filter_functions_addrs", make_available_filter_functions_addrs, nullptr, true},
    {"available_tracers", make_available_tracers, nullptr},
    {"buffer_percent", make_buffer_percent, nullptr},
    {"buffer_size_kb", make_buffer_size_kb, nullptr},
    {"buffer_subbuf_size_kb", make_buffer_subbuf_size_kb, nullptr},
    {"buffer_total_size_kb", make_buffer_total_size_kb, nullptr},
    {"current_tracer", make_current_tracer, nullptr},
    {"debug", nullptr, make_debug_directory, true},
    {"dyn_ftrace_total_info", make_dyn_ftrace_total_info, nullptr, true},
    {"dynamic_events", make_dynamic_events, nullptr, true},
    {"enabled_functions", make_enabled_functions, nullptr, true},
    {"error_log", make_error_log, nullptr},
    {"events", nullptr, make_events_directory},
    {"free_buffer", make_free_buffer, nullptr},
    {"function_events", make_function_events, nullptr, true},
    {"function_profile_enabled", make_function_profile_enabled, nullptr, true},
    {"function_tracers", make_function_tracers, nullptr},
    {"instances", nullptr, make_instances_directory, true},
    {"kprobe_events", make_kprobe_events, nullptr, true},
    {"kprobe_profile", make_kprobe_profile, nullptr, true},
    {"kprobes", nullptr, make_kprobes_directory, true},
    {"max_graph_depth", make_max_graph_depth, nullptr, true},
    {"options", nullptr, make_options_directory},
    {"per_cpu", nullptr, make_per_cpu_directory},
    {"printk_formats", make_printk_formats, nullptr, true},
    {"saved_cmdlines", make_saved_cmdlines, nullptr, true},
    {"saved_cmdlines_size", make_saved_cmdlines_size, nullptr, true},
    {"saved_tgids", make_saved_tgids, nullptr, true},
    {"set_event", make_set_event, nullptr},
    {"set_event_notrace_pid", make_set_event_notrace_pid, nullptr},
    {"set_event_pid", make_set_event_pid, nullptr},
    {"set_ftrace_filter", make_set_ftrace_filter, nullptr},
    {"set_ftrace_notrace", make_set_ftrace_notrace, nullptr},
    {"set_ftrace_notrace_pid", make_set_ftrace_notrace_pid, nullptr},
    {"set_ftrace_pid", make_set_ftrace_pid, nullptr},
    {"set_graph_function", make_set_graph_function, nullptr, true},
    {"set_graph_notrace", make_set_graph_notrace, nullptr, true},
    {"show_event_filters", make_show_event_filters, nullptr},
    {"show_event_triggers", make_show_event_triggers, nullptr},
    {"snapshot", make_snapshot, nullptr},
    {"stack_max_size", make_stack_max_size, nullptr, true},
    {"stack_trace", make_stack_trace, nullptr, true},
    {"stack_trace_filter", make_stack_trace_filter, nullptr, true},
    {"stack_tracer_enabled", make_stack_tracer_enabled, nullptr, true},
    {"synthetic_events", make_synthetic_events, nullptr, true},
    {"timestamp_mode", make_timestamp_mode, nullptr},
    {"touched_functions", make_touched_functions, nullptr, true},
    {"trace", make_trace, nullptr},
    {"trace_clock", make_trace_clock, nullptr},
    {"trace_marker", make_trace_marker, nullptr},
    {"trace_marker_raw", make_trace_marker_raw, nullptr},
    {"trace_options", make_trace_options, nullptr},
    {"trace_pipe", make_trace_pipe, nullptr},
    {"trace_stat", nullptr, make_trace_stat_directory, true},
    {"tracing_cpumask", make_tracing_cpumask, nullptr},
    {"tracing_max_latency", make_tracing_max_latency, nullptr},
    {"tracing_on", make_tracing_on, nullptr},
    {"tracing_thresh", make_tracing_thresh, nullptr, true},
    {"uprobe_events", make_uprobe_events, nullptr, true},
    {"uprobe_profile", make_uprobe_profile, nullptr, true},
};

constexpr Entry kCpuEntries[] = {
    {"buffer_size_kb", make_buffer_size_kb, nullptr},
    {"snapshot", make_snapshot, nullptr},
    {"snapshot_raw", make_snapshot_raw, nullptr},
    {"stats", make_stats, nullptr},
    {"trace", make_trace, nullptr},
    {"trace_pipe", make_trace_pipe, nullptr},
    {"trace_pipe_raw", make_trace_pipe_raw, nullptr},
};

constexpr Entry kDebugEntries[] = {
    {"call_sites", make_call_sites, nullptr},
    {"combinations", make_combinations, nullptr},
    {"counters", make_counters, nullptr},
    {"function_kinds", make_function_kinds, nullptr},
    {"no_rseq_stats", make_no_rseq_stats, nullptr},
    {"profile", make_profile, nullptr},
    {.name = "profile_image", .file = make_profile_image, .directory = nullptr, .is_listed = false},
    {"refused_functions", make_refused_functions, nullptr},
    {"refused_returns", make_refused_returns, nullptr},
    {"status", make_status, nullptr},
};

// The kernel has it in its debug directory.
constexpr Entry kKprobesEntries[] = {
    {"blacklist", make_kprobes_blacklist, nullptr},
    {"enabled", make_kprobes_enabled, nullptr},
    {"list", make_kprobes_list, nullptr},
    {"optimization", make_kprobes_optimization, nullptr},
};

// per_cpu: cpu0 … cpuN-1.
class PerCpuDirectory : public Directory {
 public:
  explicit PerCpuDirectory(const Place& place) : place_(place) {}
  std::vector<std::string> list() override {
    std::vector<std::string> names;
    for (uint32_t cpu = 0; cpu < nr_cpus(); cpu++) {
      names.push_back("cpu" + std::to_string(cpu) + "/");
    }
    return names;
  }
  FilePtr file(std::string_view) override { return nullptr; }
  DirectoryPtr directory(std::string_view name) override {
    uint32_t cpu = 0;
    if (!name.starts_with("cpu") || !parse_cpu(name.substr(3), &cpu)) return nullptr;
    Place place = place_;
    place.cpu = int32_t(cpu);
    return std::make_unique<TableDirectory>(kCpuEntries, std::move(place));
  }

 private:
  uint32_t nr_cpus() const {
    Result<TraceArray*> array = place_.find_array();
    return array.ok() ? (*array)->buffer->rings()->nr_cpus : 0;
  }
  // Only the number as it is listed: no sign, no leading zero.
  bool parse_cpu(std::string_view text, uint32_t* cpu) const {
    return to_number(text, cpu) && (text[0] != '0' || text.size() == 1) && *cpu < nr_cpus();
  }
  const Place place_;
};

// trace_stat: function0 … functionN-1.
class TraceStatDirectory : public Directory {
 public:
  explicit TraceStatDirectory(const Place& place) : place_(place) {}
  std::vector<std::string> list() override {
    std::vector<std::string> names;
    for (uint32_t cpu = 0; cpu < nr_tables(); cpu++)
      names.push_back("function" + std::to_string(cpu));
    return names;
  }
  FilePtr file(std::string_view name) override {
    for (uint32_t cpu = 0; cpu < nr_tables(); cpu++) {
      if (name != "function" + std::to_string(cpu)) continue;
      Place place = place_;
      place.cpu = int32_t(cpu);
      return make_trace_stat(place);
    }
    return nullptr;
  }
  DirectoryPtr directory(std::string_view) override { return nullptr; }

 private:
  uint32_t nr_tables() const {
    const uint32_t nr_cpus = place_.registry().top().buffer->rings()->nr_cpus;
    return nr_cpus + !place_.tree->context.tracers.profiler().rows(nr_cpus).empty();
  }
  const Place place_;
};

// options: one file an option; some are the top instance's only.
class OptionsDirectory : public Directory {
 public:
  explicit OptionsDirectory(const Place& place) : place_(place) {}
  std::vector<std::string> list() override {
    std::vector<std::string> names;
    for (const TraceOptionInfo& info : kTraceOptions) {
      if (is_here(info)) names.emplace_back(info.name);
    }
    return names;
  }
  FilePtr file(std::string_view name) override {
    for (size_t i = 0; i < kTraceOptions.size(); i++) {
      if (kTraceOptions[i].name != name || !is_here(kTraceOptions[i])) continue;
      Place place = place_;
      place.option = uint8_t(i);
      return make_option(place);
    }
    return nullptr;
  }
  DirectoryPtr directory(std::string_view) override { return nullptr; }

 private:
  bool is_here(const TraceOptionInfo& info) const { return place_.is_top() || !info.top_only; }
  const Place place_;
};

// instances: mkdir makes one, rmdir removes it.
class InstancesDirectory : public Directory {
 public:
  explicit InstancesDirectory(const Place& place) : place_(place) {}
  std::vector<std::string> list() override {
    std::vector<std::string> names;
    for (const TraceArray* array : place_.registry().arrays()) names.push_back(array->name + "/");
    return names;
  }
  FilePtr file(std::string_view) override { return nullptr; }
  DirectoryPtr directory(std::string_view name) override {
    if (name.empty() || !place_.registry().find_array(name)) return nullptr;
    Place place = place_;
    place.array = name;
    return make_array_directory(place);
  }
  Status make_directory(std::string_view name) override {
    Result<TraceArray*> made = place_.registry().create_array(name);
    return made.ok() ? Status() : made.error();
  }
  Status remove_directory(std::string_view name) override {
    return place_.registry().remove_array(name);
  }

 private:
  const Place place_;
};

Place place_of_root(TreeState* tree) {
  Place place;
  place.tree = tree;
  return place;
}

// The root owns what all files of the tree share.
class Root : public TableDirectory {
 public:
  explicit Root(std::unique_ptr<TreeState> state)
      : TableDirectory(kArrayEntries, place_of_root(state.get()), kRootMode),
        state_(std::move(state)) {}

 private:
  const std::unique_ptr<TreeState> state_;
};

}  // namespace

std::vector<std::string> TableDirectory::list() {
  std::vector<std::string> names;
  for (const Entry& entry : entries_) {
    if (!entry.is_listed || (entry.top_only && !place_.is_top())) continue;
    if (entry.file && entry.file(place_)) names.emplace_back(entry.name);
    if (entry.directory && entry.directory(place_)) names.push_back(std::string(entry.name) + "/");
  }
  return names;
}

const Entry* TableDirectory::find(std::string_view name) const {
  for (const Entry& entry : entries_) {
    if (entry.name == name) return entry.top_only && !place_.is_top() ? nullptr : &entry;
  }
  return nullptr;
}

FilePtr TableDirectory::file(std::string_view name) {
  const Entry* entry = find(name);
  return entry && entry->file ? entry->file(place_) : nullptr;
}

DirectoryPtr TableDirectory::directory(std::string_view name) {
  const Entry* entry = find(name);
  return entry && entry->directory ? entry->directory(place_) : nullptr;
}

DirectoryPtr make_array_directory(const Place& place) {
  return std::make_unique<TableDirectory>(kArrayEntries, place);
}

DirectoryPtr make_options_directory(const Place& place) {
  return std::make_unique<OptionsDirectory>(place);
}

DirectoryPtr make_per_cpu_directory(const Place& place) {
  return std::make_unique<PerCpuDirectory>(place);
}

DirectoryPtr make_instances_directory(const Place& place) {
  return std::make_unique<InstancesDirectory>(place);
}

DirectoryPtr make_debug_directory(const Place& place) {
  return std::make_unique<TableDirectory>(kDebugEntries, place);
}

DirectoryPtr make_kprobes_directory(const Place& place) {
  return std::make_unique<TableDirectory>(kKprobesEntries, place);
}

DirectoryPtr make_trace_stat_directory(const Place& place) {
  return std::make_unique<TraceStatDirectory>(place);
}

DirectoryPtr make_root(const TreeContext& context) {
  return std::make_unique<Root>(std::make_unique<TreeState>(context));
}

}  // namespace patchbay::tracefs
