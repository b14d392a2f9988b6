// SPDX-License-Identifier: MIT
//
// struct trace_event_file: what a program holds of an event in an instance.
//
//   struct trace_event_file = EventFileHandle ── tr ──> struct trace_array     (one an instance)
//     references > 0     the instance and the event stay: removing them is EBUSY
//     target, plan       of a synthetic event: what synth_event_trace() runs (SyntheticEvents)
//
// There is one for each event and instance that somebody ever asked for, and none is ever freed.
#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <utility>

#include "api/change.h"
#include "api/commands.h"
#include "api/trace_array_handle.h"
#include "base/error_pointer.h"
#include "event/synthetic_event.h"
#include "probe/triggers/synthetic_hot.h"

namespace patchbay {

namespace {

static_assert(offsetof(EventFileHandle, tr) == offsetof(trace_event_file, tr));

struct File : EventFileHandle {
  LiveEvent* live;
};

using Files = std::map<std::pair<const LiveEvent*, const trace_array*>, File*>;
Files& files() {
  static auto* const all = new Files;
  return *all;
}

bool is_synthetic(Agent& agent, const LiveEvent* live) {
  return live->source == agent.synthetic_events.get();
}

bool is_there(Agent& agent, const LiveEvent* live) {
  return agent.registry->find_event_by_id(live->call.id) == live;
}

LiveEvent* find_event(Agent& agent, const TraceArray& array, const char* system,
                      const char* event) {
  LiveEvent* live = agent.registry->find_event(system, event);
  if (!live || array.systems.empty()) return live;
  const auto& only = array.systems;
  return std::find(only.begin(), only.end(), live->call.system) == only.end() ? nullptr : live;
}

File* get(Agent& agent, TraceArray& array, LiveEvent* live) {
  trace_array* tr = handle_of(&agent, array);
  File*& file = files()[{live, tr}];
  if (!file) file = new File{{tr, 0, 0, {nullptr}, nullptr}, live};
  array.references++;
  live->references++;
  if (__atomic_add_fetch(&file->references, 1, __ATOMIC_ACQ_REL) == 1 && is_synthetic(agent, live))
    agent.synthetic_events->follow(file, array, live);
  return file;
}

// The caller has seen that it was got as often.
void put(Agent& agent, File* file) {
  if (TraceArray* array = array_of(&agent, static_cast<trace_array*>(file->tr)))
    drop_user(&array->references);
  const bool last = __atomic_sub_fetch(&file->references, 1, __ATOMIC_ACQ_REL) == 0;
  if (!is_there(agent, file->live)) return;
  drop_user(&file->live->references);
  if (last && is_synthetic(agent, file->live)) agent.synthetic_events->unfollow(file, file->live);
}

File* find_file(const trace_event_file* wanted) {
  for (const auto& [key, file] : files())
    if (static_cast<EventFileHandle*>(file) == reinterpret_cast<const EventFileHandle*>(wanted))
      return file;
  return nullptr;
}

}  // namespace

}  // namespace patchbay

using namespace patchbay;

trace_event_file* patchbay_trace_get_event_file(const char* instance, const char* system,
                                                const char* event) {
  File* file = nullptr;
  const int error = !system || !event ? refuse_plain(-EINVAL) : change([&](Agent& agent) {
    Registry& registry = *agent.registry;
    TraceArray* array = instance ? registry.find_array(instance) : &registry.top();
    if (!array)
      return refuse(user_error(ENOENT, "There is no instance \"" + std::string(instance) + "\"."));
    LiveEvent* live = find_event(agent, *array, system, event);
    if (!live)
      return refuse(user_error(
          EINVAL, "There is no event " + std::string(system) + ":" + std::string(event) + "."));
    file = get(agent, *array, live);
    return 0;
  });
  if (error) return reinterpret_cast<trace_event_file*>(intptr_t{error});
  return reinterpret_cast<trace_event_file*>(static_cast<EventFileHandle*>(file));
}

void patchbay_trace_put_event_file(trace_event_file* wanted) {
  [[maybe_unused]] const int ignored = change([wanted](Agent& agent) {
    File* file = find_file(wanted);
    if (file && file->references) put(agent, file);
    return 0;
  });
}

int patchbay_synth_event_nr_fields(const trace_event_file* wanted) {
  return change([wanted](Agent& agent) {
    const File* file = find_file(wanted);
    if (!file || !file->references || !is_there(agent, file->live)) return -ENODEV;
    if (is_synthetic(agent, file->live)) return int(file->live->call.fields.size());
    return refuse(user_error(EINVAL, "The event " + file->live->call.system + ":" +
                                         file->live->call.name + " is no synthetic event."));
  });
}

// Any thread, without the lock.
int patchbay_synth_event_is_wanted(const trace_event_file* file) {
  if (!is_pointer(file)) return 0;
  const auto* handle = reinterpret_cast<const EventFileHandle*>(file);
  if (!__atomic_load_n(&handle->references, __ATOMIC_ACQUIRE)) return 0;
  // Pairs with SyntheticEvents, which puts it there.
  return __atomic_load_n(&handle->target.program, __ATOMIC_ACQUIRE) != nullptr;
}
