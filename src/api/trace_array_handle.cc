// SPDX-License-Identifier: MIT
#include "api/trace_array_handle.h"

#include "registry/printk.h"

#include <unordered_map>
#include <unordered_set>

namespace patchbay {

namespace {

// Both are never freed: threads may run to the very end of the process.
struct Handles {
  std::unordered_map<uint64_t, trace_array*> by_serial;
  std::unordered_set<const trace_array*> all;
};

Handles& handles() {
  static auto* const all = new Handles;
  return *all;
}

trace_array* make_handle(Registry& registry, TraceArray& array) {
  return new trace_array{registry.printk().program(array), array.serial, array.name, 0,
                         array.is_top()};
}

}  // namespace

trace_array* handle_of(Agent* agent, TraceArray& array) {
  trace_array*& handle = handles().by_serial[array.serial];
  if (handle) return handle;
  handle = make_handle(*agent->registry, array);
  handles().all.insert(handle);
  return handle;
}

bool has_handle(const TraceArray& array) { return handles().by_serial.contains(array.serial); }

bool is_handle(const trace_array* handle) { return handles().all.contains(handle); }

TraceArray* array_of(Agent* agent, trace_array* handle) {
  if (!is_handle(handle)) return nullptr;
  if (handle->is_top) return &agent->registry->top();
  TraceArray* array = agent->registry->find_array(handle->name);
  return array && array->serial == handle->serial ? array : nullptr;
}

void hold_array(Agent* agent, trace_array* handle) {
  TraceArray* array = array_of(agent, handle);
  if (!array) return;
  array->references++;
  handle->references++;
}

void release_array(Agent* agent, trace_array* handle) {
  TraceArray* array = array_of(agent, handle);
  if (!array || !handle->references) return;
  drop_user(&handle->references);
  drop_user(&array->references);
}

std::vector<trace_array*> all_handles(Agent* agent) {
  std::vector<trace_array*> all{handle_of(agent, agent->registry->top())};
  for (TraceArray* array : agent->registry->arrays()) all.push_back(handle_of(agent, *array));
  return all;
}

}  // namespace patchbay
