// SPDX-License-Identifier: MIT
#include "agent/ended_instances.h"

#include <algorithm>
#include <cerrno>
#include <new>
#include <string>
#include <vector>

namespace patchbay {

namespace {

// Nothing is recorded into it from now on.
void silence(Agent* agent, TraceArray& array) {
  Registry& registry = *agent->registry;
  std::vector<LiveEvent*> enabled;
  for (LiveEvent* live : registry.events_of(array, ""))
    if (live->can_enable) enabled.push_back(live);
  [[maybe_unused]] Status ignored = registry.set_enabled(array, enabled, false);
  ring_switch(array.buffer->rings(), false);
}

// True: it is no longer there, whoever has removed it.
bool is_done_with(Agent* agent, uint64_t serial) {
  const std::vector<TraceArray*> all = agent->registry->arrays();
  auto found = std::find_if(all.begin(), all.end(),
                            [serial](const TraceArray* one) { return one->serial == serial; });
  if (found == all.end()) return true;
  if ((*found)->references) return false;
  const std::string name = (*found)->name;
  return agent->registry->remove_array(name).ok();
}

}  // namespace

int end_instance(Agent* agent, TraceArray& array) {
  if (!array.references) {
    const std::string name = array.name;
    const Status removed = agent->registry->remove_array(name);
    return removed.ok() ? 0 : -removed.error().errno_value;
  }
  silence(agent, array);
  if (!has_ended(agent, array)) agent->ended_instances.push_back(array.serial);
  return -EBUSY;
}

void remove_ended_instances(Agent* agent) {
  if (agent->ended_instances.empty()) return;
  try {
    std::erase_if(agent->ended_instances,
                  [agent](uint64_t serial) { return is_done_with(agent, serial); });
  } catch (const std::bad_alloc&) {  // the next time
  }
}

void revive_instance(Agent* agent, TraceArray& array) {
  if (!std::erase(agent->ended_instances, array.serial)) return;
  ring_switch(array.buffer->rings(), true);
}

bool has_ended(const Agent* agent, const TraceArray& array) {
  return std::find(agent->ended_instances.begin(), agent->ended_instances.end(), array.serial) !=
         agent->ended_instances.end();
}

}  // namespace patchbay
