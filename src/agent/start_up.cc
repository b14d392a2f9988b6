// SPDX-License-Identifier: MIT
#include "agent/start_up.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <mutex>

#include "agent/agent.h"
#include "agent/apply_conf.h"
#include "base/file_mapping.h"
#include "event/error_log.h"
#include "registry/event_requests.h"
#include "registry/event_spec.h"
#include "registry/settings.h"
#include "registry/snapshots.h"
#include "symbol/elf_image.h"

namespace patchbay {

namespace {

// A program started by one that has an agent itself: the same mistakes were reported there already,
// and a shell's children do not have the functions of the program they lead to.
bool parent_has_agent(const Agent& agent) {
  if (agent.directory.empty()) return false;
  std::string parent =
      agent.directory.substr(0, agent.directory.rfind('/') + 1) + std::to_string(::getppid());
  return ::access(parent.c_str(), F_OK) == 0;
}

}  // namespace

void tell_mistake(Agent* agent, const std::string& sentence) {
  if (!parent_has_agent(*agent)) say(sentence);
}

void report(Agent* agent, std::string_view where, std::string_view value, const Status& status,
            size_t position) {
  if (status.ok()) return;
  const std::string message = status.error().message();
  agent->registry->top().errors.add(where, message, value, position);
  tell_mistake(agent, std::string(where) + ": " + std::string(value) + ": " + message);
}

// The events may come with an object whose constructors have not run yet.
void set_event(Agent* agent, TraceArray& array, const std::string& where, const std::string& word) {
  Status status = agent->registry->requests().set(array, word);
  if (!status.ok() && status.error().errno_value == EINVAL)
    agent->waiting_events.push_back({array.name, word, where});
  else
    report(agent, where, word, status);
}

namespace {

void report_variable(Agent* agent, const char* variable, std::string_view value,
                     const Status& status) {
  report(agent, agent->settings.origin_of(variable), value, status);
}

Status set_option(Registry& registry, TraceArray& array, std::string_view word) {
  for (size_t i = 0; i < kTraceOptions.size(); i++) {
    const bool off = word.starts_with("no") && word.substr(2) == kTraceOptions[i].name;
    if (off || word == kTraceOptions[i].name)
      return registry.settings().set_option(array, TraceOption(i), !off);
  }
  return user_error(EINVAL, "There is no such option; see trace_options.");
}

Status set_clock(Registry& registry, TraceArray& array, std::string_view name) {
  for (size_t i = 0; i < kTraceClocks.size(); i++)
    if (kTraceClocks[i].name == name) return registry.settings().set_clock(array, TraceClock(i));
  return user_error(EINVAL, "There is no such clock; see trace_clock.");
}

// On all events of that name, as the kernel does. False: there is none yet.
bool set_trigger(Agent* agent, const TriggerSettings& wanted) {
  TraceArray& top = agent->registry->top();
  bool found = false;
  for (LiveEvent* event : agent->registry->events_of(top, "")) {
    const EventCall& call = event->call;
    if (wanted.event != call.name && wanted.event != call.system + ":" + call.name) continue;
    found = true;
    report_variable(agent, "PATCHBAY_TRACE_TRIGGER", wanted.event + "." + wanted.trigger,
                    agent->triggers->write(top, event, wanted.trigger));
  }
  return found;
}

// One PATCHBAY_TRACE_INSTANCE: name[^flag…][,event…]
Status make_instance(Agent* agent, const InstanceSettings& wanted) {
  Registry& registry = *agent->registry;
  PB_ASSIGN(auto made, registry.create_array(wanted.name));
  for (const std::string& flag : wanted.flags) {
    if (flag == "traceoff")
      PB_TRY(registry.settings().set_tracing_on(*made, false));
    else if (flag == "traceprintk" || flag == "printk" || flag == "trace_printk")
      PB_TRY(registry.settings().set_option(*made, TraceOption::kTracePrintkDest, true));
    else
      return user_error(EINVAL, "An instance has the flags traceoff and traceprintk, not " + flag);
  }
  for (const std::string& word : wanted.events)
    set_event(agent, *made, agent->settings.origin_of("PATCHBAY_TRACE_INSTANCE"), word);
  return {};
}

// Where a section lies in this process; {0, 0}: the object has no such section.
struct Range {
  uint64_t start, size;
};
Range section_in_memory(const ElfImage& image, std::string_view name, uint64_t bias) {
  const ElfSection* section = image.find_section(name);
  if (!section || section->address == 0) return {0, 0};
  return {section->address + bias, section->size};
}

void find_static_events_of(Agent* agent, const Module& module) {
  auto file = FileMapping::open(module.path());
  if (!file.ok()) return;
  auto image = ElfImage::from_file(file->bytes());
  if (!image.ok() || image->build_id() != module.build_id()) return;
  const Range events = section_in_memory(*image, "patchbay_events", module.bias());
  const Range sites = section_in_memory(*image, "patchbay_sites", module.bias());
  if (!events.start || events.start + events.size > module.end()) return;
  if (sites.start + sites.size > module.end()) return;
  auto* first = reinterpret_cast<patchbay_event*>(events.start);
  agent->static_events->register_events(
      PATCHBAY_EVENT_ABI, first, events.size / sizeof(patchbay_event),
      reinterpret_cast<const patchbay_site*>(sites.start), sites.size / sizeof(patchbay_site));
}

// Events of the kernel's kprobe_event= are enabled at once, and those of all its forms here.
void define_probes(Agent* agent) {
  Registry& registry = *agent->registry;
  for (const std::string& line : agent->settings.probe_events) {
    Status status = agent->probe_events->write_line(ProbeFile::kDynamicEvents, line);
    if (!status.ok()) tell_mistake(agent, status.error().message());
  }
  std::vector<LiveEvent*> all = registry.events_of(registry.top(), "");
  std::erase_if(all,
                [&](const LiveEvent* live) { return live->source != agent->probe_events.get(); });
  report_variable(agent, "PATCHBAY_KPROBE_EVENT", "enable",
                  registry.set_enabled(registry.top(), all, true));
}

// Lists of functions word by word, as the kernel does: one that fits nothing does not keep the
// others away.
void write_variable(Agent* agent, const VariableWrite& one) {
  std::string_view rest = one.text;
  int flags = O_WRONLY | O_TRUNC;
  while (true) {
    const size_t size = one.is_list ? rest.find(' ') : rest.npos;
    const std::string word(rest.substr(0, size));
    if (!word.empty())
      report_variable(agent, one.variable, word,
                      write_setting(agent, "", one.file, word + "\n", flags));
    if (size == rest.npos) return;
    flags = O_WRONLY | O_APPEND;
    rest.remove_prefix(size + 1);
  }
}

}  // namespace

void find_static_events(Agent* agent) {
  agent->symbols->refresh();
  for (const Module* module : agent->symbols->modules()) find_static_events_of(agent, *module);
}

[[gnu::cold]] void apply_settings(Agent* agent) {
  const AgentSettings& settings = agent->settings;
  Registry& registry = *agent->registry;
  TraceArray& top = registry.top();
  apply_conf(agent);
  for (const std::string& line : settings.function_events) {
    const std::string where = settings.origin_of("PATCHBAY_FUNCTION_EVENTS");
    const ErrorOrigin origin(where);
    Status status = agent->functions->write_line(line);
    if (!status.ok()) tell_mistake(agent, status.error().message());
  }
  define_probes(agent);
  for (const std::string& word : settings.trace_options)
    report_variable(agent, "PATCHBAY_TRACE_OPTIONS", word, set_option(registry, top, word));
  if (!settings.trace_clock.empty())
    report_variable(agent, "PATCHBAY_TRACE_CLOCK", settings.trace_clock,
                    set_clock(registry, top, settings.trace_clock));
  if (settings.alloc_snapshot)
    report_variable(agent, "PATCHBAY_ALLOC_SNAPSHOT", "1", registry.snapshots().allocate(top));
  for (const InstanceSettings& instance : settings.instances)
    report_variable(agent, "PATCHBAY_TRACE_INSTANCE", instance.name,
                    make_instance(agent, instance));
  if (settings.enable_all)
    report_variable(agent, "PATCHBAY_FUNCTION_EVENTS", "enable",
                    registry.set_enabled(top, registry.events_of(top, "functions"), true));
  for (const TriggerSettings& wanted : settings.trace_triggers)
    if (!set_trigger(agent, wanted)) agent->waiting_triggers.push_back(wanted);
  for (const std::string& word : settings.trace_events)
    set_event(agent, top, settings.origin_of("PATCHBAY_TRACE_EVENT"), word);
  retry_waiting_events(agent);  // for what the variables have defined
  for (const VariableWrite& one : settings.writes) write_variable(agent, one);
}

void retry_waiting_events(Agent* agent) {
  Registry& registry = *agent->registry;
  retry_waiting_writes(agent);
  std::erase_if(agent->waiting_triggers,
                [&](const TriggerSettings& wanted) { return set_trigger(agent, wanted); });
  std::erase_if(agent->waiting_events, [&](const WaitingEvent& waiting) {
    TraceArray* array =
        waiting.array.empty() ? &registry.top() : registry.find_array(waiting.array);
    if (!array) return true;
    Status status = registry.requests().set(*array, waiting.word);
    if (!status.ok() && status.error().errno_value == EINVAL) return false;
    report(agent, waiting.where, waiting.word, status);
    return true;
  });
}

void report_waiting_events(Agent* agent) {
  if (std::exchange(agent->waiting_reported, true)) return;
  report_waiting_writes(agent);
  for (const WaitingEvent& waiting : agent->waiting_events)
    report(agent, waiting.where, waiting.word, user_error(EINVAL, "no event has this name"));
  for (const TriggerSettings& wanted : agent->waiting_triggers)
    report_variable(agent, "PATCHBAY_TRACE_TRIGGER", wanted.event + "." + wanted.trigger,
                    user_error(EINVAL, "there is no such event"));
}

void report_unplaced_events(Agent* agent) {
  if (agent->settings.function_events.empty() && !agent->settings.wait) return;
  for (const std::string& sentence : agent->functions->never_placed())
    tell_mistake(agent, sentence);
}

}  // namespace patchbay
