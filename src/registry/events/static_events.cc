// SPDX-License-Identifier: MIT
//
// Order matters, because threads are in the sites all the time:
//
//   on    A  event->program, event->hit     so that a thread that jumps finds them
//         B  nop -> jmp                     one transaction for all events of the call
//   off   C  jmp -> nop
//         D  event->hit, event->program = 0 a thread that is out of line already drops its record,
//                                           or records into dead rings (event_programs.cc)
#include "registry/events/static_events.h"

#include <link.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <deque>

#include "base/loaded_objects.h"
#include "base/text.h"
#include "probe/entry/static_event_hot.h"
#include "probe/triggers/trigger_hot.h"
#include "registry/event_requests.h"
#include "registry/events/static_event_call.h"

namespace patchbay {

// What an event runs, and where its hits enter then.
struct StaticEvents::Made {
  const SiteProgram* program;
  StaticEventHit hit;
};

struct StaticEvents::Definition {
  LiveEvent* live = nullptr;
  std::vector<std::pair<patchbay_event*, Object*>> parts;
  const Made* current = nullptr;  // null: off
  std::deque<Made> made;          // all that it ever had
  bool changing = false;          // in the running patch()
};

struct KeySite {
  uint64_t address;
  uint64_t target;
  uint64_t event;  // index in its object
  bool on;
};

struct StaticEvents::Object {
  patchbay_event* events = nullptr;
  uint64_t nr_events = 0;
  std::string module;                    // "" for the program itself
  bool is_program = false;               // stays until the process ends
  std::vector<Definition*> definitions;  // of each event; null: not added
  std::vector<KeySite> sites;
  std::map<uint64_t, std::string> refusals;  // by address
  bool leaving = false;
};

namespace {

struct ObjectSearch {
  uint64_t address;
  bool first = true;
  bool is_program = false;
  std::string name;
};

int match_object(const dl_phdr_info& info, ObjectSearch* search) {
  const bool is_program = search->first;
  search->first = false;
  for (int i = 0; i < info.dlpi_phnum; i++) {
    const ElfW(Phdr)& header = info.dlpi_phdr[i];
    const uint64_t start = info.dlpi_addr + header.p_vaddr;
    if (header.p_type != PT_LOAD || search->address < start ||
        search->address - start >= header.p_memsz)
      continue;
    search->is_program = is_program;
    const std::string_view path = info.dlpi_name ? info.dlpi_name : "";
    search->name = base_name(path);
    return 1;
  }
  return 0;
}

ObjectSearch find_object(const void* address) {
  ObjectSearch search{.address = reinterpret_cast<uint64_t>(address), .name = {}};
  for_each_object([&](const dl_phdr_info& info) { return match_object(info, &search); });
  return search;
}

std::string other_version(uint32_t abi) {
  return "Its static events are of version " + std::to_string(abi) + ", this agent knows version " +
         std::to_string(PATCHBAY_EVENT_ABI) +
         ": there are none of them. Build it with the patchbay/trace_event.h of this agent.";
}

std::string full_name(const patchbay_event& event) {
  return std::string(event.system ? event.system : "?") + ":" + (event.name ? event.name : "?");
}

}  // namespace

StaticEvents::StaticEvents(Registry& registry, Patcher& patcher)
    : registry_(registry), patcher_(patcher) {}
StaticEvents::~StaticEvents() = default;

// A thread may have the old `hit` and the new `program`, or the other way round: static_event_hit()
// takes any program, generated code has its own.
void StaticEvents::show_part(patchbay_event* event, const Made* made) {
  // Pairs with the acquire loads of static_event_hit() and of the record's builder.
  __atomic_store_n(&event->program, made ? made->program : nullptr, __ATOMIC_RELEASE);
  __atomic_store_n(&event->hit, made ? made->hit : nullptr, __ATOMIC_RELEASE);
}

void StaticEvents::note(const std::string& command, const std::string& reason) {
  registry_.top().errors.add("static_events", reason, command, 0);
}

// --- objects come

[[gnu::cold]] Result<StaticEvents::Definition*> StaticEvents::add_part(patchbay_event* event,
                                                                       Object* object) {
  PB_ASSIGN(auto call, static_event_call(*event));
  LiveEvent* live = registry_.find_event(call.system, call.name);
  if (live && (live->source != this || !same_layout(live->call, call)))
    return user_error(EEXIST, "Another event has this name, with other fields.");
  if (!live) {
    auto made = std::make_unique<LiveEvent>();
    made->call = std::move(call);
    made->source = this;
    made->module = object->module;
    made->max_size = event->max_size;
    PB_ASSIGN(auto added, registry_.add_event(std::move(made)));
    live = added;
    auto definition = std::make_unique<Definition>();
    definition->live = live;
    live->data = definition.get();
    definitions_[live] = std::move(definition);
  }
  auto* definition = static_cast<Definition*>(live->data);
  definition->parts.emplace_back(event, object);
  event->live = live;
  show_part(event, definition->current);
  return definition;
}

void StaticEvents::add_sites(Object* object, const patchbay_site* sites, uint64_t nr_sites) {
  object->sites.reserve(nr_sites);
  for (const patchbay_site& site : std::span(sites, nr_sites)) {
    if (!site.address || site.event < object->events) continue;
    const uint64_t index = static_cast<uint64_t>(site.event - object->events);
    if (index >= object->nr_events || !object->definitions[index]) continue;
    object->sites.push_back({reinterpret_cast<uint64_t>(site.address),
                             reinterpret_cast<uint64_t>(site.target), index, false});
  }
}

[[gnu::cold]] int StaticEvents::register_events(uint32_t abi, patchbay_event* events,
                                                uint64_t nr_events, const patchbay_site* sites,
                                                uint64_t nr_sites) {
  if ((nr_events && !events) || (nr_sites && !sites)) return -EINVAL;
  if (abi == PATCHBAY_EVENT_ABI && nr_events) abi = events->abi;
  if (abi != PATCHBAY_EVENT_ABI) {
    const ObjectSearch place = find_object(events);
    note(place.is_program ? "the program" : place.name, other_version(abi));
    return -EINVAL;
  }
  for (const auto& known : objects_)
    if (known->events == events) return 0;
  objects_.push_back(std::make_unique<Object>());
  Object* object = objects_.back().get();
  object->events = events;
  object->nr_events = nr_events;
  const ObjectSearch place = find_object(events);
  object->is_program = place.is_program;
  if (!place.is_program) object->module = place.name;
  int result = 0;
  std::vector<Definition*> running;
  for (uint64_t i = 0; i < nr_events; i++) {
    auto added = add_part(&events[i], object);
    object->definitions.push_back(added.ok() ? *added : nullptr);
    if (added.ok() && (*added)->current) running.push_back(*added);
    if (added.ok()) continue;
    if (!result) result = -added.error().errno_value;
    note(full_name(events[i]), added.error().message());
  }
  add_sites(object, sites, nr_sites);
  Status patched = patch(running, object);
  if (!patched.ok()) note(object->module, patched.error().message());
  if (!object->module.empty()) registry_.requests().module_loaded(object->module);
  return result;
}

// --- objects go

void StaticEvents::drop_part(Object* object, Definition* definition) {
  auto& parts = definition->parts;
  std::erase_if(parts, [object](const auto& part) { return part.second == object; });
  if (!parts.empty()) {
    definition->live->module = parts.front().second->module;
    return;
  }
  LiveEvent* live = definition->live;
  [[maybe_unused]] Status ignored = registry_.remove_event(live, true, true);
  definitions_.erase(live);
}

void StaticEvents::unregister_events(patchbay_event* events, uint64_t nr_events) {
  auto found = std::find_if(objects_.begin(), objects_.end(),
                            [events](const auto& object) { return object->events == events; });
  if (found == objects_.end() || (*found)->is_program) return;
  Object* object = found->get();
  object->leaving = true;
  std::vector<Definition*> all;
  for (Definition* definition : object->definitions)
    if (definition && std::find(all.begin(), all.end(), definition) == all.end())
      all.push_back(definition);
  [[maybe_unused]] Status ignored = patch(all, object);
  for (patchbay_event& event : std::span(events, nr_events)) {
    show_part(&event, nullptr);
    event.live = nullptr;
  }
  for (Definition* definition : all) drop_part(object, definition);
  objects_.erase(std::find_if(objects_.begin(), objects_.end(),
                              [object](const auto& known) { return known.get() == object; }));
}

// --- events go on and off

// Where its first site is: what probes on the event (t:) show as their place.
uint64_t StaticEvents::first_site(const Definition& definition) {
  for (const auto& [event, object] : definition.parts)
    for (const KeySite& site : object->sites)
      if (object->definitions[site.event] == &definition) return site.address;
  return 0;
}

static bool is_one_callback(const TriggerProgram& triggers) {
  return triggers.nr_triggers == 1 && triggers.trigger[0].kind == TriggerKind::kCallback;
}

// SiteProgram.plain.
static uint16_t plainness(const EventProgram& event) {
  if (event.from_record || event.pids || event.notrace_pids || event.stack) return 0;
  if (event.kind != ConsumerKind::kRecord) return 0;
  if (!event.has_soft && !event.triggers) return kPlain;
  if (event.has_soft && event.triggers && event.triggers->listeners) return kMirrored;
  if (event.has_soft && event.triggers && is_one_callback(*event.triggers))
    return event.triggers->trigger[0].filter ? kCalls : kCallsAlways;
  const bool has_gate = event.triggers && event.triggers->gate && event.triggers->gate->code;
  return event.has_soft && has_gate ? kGated : 0;
}

const SiteProgram* StaticEvents::make_program(const LiveEvent& live,
                                              std::span<const SiteEvent> list) {
  const size_t size = sizeof(SiteProgram) + list.size_bytes();
  programs_.push_back(std::make_unique<char[]>(size));
  auto* program = new (programs_.back().get()) SiteProgram;
  program->nr_events = static_cast<uint32_t>(list.size());
  program->plain = list.size() == 1 ? plainness(*list[0].event) : 0;
  program->max_record = live.max_size;
  for (const SiteEvent& one : list)
    program->max_record = std::max(program->max_record, one.event->max_size);
  std::copy(list.begin(), list.end(), program->event);
  return program;
}

const StaticEvents::Made* StaticEvents::program_for(Definition* definition) {
  const LiveEvent& live = *definition->live;
  if (live.programs.empty()) return nullptr;
  // The record comes built; those that make one of their own out of it stand behind.
  std::vector<SiteEvent> list;
  for (bool from_record : {false, true})
    for (const EventProgram* event : live.programs)
      if ((event->from_record != 0) == from_record)
        list.push_back({event, nullptr, from_record ? first_site(*definition) : 0, nullptr});
  for (const Made& made : definition->made) {
    const SiteProgram& program = *made.program;
    if (std::equal(list.begin(), list.end(), program.event, program.event + program.nr_events))
      return &made;
  }
  const SiteProgram* program = make_program(live, list);
  StaticEventHit hit = static_event_hit;
  if (program->plain == kCallsAlways)
    hit = static_event_calls;
  else if (FilterCode code = static_event_code(*program); code.address()) {
    hit = reinterpret_cast<StaticEventHit>(code.address());
    codes_.push_back(std::move(code));
  }
  return &definition->made.emplace_back(Made{program, hit});
}

void StaticEvents::show(Definition* definition) {
  for (auto& [event, object] : definition->parts) show_part(event, definition->current);
}

Status StaticEvents::patch(std::span<Definition* const> changed, const Object* only) {
  std::vector<SiteChange> changes;
  std::vector<std::pair<Object*, KeySite*>> places;
  for (Definition* definition : changed) definition->changing = true;
  for (const auto& object : objects_) {
    if (only && object.get() != only) continue;
    for (KeySite& site : object->sites) {
      const Definition* definition = object->definitions[site.event];
      const bool on = definition->current && !object->leaving;
      if (!definition->changing || on == site.on) continue;
      SiteChange& change = changes.emplace_back();
      change.plan = patcher_.plan_key(site.address, site.target);
      if (on) change.prologue = [](uint8_t*, size_t, uint64_t) -> size_t { return 0; };
      places.emplace_back(object.get(), &site);
      site.on = on;
    }
  }
  for (Definition* definition : changed) definition->changing = false;
  if (changes.empty()) return {};
  auto report = patcher_.apply(changes, registry_.single_threaded());
  if (!report.ok()) {
    for (auto [object, site] : places) site->on = !site->on;
    return report.error();
  }
  for (auto [object, site] : places) object->refusals.erase(site->address);
  for (const auto& [index, reason] : report->refusals) {
    auto [object, site] = places[index];
    site->on = !site->on;
    object->refusals[site->address] = reason;
    note(full_name(object->events[site->event]), reason);
  }
  if (report->applied || report->refusals.empty()) return {};
  return user_error(EBUSY, "No site could be changed: " + report->refusals[0].second);
}

Status StaticEvents::update(std::span<LiveEvent* const> changed) {
  std::vector<Definition*> definitions;
  std::vector<const Made*> previous;
  for (LiveEvent* live : changed) {
    auto found = definitions_.find(live);
    if (found == definitions_.end()) continue;  // gone with its object
    Definition* definition = found->second.get();
    definitions.push_back(definition);
    previous.push_back(definition->current);
    definition->current = program_for(definition);
    if (definition->current) show(definition); /*A*/
  }
  Status status = patch(definitions, nullptr); /*B C*/
  for (size_t i = 0; i < definitions.size() && !status.ok(); i++)
    definitions[i]->current = previous[i];
  if (!status.ok()) {
    [[maybe_unused]] Status ignored = patch(definitions, nullptr);
  }
  for (Definition* definition : definitions) show(definition); /*D*/
  return status;
}

// --- what debug/ shows

std::string StaticEvents::sites() const {
  std::string text;
  for (const auto& object : objects_) {
    for (const KeySite& site : object->sites) {
      const EventCall& call = object->definitions[site.event]->live->call;
      auto refusal = object->refusals.find(site.address);
      text += hex_number(site.address) + " key " + call.system + ":" + call.name;
      text += refusal != object->refusals.end() ? " refused: " + refusal->second
              : site.on                         ? " on"
                                                : " off";
      text += '\n';
    }
  }
  return text;
}

uint64_t StaticEvents::site_count() const {
  uint64_t count = 0;
  for (const auto& object : objects_) count += object->sites.size();
  return count;
}

}  // namespace patchbay
