// SPDX-License-Identifier: MIT
#include "agent/registrations.h"

#include <algorithm>
#include <cerrno>
#include <mutex>
#include <new>
#include <vector>

#include "agent/agent.h"
#include "agent/start_up.h"
#include "registry/event_requests.h"

#define PATCHBAY_API extern "C" __attribute__((visibility("default")))

namespace patchbay {
namespace {

struct Registration {
  uint32_t abi;
  patchbay_event* events;
  uint64_t nr_events;
  const patchbay_site* sites;
  uint64_t nr_sites;
};

// Before the agent is there only one thread runs, but for a program that loads us late: then the
// constructor and another dlopen wait for each other in the dynamic linker.
std::vector<Registration>& early_registrations() {
  static auto* registrations = new std::vector<Registration>;
  return *registrations;
}

// The name of the object that holds an address, as `:mod:` means it.
std::string module_name_at(Agent* agent, const void* address) {
  const auto wanted = reinterpret_cast<uint64_t>(address);
  agent->symbols->refresh();
  for (const Module* module : agent->symbols->modules())
    if (module->start() <= wanted && wanted < module->end()) return module->name();
  return {};
}

int enter(Agent* agent, const Registration& r) {
  const int result =
      agent->static_events->register_events(r.abi, r.events, r.nr_events, r.sites, r.nr_sites);
  if (r.abi == PATCHBAY_EVENT_ABI) {
    agent->registry->requests().module_loaded(module_name_at(agent, r.events));
    retry_waiting_events(agent);
  }
  return result;
}

}  // namespace

void take_early_registrations(Agent* agent) {
  for (const Registration& registration : std::exchange(early_registrations(), {}))
    enter(agent, registration);
}

}  // namespace patchbay

PATCHBAY_API int patchbay_register_events(uint32_t abi, patchbay_event* events, uint64_t nr_events,
                                          const patchbay_site* sites, uint64_t nr_sites) try {
  patchbay::AgentScope scope;
  const patchbay::Registration registration{abi, events, nr_events, sites, nr_sites};
  if (!patchbay::g_agent) {
    patchbay::early_registrations().push_back(registration);
    return 0;
  }
  patchbay::Agent* agent = patchbay::own_agent();
  if (!agent) return -ESRCH;  // a forked child has no agent of its own
  std::lock_guard guard(agent->lock());
  return patchbay::enter(agent, registration);
} catch (const std::bad_alloc&) {
  return patchbay::no_memory(-ENOMEM);
}

PATCHBAY_API void patchbay_unregister_events(patchbay_event* events, uint64_t nr_events) try {
  patchbay::AgentScope scope;
  if (!patchbay::g_agent) {
    std::erase_if(patchbay::early_registrations(),
                  [events](const auto& registration) { return registration.events == events; });
    return;
  }
  patchbay::Agent* agent = patchbay::own_agent();
  if (!agent) return;
  std::lock_guard guard(agent->lock());
  agent->static_events->unregister_events(events, nr_events);
} catch (const std::bad_alloc&) {
  patchbay::say_no_memory();
}
