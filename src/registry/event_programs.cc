// SPDX-License-Identifier: MIT
//
// From what instances want of events to what traced threads run, as one transaction:
//
//   A  A program for each (instance, event) that is to record; the last one again if nothing has
//      changed.
//   B  LiveEvent.programs of all events are exchanged.
//   C  Each source is told once. If one refuses, B is taken back, and those before it are told
//      again.
//   D  Programs that nobody wants any more: rings = dead_rings(), then quiesce(). A thread that is
//      still on its way with one of them finds no ring; so when the call returns, no unwanted
//      record can come any more. Where the event stays on, the old program names its successor,
//      which that thread asks instead (probe/probe_hot.h): nothing is lost by a change.
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <unordered_set>

#include "base/agreed.h"
#include "base/check.h"
#include "base/shared_memory.h"
#include "probe/triggers/action_hot.h"
#include "probe/triggers/trigger_hot.h"
#include "registry/registry_impl.h"

namespace patchbay {

namespace {

// Null: the event is off, or what a thread has built by the old one is no record of the new one.
void set_successor(const EventProgram* program, const EventProgram* successor) {
  // Before its rings go; pairs with has_successor().
  __atomic_store_n(&const_cast<EventProgram*>(program)->successor, successor, __ATOMIC_RELEASE);
}

bool makes_same_records(const EventProgram& a, const EventProgram& b) {
  return a.kind == b.kind && a.id == b.id && a.fetch == b.fetch && a.max_size == b.max_size &&
         a.from_record == b.from_record && a.graph_flags == b.graph_flags;
}

bool same_but_rings(const EventProgram& a, const EventProgram& b) {
  return a.fetch == b.fetch && a.filter == b.filter && a.pids == b.pids &&
         a.notrace_pids == b.notrace_pids && a.id == b.id && a.pid_field[0] == b.pid_field[0] &&
         a.pid_field[1] == b.pid_field[1] && a.max_size == b.max_size &&
         a.from_record == b.from_record && a.source_filter == b.source_filter && a.kind == b.kind &&
         a.action == b.action && a.stack == b.stack && a.merges_repeats == b.merges_repeats &&
         a.graph_flags == b.graph_flags && a.soft == b.soft && a.triggers == b.triggers &&
         a.callback == b.callback;
}

// The words that only tracers have; the threads of an instance's tracers are those of
// set_ftrace_pid. Commands act for all threads, and callbacks of the program.
void copy_tracer(const TraceArray& array, const LiveEvent& tracer, EventProgram* program) {
  program->kind = tracer.kind;
  const bool acts =
      program->kind == ConsumerKind::kAction || program->kind == ConsumerKind::kCallback;
  program->pids = acts ? nullptr : array.ftrace_pid_set;
  program->notrace_pids = acts ? nullptr : array.ftrace_notrace_pid_set;
  program->stack = tracer.stack;
  program->merges_repeats = tracer.merges_repeats;
  program->graph_flags = tracer.graph_flags;
  program->action = tracer.action;
  program->callback = tracer.callback;
}

bool wants_stacks(const TriggerProgram& triggers) {
  const std::span<const Trigger> all(triggers.trigger, triggers.nr_triggers);
  return std::any_of(all.begin(), all.end(), [](const Trigger& one) {
    return one.kind == TriggerKind::kHist ||
           (one.kind == TriggerKind::kAction && one.action->kind == ActionKind::kStackTrace);
  });
}

bool walks_stacks(const EventProgram& program) {
  if (program.stack || program.kind == ConsumerKind::kStackDepth) return true;
  if (program.triggers && wants_stacks(*program.triggers)) return true;
  return program.kind == ConsumerKind::kAction && program.action &&
         program.action->kind == ActionKind::kStackTrace;
}

// sched_switch and the wakeups count for both tasks (docs/files.md, "Lists of threads").
void find_pid_fields(const EventCall& call, EventProgram* program) {
  if (call.system != "sched") return;
  const char* names[2] = {nullptr, nullptr};
  if (call.name == "sched_switch") {
    names[0] = "prev_pid";
    names[1] = "next_pid";
  } else if (call.name == "sched_wakeup" || call.name == "sched_waking" ||
             call.name == "sched_wakeup_new") {
    names[0] = "pid";
  }
  for (int i = 0; i < 2; i++) {
    const EventField* field = names[i] ? call.find(names[i]) : nullptr;
    if (field && field->size == 4) program->pid_field[i] = uint16_t(field->offset);
  }
}

// In soft mode the word is what counts. A thread may have looked at it already: what it still has
// of the old program then leads to no rings. Forked children share the word: a hit may have
// switched it since the parent did.
void switch_file(EventFile* file, bool on) {
  file->enabled = on;
  if (!file->soft_users) return;
  if (!is_forked_child()) __atomic_store_n(file->soft, on ? 1 : 0, __ATOMIC_RELEASE);
  if (!on) file->newest = nullptr;
}

}  // namespace

void set_rings(const EventProgram* program, const RingSet* rings) {
  // Of a published program only this and its successor change; pairs with the load inside the
  // restartable sequence.
  __atomic_store_n(&const_cast<EventProgram*>(program)->rings, rings, __ATOMIC_RELEASE);
}

// Options stacktrace and userstacktrace.
uint8_t stacks_of(const TraceArray& array) {
  uint8_t stacks = 0;
  if (array.options[TraceOption::kStackTrace]) stacks |= kKernelStack;
  if (array.options[TraceOption::kUserStackTrace]) stacks |= kUserStack;
  return stacks;
}

uint32_t max_record(uint32_t subbuf_size) { return subbuf_size - abi::kPageHeaderSize - 8; }
uint32_t max_record(const RingBuffer& buffer) { return max_record(buffer.rings()->subbuf_size); }

EventFile& Registry::Impl::file_of(TraceArray& array, LiveEvent* event) {
  EventFile& file = array.files[event];
  file.event = event;
  return file;
}

const EventFile* Registry::Impl::find_file(const TraceArray& array, const LiveEvent* event) const {
  auto found = array.files.find(event);
  return found == array.files.end() ? nullptr : &found->second;
}

const EventFile* Registry::file(const TraceArray& array, const LiveEvent* event) const {
  return impl_->find_file(array, event);
}

bool Registry::is_enabled(const TraceArray& array, const LiveEvent* event) const {
  const EventFile* file = impl_->find_file(array, event);
  return file && file->is_on();
}

// The first event of an instance reserves its memory, whether recording is on or not.
Status Registry::Impl::start_recording(TraceArray& array) {
  PB_TRY(objects.describe());
  objects.follow_stacks();
  if (array.paused) return array.buffer->expand();
  return array.buffer->enabled() ? Status() : array.buffer->enable();
}

// --- A

Result<EventProgram*> Registry::Impl::program_for(TraceArray& array, EventFile& file) {
  const LiveEvent& event = *file.event;
  if (event.max_size > max_record(*array.buffer))
    return user_error(E2BIG, "A record of " + event.call.name + " (" +
                                 std::to_string(event.max_size) +
                                 " bytes) does not fit into a sub-buffer of this instance.");
  EventProgram wanted = {};
  wanted.fetch = event.fetch;
  wanted.filter = file.filter.get();
  wanted.pids = array.pid_set;
  wanted.notrace_pids = array.notrace_pid_set;
  wanted.id = event.call.id;
  wanted.max_size = event.max_size;
  wanted.from_record = event.from_record;
  wanted.source_filter = event.source_filter;
  wanted.stack = stacks_of(array);
  wanted.soft = file.soft_users ? file.soft : nullptr;
  wanted.has_soft = file.soft_users != 0;
  wanted.triggers = file.triggers;
  if (event.is_tracer)
    copy_tracer(array, event, &wanted);
  else
    find_pid_fields(event.call, &wanted);
  if (walks_stacks(wanted)) objects.want_stacks();
  if (file.newest && same_but_rings(*file.newest, wanted)) return file.newest;
  if (event.is_tracer) {
    file.newest = idle_program(array, wanted);
    if (file.newest) return file.newest;
  }
  wanted.rings = RingBuffer::dead_rings();
  if (wanted.filter) file.filter_ran = true;
  programs.push_back(std::make_unique<EventProgram>(wanted));
  file.newest = programs.back().get();
  return file.newest;
}

// --- B

std::vector<Registry::Impl::Batch> Registry::Impl::swap_programs(std::vector<Change>& changes) {
  std::vector<Batch> batches;
  // An instance has one file of each event.
  const bool one_array = std::all_of(changes.begin(), changes.end(), [&](const Change& change) {
    return change.array == changes[0].array;
  });
  std::unordered_set<LiveEvent*> seen;
  for (size_t i = 0; i < changes.size(); i++) {
    // Of many the memory of those that come next is asked for in time.
    if (i + 8 < changes.size()) __builtin_prefetch(&changes[i + 8].file->event->programs);
    Change& change = changes[i];
    LiveEvent* event = change.file->event;
    auto& list = event->programs;
    auto place = std::find(list.begin(), list.end(), change.previous);
    if (change.next) {
      set_successor(change.next, nullptr);
      set_rings(change.next, change.array->buffer->rings());
    }
    PB_CHECK(!change.previous || place != list.end());
    if (place != list.end()) list.erase(place);
    if (change.next) list.push_back(change.next);
    change.file->program = change.next;
    if (!event->source || (!one_array && !seen.insert(event).second)) continue;
    auto batch = std::find_if(batches.begin(), batches.end(),
                              [&](const Batch& b) { return b.source == event->source; });
    if (batch == batches.end()) batch = batches.insert(batches.end(), {event->source, {}});
    batch->events.push_back(event);
  }
  return batches;
}

// --- C

Status Registry::Impl::publish(std::span<const File> files, bool force) {
  std::vector<Change> changes;
  for (auto [array, file] : files) {
    Change change{array, file, nullptr, file->program};
    if (file->enabled || file->soft_users) {
      PB_ASSIGN(auto program, program_for(*array, *file));
      change.next = program;
    }
    if (change.next != change.previous) changes.push_back(change);
  }
  std::vector<Batch> batches = swap_programs(changes);
  for (size_t i = 0; i < batches.size(); i++) {
    Status status = batches[i].source->update(batches[i].events);
    if (status.ok() || force) continue;
    take_back(changes, std::span(batches).first(i));
    return status;
  }
  retire(changes);
  return {};
}

void Registry::Impl::take_back(std::vector<Change>& changes, std::span<Batch> done) {
  std::vector<Change> back;
  for (const Change& change : changes)
    back.push_back(
        {change.array, change.file, const_cast<EventProgram*>(change.previous), change.next});
  swap_programs(back);
  // They did more a moment ago; a source that cannot go back now records what it should not have
  // to, into dead rings.
  for (Batch& batch : done) {
    [[maybe_unused]] Status ignored = batch.source->update(batch.events);
  }
  retire(back);
}

Status Registry::Impl::publish_enabled(TraceArray& array) {
  Files files;
  for (auto& [event, file] : array.files)
    if (file.program) files.emplace_back(&array, &file);
  return publish(files);
}

// --- D

void Registry::Impl::retire(std::span<const Change> changes) {
  std::vector<TraceArray*> arrays_of_old;
  for (const Change& change : changes) {
    if (!change.previous) continue;
    if (change.next && makes_same_records(*change.previous, *change.next))
      set_successor(change.previous, change.next);
    set_rings(change.previous, RingBuffer::dead_rings());
    const auto found = std::find(arrays_of_old.rbegin(), arrays_of_old.rend(), change.array);
    if (found == arrays_of_old.rend()) arrays_of_old.push_back(change.array);
  }
  for (TraceArray* array : arrays_of_old) array->buffer->quiesce();
}

void Registry::Impl::point_to_rings(TraceArray& array) {
  for (auto& [event, file] : array.files)
    if (file.program) set_rings(file.program, array.buffer->rings());
  if (array.printk) set_rings(array.printk, array.buffer->rings());
  array.buffer->settle();
}

// --- enabling

Status Registry::set_enabled(TraceArray& array, std::span<LiveEvent* const> events, bool on) {
  return impl_->set_enabled(array, events, on);
}

Status Registry::Impl::set_enabled(TraceArray& array, std::span<LiveEvent* const> wanted, bool on) {
  Files changed;
  for (size_t i = 0; i < wanted.size(); i++) {
    if (i + 8 < wanted.size()) __builtin_prefetch(&wanted[i + 8]->can_enable);
    LiveEvent* event = wanted[i];
    if (!event->can_enable || !sees(array, *event)) continue;
    if (!on && !find_file(array, event)) continue;
    EventFile& file = file_of(array, event);
    if (file.is_on() != on) changed.emplace_back(&array, &file);
  }
  if (changed.empty()) return {};
  if (on) PB_TRY(start_recording(array));
  return switch_files(changed, on);
}

// Events that can be switched are switched, whatever becomes of the others, as in the kernel. The
// error is that of the first that cannot. It is found by halving the list, so that one transaction
// does for all where nothing is wrong.
Status Registry::Impl::switch_files(std::span<const File> files, bool on) {
  for (auto [_, file] : files) switch_file(file, on);
  Status status = publish(files);
  if (status.ok()) return status;
  for (auto [_, file] : files) switch_file(file, !on);
  if (files.size() == 1) return status;
  const size_t half = files.size() / 2;
  Status first = switch_files(files.first(half), on);
  Status second = switch_files(files.subspan(half), on);
  return first.ok() ? second : first;
}

char Registry::summary(const TraceArray& array, std::string_view system) const {
  bool any_on = false, any_off = false;
  for (const auto& event : impl_->events) {
    if (!event->can_enable || (!system.empty() && system != event->call.system)) continue;
    if (!impl_->sees(array, *event)) continue;
    const EventFile* file = impl_->find_file(array, event.get());
    bool on = file && file->is_on();
    // One that only a trigger holds is neither.
    if (file && file->soft_users && !on) any_on = true;
    (on ? any_on : any_off) = true;
  }
  if (any_on) return any_off ? 'X' : '1';
  return any_off ? '0' : '?';
}

// --- tracers

// A tracer that was off takes up the program that it, or one like it, had before.
EventProgram* Registry::Impl::idle_program(const TraceArray& array, const EventProgram& wanted) {
  const auto fits = [&](const auto& idle) {
    return idle.first == &array && same_but_rings(*idle.second, wanted);
  };
  auto found = std::find_if(idle_tracers.begin(), idle_tracers.end(), fits);
  if (found == idle_tracers.end()) return nullptr;
  EventProgram* program = found->second;
  idle_tracers.erase(found);
  return program;
}

Status Registry::set_tracing(TraceArray& array, LiveEvent* tracer, bool on) {
  Impl& impl = *impl_;
  auto found = array.files.find(tracer);
  if (!on && found == array.files.end()) return {};
  if (on) PB_TRY(impl.start_recording(array));
  EventFile& file = impl.file_of(array, tracer);
  EventProgram* const before = file.newest;
  file.enabled = on;
  Status status = impl.publish(Impl::Files{{&array, &file}}, !on);
  if (on && status.ok()) return status;
  if (before) impl.idle_tracers.emplace_back(&array, before);
  if (file.newest && file.newest != before) impl.idle_tracers.emplace_back(&array, file.newest);
  array.files.erase(tracer);
  return status;
}

Status Registry::remake_program(TraceArray& array, LiveEvent* tracer) {
  auto found = array.files.find(tracer);
  if (found == array.files.end()) return {};
  EventProgram* const before = found->second.newest;
  PB_TRY(impl_->publish(Impl::Files{{&array, &found->second}}));
  if (before && before != found->second.newest) impl_->idle_tracers.emplace_back(&array, before);
  return {};
}

// --- soft mode

Status Registry::hold_soft(TraceArray& array, LiveEvent* event) {
  EventFile& file = impl_->file_of(array, event);
  if (file.soft_users) {
    file.soft_users++;
    return {};
  }
  PB_TRY(impl_->start_recording(array));
  if (!file.soft)
    file.soft = agreed_shared<uint32_t>(
        "soft", array.name + "/" + event_key(event->call.system, event->call.name));
  if (!is_forked_child()) __atomic_store_n(file.soft, file.enabled ? 1 : 0, __ATOMIC_RELEASE);
  file.soft_users = 1;
  Status status = impl_->publish(Impl::Files{{&array, &file}});
  if (!status.ok()) file.soft_users = 0;
  return status;
}

void Registry::release_soft(TraceArray& array, LiveEvent* event) {
  auto found = array.files.find(event);
  if (found == array.files.end() || !found->second.soft_users) return;
  EventFile& file = found->second;
  bool on = file.is_on();
  // A hit may switch it at any time, and in a child this is a moment later.
  const uint64_t key =
      note_key("released", array.name + "/" + event_key(event->call.system, event->call.name));
  if (is_forked_child())
    on = noted(key).value_or(on);
  else
    note(key, on);
  drop_user(&file.soft_users);
  if (file.soft_users) return;
  file.enabled = on;
  [[maybe_unused]] Status ignored = impl_->publish(Impl::Files{{&array, &file}}, true);
}

// --- triggers

Status Registry::set_triggers(TraceArray& array, LiveEvent* event, const TriggerProgram* triggers) {
  EventFile& file = impl_->file_of(array, event);
  const TriggerProgram* before = std::exchange(file.triggers, triggers);
  Status status = impl_->publish(Impl::Files{{&array, &file}});
  if (!status.ok()) file.triggers = before;
  return status;
}

void Registry::set_tracer_hooks(TracerHooks hooks) { impl_->tracer_hooks = std::move(hooks); }

void Registry::set_trigger_hooks(TriggerHooks hooks) { impl_->trigger_hooks = std::move(hooks); }

}  // namespace patchbay
