// SPDX-License-Identifier: MIT
//
// Every event and every instance of the process by name, and what instances want of events. All
// tracefs files, the start-up parameters, and libraries that come and go with their events act on
// it. Callers hold the agent's lock (lock()); nothing here blocks on the program. Errors carry the
// kernel's errno and a sentence.
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
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "event/live_event.h"
#include "event/trace_array.h"
#include "symbol/symbol.h"

namespace patchbay {

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

  // Held by whoever calls anything else here. Recursive: a file's write may end in a source.
  std::recursive_mutex& lock();
  SymbolTable& symbols();

  // --- events
  // Gives the event its id, writes its format into the meta log, applies what waits for it
  // (`:mod:`). EEXIST. The event stays where it is.
  Result<LiveEvent*> add_event(std::unique_ptr<LiveEvent> event);
  // EBUSY while an instance has it enabled, or another event or a trigger uses it, unless `force`
  // (its library goes away): then it is switched off everywhere first, and if the library comes
  // back it is on again, with its filter, where it was. Open files of it answer ENODEV from then
  // on. `keep_call`: its records stay readable (gone_calls()). Ids are never given out twice, but
  // to the same event of the same module.
  Status remove_event(LiveEvent* event, bool force, bool keep_call = false);
  // Of events that are gone, one an id; an event that came back stands among those that are there.
  std::vector<const EventCall*> gone_calls() const;
  // A library that brought events is loaded, with all of them added: apply `:mod:` requests.
  void module_loaded(std::string_view module);
  // Some `:mod:` request, or an event that was on when its library went, waits for one to come.
  bool waits_for_modules();
  // Objects that were loaded since the last call go into the meta log, so that addresses in records
  // keep their names. Called wherever something new may be recorded from now on.
  Status describe_modules();
  // The same for the stacks of records (probe/unwind_tables.h), if somebody wants any.
  void follow_stacks();
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
  TraceArray* find_array(std::string_view name);
  std::vector<TraceArray*> arrays();                       // without the top one, in order of name
  Result<TraceArray*> create_array(std::string_view name,  // EEXIST, EINVAL, ENOMEM
                                   std::vector<std::string> systems = {});
  Status remove_array(std::string_view name);  // ENOENT, EBUSY

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
  // One word of set_event, with `!` and `:mod:` (spec 2.2).
  Status set_event(TraceArray& array, std::string_view word);
  std::string show_set_event(const TraceArray& array) const;
  Status clear_set_event(TraceArray& array);  // O_TRUNC

  // --- filters
  Status set_filter(TraceArray& array, LiveEvent* event, std::string_view text);  // "0" clears
  std::string show_filter(const TraceArray& array, const LiveEvent* event) const;
  Status set_system_filter(TraceArray& array, std::string_view system, std::string_view text);
  // A filter over the event's records for who runs it himself (event probes). An error stands in
  // the top instance's error_log, as that of set_filter() in its own.
  Result<FilterProgramPtr> make_filter(LiveEvent* event, std::string_view text);
  // The same of an instance, whose error_log has the error.
  Result<FilterProgramPtr> make_filter(TraceArray& array, LiveEvent* event, std::string_view text);
  // Replaces (open with O_TRUNC has emptied the list before) or adds.
  // kFtrace…: those of set_ftrace_pid, for tracers (option function-fork: children too).
  enum class PidList { kTrace, kNotrace, kFtrace, kFtraceNotrace };
  Status add_pids(TraceArray& array, PidList which, std::string_view text);
  Status clear_pids(TraceArray& array, PidList which);
  // Option event-fork: children of listed tasks are added, exiting ones removed. From the thread
  // hooks (or a program that plays tasks), any thread.
  void task_forked(uint32_t parent, uint32_t child);
  void task_exited(uint32_t pid);

  // --- settings of an instance
  Status set_tracing_on(TraceArray& array, bool on);
  // Option pause-on-trace: nothing is recorded while `trace` is open for reading.
  Status set_paused(TraceArray& array, bool paused);
  // EINVAL for an option that the instance does not have.
  Status set_option(TraceArray& array, TraceOption option, bool on);
  Status set_clock(TraceArray& array, TraceClock clock);  // clears
  Status set_cpumask(TraceArray& array, const std::vector<bool>& cpus);
  Status resize(TraceArray& array, std::optional<uint32_t> cpu,
                uint64_t kb);  // EBUSY, EINVAL, ENOMEM
  Status set_subbuf_size(TraceArray& array, uint64_t kb);
  // free_buffer is closed: the rings shrink to the least; with disable_on_free recording stops.
  void free_buffer(TraceArray& array);
  void clear(TraceArray& array, std::optional<uint32_t> cpu = {});
  // `snapshot`: 0 frees, 1 allocates and takes, other clears; of one CPU only the last (EINVAL).
  // 1 is EBUSY if memory is needed while `trace` or `snapshot` is open for reading. What is freed
  // while somebody reads it stays until the reader has closed.
  Status write_snapshot(TraceArray& array, std::optional<uint32_t> cpu, uint64_t value);
  // What 1 does where a spare buffer is, whoever has made snapshots conditional.
  Status take_snapshot(TraceArray& array);
  // Makes the spare buffer, empty, if there is none.
  Status allocate_snapshot(TraceArray& array);
  // Carries out what a hit has asked for: the snapshot of that moment (ring_buffer/ring_cut.h).
  // Whoever is to see a buffer or a snapshot calls it first. Where the spare buffer is gone:
  // refuse_snapshot().
  void take_cut(TraceArray& array);
  void take_cuts();  // of all instances
  // Says in the buffer that there is no spare one, and switches recording off, as the kernel does.
  void refuse_snapshot(TraceArray& array);

  // --- printk
  // What the program's own threads write into the instance with (probe/printk_hot.h): it follows
  // the instance's rings and its options stacktrace and userstacktrace; *soft is its option
  // trace_printk. Never freed, always the same, with dead rings when the instance is gone.
  EventProgram* printk_program(TraceArray& array);
  // From now on memory is there for what is written into this instance, and for the formats; and
  // for where trace_printk() goes: the instance with the option trace_printk_dest.
  Status start_printk(TraceArray& array);
  bool printk_started() const;
  TraceArray& printk_dest();
  // From now on stacks are walked by tables.
  void want_stacks();

  // --- markers (spec 10.1): records of ftrace:print (id 5) and ftrace:raw_data (id 19), under the
  // writer's thread id. Return the bytes taken.
  struct Writer {
    uint32_t tid = 0;
    uint32_t tgid = 0;
    std::string comm;
    int cpu = -1;  // that it runs on; -1: not known
  };
  // The comm of a task that the probes do not meet themselves (option record-cmd).
  void learn_comm(const Writer& writer);
  Result<size_t> write_marker(TraceArray& array, std::string_view text, const Writer& writer);
  Result<size_t> write_raw_marker(TraceArray& array, std::string_view bytes, const Writer& writer);
  // `inject`: "field=value …" makes one record of the event in this instance.
  Status inject(TraceArray& array, LiveEvent* event, std::string_view text, const Writer& writer);

  // tracing_thresh, microseconds: tracers of durations show only what took longer; 0: everything.
  uint64_t tracing_thresh() const;
  void set_tracing_thresh(uint64_t us);

  uint32_t saved_cmdlines_size() const;
  Status set_saved_cmdlines_size(uint64_t slots);

  // A forked child that cannot know any more what the instance is to record: it records nothing
  // into it from now on. (What other processes record goes on.)
  void abandon(TraceArray& array);

  // Both buffers of every instance are at their end (RingBuffer::close_cleanly).
  void close_cleanly();

  // Start-up: no other thread of the program runs yet.
  void set_single_threaded(bool value);
  bool single_threaded() const;

  struct Impl;

 private:
  explicit Registry(std::unique_ptr<Impl> impl);
  void switch_on_again(std::string_view module);
  std::unique_ptr<Impl> impl_;
};

}  // namespace patchbay
