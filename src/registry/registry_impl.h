// SPDX-License-Identifier: MIT
//
// What the Registry and those that it hands out share. registry.cc: events and instances;
// event_programs.cc: what instances want becomes programs.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "probe/probe_abi.h"
#include "registry/event_filters.h"
#include "registry/event_requests.h"
#include "registry/markers.h"
#include "registry/object_log.h"
#include "registry/pid_lists.h"
#include "registry/printk.h"
#include "registry/registry.h"
#include "registry/settings.h"
#include "registry/snapshots.h"

namespace patchbay {

inline constexpr uint16_t kPrintId = 5;
inline constexpr uint16_t kRawDataId = 19;

struct Registry::Impl {
  explicit Impl(const RegistryOptions& o, SymbolTable& s) : options(o), symbols(s) {}

  RegistryOptions options;
  SymbolTable& symbols;
  std::recursive_mutex lock;
  bool single_threaded = false;

  // --- events
  std::vector<std::unique_ptr<LiveEvent>> events;         // in the order of definition
  std::unordered_map<std::string, LiveEvent*> by_name;    // "system:name"
  std::vector<LiveEvent*> by_id;                          // null: no such event (any more)
  std::unordered_map<std::string, uint16_t> ids_of_gone;  // description -> id, of module's events
  std::map<uint16_t, EventCall> gone_calls;
  uint32_t next_id = 512;
  uint64_t generation = 1;

  // --- instances
  TraceArray top;
  uint64_t next_serial = 1;
  std::map<std::string, std::unique_ptr<TraceArray>, std::less<>> arrays;
  TracerHooks tracer_hooks;
  TriggerHooks trigger_hooks;

  // --- what a thread may still be running or looking into: kept for good
  std::vector<std::unique_ptr<EventProgram>> programs;  // also those in use
  // Programs of tracers that are off now, for the next tracer of that instance.
  std::vector<std::pair<const TraceArray*, EventProgram*>> idle_tracers;
  std::vector<std::unique_ptr<LiveEvent>> gone_events;

  // --- what has the rest; Registry hands it out
  EventRequests requests{*this};
  EventFilters filters{*this};
  PidLists pid_lists{*this};
  Settings settings{*this};
  Snapshots snapshots{*this};
  Printk printk{*this};
  Markers markers{*this};
  ObjectLog objects{symbols, top};

  // registry.cc
  Result<LiveEvent*> add_event(std::unique_ptr<LiveEvent> event, uint32_t fixed_id);
  Result<uint16_t> choose_id(const LiveEvent& event, uint32_t fixed_id);
  Result<uint16_t> choose_free_id(const LiveEvent& event);
  Status describe(const LiveEvent& event);
  Status add_ftrace_events();
  LiveEvent* find_event(std::string_view system, std::string_view name);
  std::vector<LiveEvent*> events_of(const TraceArray& array, std::string_view system) const;
  std::vector<TraceArray*> all_arrays();
  TraceArray* find_array(std::string_view name);
  bool sees(const TraceArray& array, const LiveEvent& event) const;
  bool in_use(const LiveEvent* event);
  void drop_guests(LiveEvent* event);
  void forget_files(LiveEvent* event);
  Result<std::string> make_instance_directory(const TraceArray& array);
  void remove_instance_directory(const TraceArray& array);
  Status make_buffer(TraceArray* array);

  // event_programs.cc
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
  void point_to_rings(TraceArray& array);
};

std::string event_key(std::string_view system, std::string_view name);
// EBUSY while somebody reads the instance's buffer or its snapshot.
Status check_unread(const TraceArray& array);

// event_programs.cc
// Of a published program only its rings and its successor change.
void set_rings(const EventProgram* program, const RingSet* rings);
uint8_t stacks_of(const TraceArray& array);  // by the options stacktrace and userstacktrace
uint32_t max_record(uint32_t subbuf_size);   // bytes that one record may have
uint32_t max_record(const RingBuffer& buffer);

}  // namespace patchbay
