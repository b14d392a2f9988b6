// SPDX-License-Identifier: MIT
//
// Every event and every instance of the process by name, and what instances want of events. All
// tracefs files, the start-up parameters, and libraries that come and go with their events act on
// it. Callers hold the agent's lock (lock()); nothing here blocks on the program. Errors carry the
// kernel's errno and a sentence.
//
// What an instance has beside its events stands in classes of its own, which the registry hands
// out: settings(), snapshots(), filters(), pid_lists(), requests(), printk(), markers(), objects().
//
//   write to events/S/E/enable, set_event, filter, set_event_pid, instances/ …
//     -> Registry: what does each (instance, event) want now?          EventFile
//     -> a new EventProgram for each that changed                      probe/probe_abi.h
//     -> EventSource::update(), once per source                        patches call sites
//     -> old programs: rings = dead_rings(), quiesce()                 no record comes any more
//
// Either everything that a call asks for happens, or nothing and it says why; but switching many
// events at once goes on behind one that cannot be switched, as in the kernel.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "registry/live_event.h"
#include "registry/trace_array.h"
#include "symbol/symbol.h"

namespace patchbay {

class EventFilters;
class EventRequests;
class Markers;
class ObjectLog;
class PidLists;
class Printk;
class Settings;
class Snapshots;

struct RegistryOptions {
  RingBufferOptions buffer;        // of the top instance; those of others are made beside it
  std::string instance_directory;  // DIR/PID/instances; empty: buffers are in memory
  uint64_t marker_ip = 0;          // __ip of markers: a function named tracing_mark_write
};

class Registry {
 public:
  static Result<std::unique_ptr<Registry>> create(const RegistryOptions& options,
                                                  SymbolTable& symbols);
  ~Registry();

  // A caller of anything else here holds it. Recursive: a file's write may end in a source.
  std::recursive_mutex& lock();
  SymbolTable& symbols();

  // --- what the registry hands out; each header says what it has
  EventRequests& requests();  // registry/event_requests.h: the words of set_event
  EventFilters& filters();    // registry/event_filters.h
  PidLists& pid_lists();      // registry/pid_lists.h
  Settings& settings();       // registry/settings.h: switches, sizes, options
  Snapshots& snapshots();     // registry/snapshots.h
  Printk& printk();           // registry/printk.h
  Markers& markers();         // registry/markers.h: records that the control side writes
  ObjectLog& objects();       // registry/object_log.h: what addresses in records lie in

  // --- events
  // Gives the event its id and writes its format into the meta log. EEXIST. The object stays where
  // it is.
  Result<LiveEvent*> add_event(std::unique_ptr<LiveEvent> event);
  // EBUSY while an instance has it enabled, or another event or a trigger uses it, unless `force`
  // (its library goes away): then it is switched off everywhere first, and if the library comes
  // back it is on again, with its filter, where it was. Open files of it answer ENODEV from then
  // on. `keep_call`: its records stay readable (gone_calls()). Ids are never given out twice, but
  // to the same event of the same module.
  Status remove_event(LiveEvent* event, bool force, bool keep_call = false);
  // Events that are gone, one for each id. An event that came back is not among them.
  std::vector<const EventCall*> gone_calls() const;
  bool in_use(const LiveEvent* event) const;  // remove_event() would be EBUSY
  LiveEvent* find_event(std::string_view system, std::string_view name);
  // An open file keeps the pointer and asks whether it is still the event of its id: an event that
  // comes back with its library, unchanged, has its old id again.
  LiveEvent* find_event_by_id(uint16_t id);
  std::vector<std::string> systems(const TraceArray& array) const;  // in alphabetical order
  // "" = all systems. In the order of definition.
  std::vector<LiveEvent*> events_of(const TraceArray& array, std::string_view system) const;
  // Bumped whenever an event comes or goes: directories and printers look at it.
  uint64_t generation() const;

  // --- instances
  TraceArray& top();
  // DIR/PID/instances; empty: there is no directory.
  const std::string& instance_directory() const;
  TraceArray* find_array(std::string_view name);
  std::vector<TraceArray*> arrays();                       // without the top one, in order of name
  Result<TraceArray*> create_array(std::string_view name,  // EEXIST, EINVAL, ENOMEM
                                   std::vector<std::string> systems = {});
  Status remove_array(std::string_view name);  // ENOENT, EBUSY
  // The agent of a running program goes to sleep, and wakes up: nothing is on in the top instance
  // any more, there is no other one, and its buffer is another file, or memory ("").
  Status move_top(const std::string& path, const std::string& instance_directory, uint64_t bytes);

  // --- enabling (one transaction per source for the whole span). Of several events those that can
  // be switched are; the error is the first of those that cannot.
  Status set_enabled(TraceArray& array, std::span<LiveEvent* const> events, bool on);
  const EventFile* file(const TraceArray& array, const LiveEvent* event) const;  // null: never used
  bool is_enabled(const TraceArray& array, const LiveEvent* event) const;
  // '0' '1' 'X' '?'; system "" = all.
  char summary(const TraceArray& array, std::string_view system) const;
  // A tracer's records (LiveEvent.is_tracer, whose call.id is fixed): its program is made, or goes,
  // and follows the instance's rings, options and set_ftrace_pid. `remake`: what the LiveEvent says
  // has changed.
  Status set_tracing(TraceArray& array, LiveEvent* tracer, bool on);
  Status remake_program(TraceArray& array, LiveEvent* tracer);
  // What function tracers have to hear of: an instance goes (nothing can stop it any more), and an
  // option that tracers look at was set.
  struct TracerHooks {
    std::function<void(TraceArray&)> array_goes;
    std::function<void(const LiveEvent*)> event_goes;  // by force
    std::function<Status(TraceArray&, TraceOption)> option_set;
  };
  void set_tracer_hooks(TracerHooks hooks);
  // Soft mode, of triggers and commands: the event is patched in but stays as it is, on or off,
  // until an action or a write switches it (EventFile::is_on). The last release leaves it as it is
  // then.
  Status hold_soft(TraceArray& array, LiveEvent* event);
  void release_soft(TraceArray& array, LiveEvent* event);
  // What hits of the event do beside recording; null: nothing. The event is held in soft mode for
  // as long. Programs are never freed.
  Status set_triggers(TraceArray& array, LiveEvent* event, const TriggerProgram* triggers);
  // What triggers have to hear of: an instance or an event goes and nothing can stop it; a marker
  // had triggers, and what they asked for is to be done before its writer goes on.
  struct TriggerHooks {
    std::function<void(TraceArray&)> array_goes;
    std::function<void(LiveEvent*)> event_goes;
    std::function<void()> marker_written;
  };
  void set_trigger_hooks(TriggerHooks hooks);
  // A forked child that cannot know any more what the instance is to record: it records nothing
  // into it from now on. (What other processes record goes on.)
  void abandon(TraceArray& array);
  // One that goes its own way: the instances have rings of their own in memory, which are empty.
  // Their snapshots, which are the parent's, are no longer there.
  Status leave_parent();

  // Both buffers of every instance are at their end (RingBuffer::close_cleanly).
  void close_cleanly();

  // Start-up: no other thread of the program runs yet.
  void set_single_threaded(bool value);
  bool single_threaded() const;

  struct Impl;

 private:
  explicit Registry(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace patchbay
