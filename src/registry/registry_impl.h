// SPDX-License-Identifier: MIT
//
// What the Registry's sources share. registry.cc: events and instances; registry_programs.cc: what
// instances want becomes programs; registry_filters.cc: filters and pid lists;
// registry_settings.cc: an instance's switches, sizes and snapshot; registry_markers.cc: records
// that we write ourselves.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "probe/probe_abi.h"
#include "probe/unwind_tables.h"
#include "registry/event_spec.h"
#include "registry/pid_set.h"
#include "registry/registry.h"

namespace patchbay {

inline constexpr uint16_t kPrintId = 5;
inline constexpr uint16_t kRawDataId = 19;

struct Registry::Impl {
  explicit Impl(const RegistryOptions& o, SymbolTable& s) : options(o), symbols(s) {}

  RegistryOptions options;
  SymbolTable& symbols;
  UnwindTables unwind{symbols};
  std::recursive_mutex lock;
  bool single_threaded = false;

  // --- events
  std::vector<std::unique_ptr<LiveEvent>> events;         // in the order of definition
  std::unordered_map<std::string, LiveEvent*> by_name;    // "system:name"
  std::vector<LiveEvent*> by_id;                          // null: no such event (any more)
  std::unordered_map<std::string, uint16_t> ids_of_gone;  // description -> id, of module's events
  std::map<uint16_t, EventCall> gone_calls;
  // Events that were on when their library was unloaded.
  struct Remembered {
    std::string array, system, name, module, filter;
  };
  std::vector<Remembered> remembered;
  uint32_t next_id = 512;
  uint64_t generation = 1;
  std::unordered_set<std::string> described_modules;
  std::vector<Module*> described_list;  // all of these were looked at

  // --- instances
  TraceArray top;
  uint64_t next_serial = 1;
  bool printk_started = false;
  std::map<std::string, std::unique_ptr<TraceArray>, std::less<>> arrays;
  std::atomic<uint32_t> fork_followers{0};  // instances with event-fork
  uint32_t saved_cmdlines_size = 128;
  uint64_t tracing_thresh_us = 0;
  TracerHooks tracer_hooks;
  TriggerHooks trigger_hooks;
  std::unordered_map<uint32_t, std::string> writers;  // whose comm the table has from us

  // --- what a thread may still be running or looking into: kept for good
  std::vector<std::unique_ptr<EventProgram>> programs;  // also those in use
  std::vector<FilterProgramPtr> old_filters;
  std::vector<PidSetPtr> pid_sets;  // also those in use
  // Programs of tracers that are off now, for the next tracer of that instance.
  std::vector<std::pair<const TraceArray*, EventProgram*>> idle_tracers;
  std::vector<std::unique_ptr<LiveEvent>> gone_events;
  std::vector<std::unique_ptr<std::string>> injected_texts;
  // Snapshots that were freed while somebody read them.
  std::vector<std::pair<TraceArray*, std::unique_ptr<RingBuffer>>> gone_snapshots;

  // registry.cc
  Result<LiveEvent*> add_event(std::unique_ptr<LiveEvent> event, uint32_t fixed_id);
  Result<uint16_t> choose_id(const LiveEvent& event, uint32_t fixed_id);
  Result<uint16_t> choose_free_id(const LiveEvent& event);
  Status describe(const LiveEvent& event);
  Status describe_modules();
  Status add_ftrace_events();
  std::vector<TraceArray*> all_arrays();
  bool sees(const TraceArray& array, const LiveEvent& event) const;
  bool in_use(const LiveEvent* event);
  void drop_guests(LiveEvent* event);
  void forget_files(LiveEvent* event);
  void remember(const TraceArray& array, const LiveEvent& event);
  std::vector<Remembered> take_remembered(std::string_view module);
  Result<std::string> make_instance_directory(const TraceArray& array);
  void remove_instance_directory(const TraceArray& array);
  Status make_buffer(TraceArray* array);

  // registry_programs.cc
  struct Change {
    TraceArray* array = nullptr;
    EventFile* file = nullptr;
    EventProgram* next = nullptr;  // null: off
    const EventProgram* previous = nullptr;
  };
  struct Batch {
    EventSource* source;
    std::vector<LiveEvent*> events;
  };
  using File = std::pair<TraceArray*, EventFile*>;
  using Files = std::vector<File>;
  EventFile& file_of(TraceArray& array, LiveEvent* event);
  const EventFile* find_file(const TraceArray& array, const LiveEvent* event) const;
  Status start_recording(TraceArray& array);
  Result<EventProgram*> program_for(TraceArray& array, EventFile& file);
  EventProgram* idle_program(const TraceArray& array, const EventProgram& wanted);
  // Makes programs what enabled, filter and pid_set of these files say. On failure what is
  // published is as before; the caller puts its own words back. `force`: sources that fail are
  // passed over.
  Status switch_files(std::span<const File> files, bool on);
  Status publish(std::span<const File> files, bool force = false);
  Status publish_enabled(TraceArray& array);  // all events that are on
  std::vector<Batch> swap_programs(std::vector<Change>& changes);
  void take_back(std::vector<Change>& changes, std::span<Batch> done);
  void retire(std::span<const Change> changes);
  Status set_enabled(TraceArray& array, std::span<LiveEvent* const> wanted, bool on);
  Status set_event(TraceArray& array, const EventSpec& spec);
  Status cache_request(TraceArray& array, const EventSpec& spec);
  bool is_loaded(std::string_view module);
  void point_to_rings(TraceArray& array);
  void retire_printk(TraceArray& array);
  void set_printk_stacks(TraceArray& array);

  // registry_filters.cc
  FilterContext filter_context(const LiveEvent& event);
  bool find_function(std::string_view name, uint64_t address, uint64_t* start, uint64_t* end);
  Status use_pids(TraceArray& array, PidList which, std::vector<uint32_t> pids, bool in_force);
  void follow_fork(TraceArray& array, PidList which, uint32_t parent, uint32_t child);

  // registry_settings.cc
  void free_old_snapshots();
  bool has_option(const TraceArray& array, TraceOption option) const;
  Status move_printk_dest(TraceArray& array, bool on);

  // registry_markers.cc
  void learn_comm(const Writer& writer);
  Status publish_record(TraceArray& array, const std::string& record, int cpu);
  Status publish_marker(TraceArray& array, std::string record, bool ends_line,
                        const Writer& writer);
  std::vector<TraceArray*> marker_targets(TraceArray& array);
};

std::string event_key(std::string_view system, std::string_view name);

}  // namespace patchbay
