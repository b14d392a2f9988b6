// SPDX-License-Identifier: MIT
// Events that the program defines and deletes, and what goes with the object that defined it:
//
//   THIS_MODULE (a word in the object) ── owner of synthetic events    SyntheticEvents
//                                      '─ owner of probe events        `probes` here
//   where the object lies ─────────────── callbacks                    CallbackOps, subscribe.cc
//   dlclose -> the object's destructor -> patchbay_module_gone()
#include <sys/auxv.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include "api/change.h"
#include "api/commands.h"
#include "api/leaving.h"

namespace patchbay {

namespace {

struct OwnedProbe {
  const void* owner;
  LiveEvent* live;
};

// Under the agent's lock. Never freed: threads may run to the very end of the process.
std::vector<OwnedProbe>& owned_probes() {
  static auto* const all = new std::vector<OwnedProbe>;
  return *all;
}

const Module* module_at(Agent& agent, uint64_t address) {
  agent.symbols->refresh();
  for (const Module* module : agent.symbols->modules())
    if (module->start() <= address && address < module->end()) return module;
  return nullptr;
}

// The executable is never unloaded: when its destructors run the process ends.
EventOwner owner_of(Agent& agent, const void* object) {
  if (!object) return {};
  const Module* module = module_at(agent, reinterpret_cast<uint64_t>(object));
  if (!module) return {object, {}};
  const bool is_executable = module == module_at(agent, ::getauxval(AT_PHDR));
  return {is_executable ? nullptr : object, module->name()};
}

bool is_there(Agent& agent, const LiveEvent* live) {
  return agent.registry->find_event_by_id(live->call.id) == live;
}

void remove_owned(Agent& agent, const void* owner) {
  agent.synthetic_events->remove_owned(owner);
  std::erase_if(owned_probes(), [&](const OwnedProbe& probe) {
    if (!is_there(agent, probe.live)) return true;
    return probe.owner == owner && agent.probe_events->remove_forced(probe.live);
  });
}

// No hit calls one of them any more.
void remove_callbacks(Agent& agent, const Module& module,
                      std::vector<const HitCallback*>* callbacks) {
  CallbackOps& all = *agent.callback_ops;
  for (const CallbackOps::Id id : all.inside(module.start(), module.end())) {
    callbacks->push_back(all.remove(id));
    all.forget(id);
  }
  unsubscribe_inside(agent, module.start(), module.end(), callbacks);
}

int no_event(const char* system, const char* event) {
  return refuse(user_error(
      ENOENT, "There is no event " + std::string(system) + ":" + std::string(event) + "."));
}

// In use or not.
int remove_event(Agent& agent, LiveEvent* live) {
  const EventSource* source = live->source;
  if (source == agent.synthetic_events.get() && agent.synthetic_events->remove_forced(live))
    return 0;
  if (source == agent.functions.get() && agent.functions->remove_forced(live)) return 0;
  // Of events that are not its own it says the same.
  if (agent.probe_events->remove_forced(live) && !is_there(agent, live)) return 0;
  return refuse(user_error(EINVAL, "The event " + live->call.system + ":" + live->call.name +
                                       " is none that the program has defined."));
}

int define_probe(Agent& agent, const dynevent_cmd& cmd) {
  const Status status = agent.probe_events->write_line(ProbeFile::kKprobeEvents, cmd.buffer);
  if (!status.ok()) return answer_of(status);
  const EventOwner owner = owner_of(agent, cmd.private_data);
  LiveEvent* live =
      cmd.event_name ? agent.registry->find_event("kprobes", cmd.event_name) : nullptr;
  if (owner.object && live) owned_probes().push_back({owner.object, live});
  return 0;
}

}  // namespace

int run_synthetic_command(dynevent_cmd* cmd) {
  return change([cmd](Agent& agent) {
    const EventOwner owner = owner_of(agent, cmd->private_data);
    return answer_of(agent.synthetic_events->run_command(cmd->buffer, owner));
  });
}

int run_probe_command(dynevent_cmd* cmd) {
  return change([cmd](Agent& agent) { return define_probe(agent, *cmd); });
}

}  // namespace patchbay

using namespace patchbay;

int patchbay_synth_event_delete(const char* name) {
  if (!name) return refuse_plain(-EINVAL);
  return change([name](Agent& agent) { return answer_of(agent.synthetic_events->remove(name)); });
}

int patchbay_kprobe_event_delete(const char* name) {
  if (!name || !*name) return refuse_plain(-EINVAL);
  return change([name](Agent& agent) {
    const std::string line = "-:" + std::string(name);
    return answer_of(agent.probe_events->write_line(ProbeFile::kKprobeEvents, line));
  });
}

int patchbay_event_id(const char* system, const char* event) {
  if (!system || !event) return refuse_plain(-EINVAL);
  return change([=](Agent& agent) {
    const LiveEvent* live = agent.registry->find_event(system, event);
    return live ? int(live->call.id) : no_event(system, event);
  });
}

int patchbay_event_end(const char* system, const char* event, int id) {
  if (!system || !event) return refuse_plain(-EINVAL);
  return change([=](Agent& agent) {
    LiveEvent* live = agent.registry->find_event(system, event);
    if (!live || (id && live->call.id != id)) return no_event(system, event);
    return remove_event(agent, live);
  });
}

void patchbay_module_gone(void* mod) {
  constexpr std::chrono::milliseconds kLongest(2000);
  std::vector<const HitCallback*> callbacks;
  [[maybe_unused]] const int ignored = change([&](Agent& agent) {
    if (!owner_of(agent, mod).object) return 0;
    remove_owned(agent, mod);
    const Module* module = module_at(agent, reinterpret_cast<uint64_t>(mod));
    if (module) remove_callbacks(agent, *module, &callbacks);
    return 0;
  });
  if (callbacks.empty()) return;  // as usual: the program's clock_gettime() may be traced
  // A thread that does not leave its callback in time has nowhere to return to, and nobody can be
  // told. All callbacks share one limit, because a process that ends comes here for each library.
  const auto end = std::chrono::steady_clock::now() + kLongest;
  for (const HitCallback* callback : callbacks) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
    (void)wait_until_left(callback, uint32_t(std::max<int64_t>(left.count(), 0)));
  }
}
