// SPDX-License-Identifier: MIT
//
// From a line in function_events to a patched call site:
//
//   write_line -> parse (event/) -> resolve names (symbol/) -> plan sites (patch/) -> EventCall,
//   fetch program, format in the buffer's meta log                                     nothing of
//   the program has changed yet set_enabled -> publish the site's new SiteProgram -> stub code
//   (probe/) -> one patch transaction (patch/)
//
// A failed definition changes nothing. Programs that a thread may still be running are parked for
// good, not freed: a definition costs some hundred bytes, and nobody has to wait.
#include "registry/function_events.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include "base/check.h"
#include "probe/probe_compile.h"

namespace patchbay {

namespace {

constexpr uint16_t kFirstDynamicId = 512;
constexpr size_t kMaxErrors = 8;

std::string_view trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t' || text.back() == '\n'))
    text.remove_suffix(1);
  return text;
}

std::string hex(uint64_t value) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%llx", (unsigned long long)value);
  return text;
}

std::string function_label(const Module& module, const FunctionSymbol& function) {
  if (!function.name.empty()) return std::string(function.name);
  return module.name() + "@" + hex(function.address - module.bias());
}

struct Place {
  SitePlan plan;
  std::string label;  // for debug/call_sites
};

}  // namespace

struct FunctionEvents::Event {
  FunctionEventDef def;
  EventCall call;
  FetchProgramPtr fetch;
  EventProgram program{};
  std::vector<Place> places;
  bool enabled = false;
};

struct FunctionEvents::Impl {
  // One patched place and those who want it.
  struct Site {
    CallSite site{};
    SitePlan plan;
    std::string label;
    std::vector<Event*> events;
  };
  SymbolTable& symbols;
  Patcher& patcher;
  RingBuffer& buffer;
  std::vector<std::unique_ptr<Event>> events;  // in the order defined
  std::unordered_map<std::string, Event*> by_name;
  std::vector<std::string> errors;
  std::map<uint64_t, Site> sites;              // by patch address; nodes never move or go
  std::vector<std::unique_ptr<Event>> parked;  // removed, but a thread may still run their programs
  std::unordered_set<std::string> known_modules;
  uint32_t next_id = kFirstDynamicId;
  bool single_threaded = false;

  Status define(std::string_view line);
  Status remove(std::string_view name);
  Status find_places(Event* event);
  Status compile(Event* event);
  Status describe(const Event& event);
  Status describe_modules();
  Status switch_events(std::span<Event* const> changed, bool on);
  Status patch(const std::vector<Site*>& touched);
  void undo(std::span<Event* const> changed, bool on);
  void publish(Site* site);
  SiteChange change_for(Site* site);
};

FunctionEvents::FunctionEvents(SymbolTable& symbols, Patcher& patcher, RingBuffer& buffer)
    : impl_(new Impl{symbols, patcher, buffer, {}, {}, {}, {}, {}, {}}) {}
FunctionEvents::~FunctionEvents() = default;

// --- definitions
// ----------------------------------------------------------------------------------

Status FunctionEvents::write_line(std::string_view line) {
  line = trim(line);
  if (line.empty() || line[0] == '#') return {};
  if (line[0] == '!') return impl_->remove(trim(line.substr(1)));
  constexpr std::string_view kRemove = "-:functions/";
  if (line.starts_with(kRemove)) return impl_->remove(trim(line.substr(kRemove.size())));
  return impl_->define(line);
}

Status FunctionEvents::Impl::define(std::string_view line) {
  auto parsed = parse_function_event(
      line, [this](std::string_view name) { return symbols.address_of(name); });
  if (parsed.error) {
    if (parsed.function_was_parsed) {
      if (errors.size() == kMaxErrors) errors.erase(errors.begin());
      errors.push_back(parsed.error->text);
    }
    return user_error(EINVAL, parsed.error->text);
  }
  auto event = std::make_unique<Event>();
  event->def = std::move(*parsed.def);
  std::string name = event->def.event_name();
  if (by_name.contains(name))
    return user_error(
        EEXIST, "there is already a function event \"" + name + "\"; remove it with !" + name);
  PB_TRY(find_places(event.get()));
  PB_TRY(compile(event.get()));
  PB_TRY(describe_modules());
  PB_TRY(describe(*event));
  next_id++;
  by_name[name] = event.get();
  events.push_back(std::move(event));
  return {};
}

Status FunctionEvents::Impl::find_places(Event* event) {
  symbols.refresh();
  auto functions = symbols.resolve(event->def.function);
  if (!functions.ok()) return functions.error();
  std::string reason;
  for (ResolvedFunction& function : *functions) {
    SitePlan plan = patcher.plan(*function.module, function.symbol);
    if (plan.kind == SiteKind::kRefused) {
      reason = plan.reason;
      continue;
    }
    std::string label = function.display_name + " [" + function.module->name() + "]";
    event->places.push_back({std::move(plan), std::move(label)});
  }
  if (event->places.empty())
    return user_error(EINVAL,
                      "the function " + event->def.function + " cannot be traced: " + reason);
  return {};
}

Status FunctionEvents::Impl::compile(Event* event) {
  if (next_id > 65535) return user_error(ENOMEM, "all 65535 event ids have been given out");
  event->call = make_function_event_call(event->def, uint16_t(next_id));
  uint32_t max_record = buffer.rings()->subbuf_size - abi::kPageHeaderSize - 8;
  auto fetch = compile_function_event(event->def, event->call, max_record);
  if (!fetch.ok()) return fetch.error();
  event->fetch = std::move(*fetch);
  event->program = {buffer.rings(), event->fetch.get(), event->call.id, 0, event->fetch->max_size};
  return {};
}

Status FunctionEvents::Impl::describe(const Event& event) {
  std::string payload(sizeof(uint32_t), '\0');
  uint32_t id = event.call.id;
  std::memcpy(payload.data(), &id, sizeof id);
  payload += event.call.system;
  payload += '\0';
  payload += event.call.format_text();
  return buffer.append_meta(abi::kMetaEventFormat, payload);
}

Status FunctionEvents::Impl::describe_modules() {
  for (Module* module : symbols.modules()) {
    std::string key = module->path() + "@" + hex(module->start()) + module->build_id();
    if (!known_modules.insert(key).second) continue;
    abi::ModuleRecord record{module->start(), module->end(), module->bias()};
    std::string payload(reinterpret_cast<const char*>(&record), sizeof record);
    payload += module->build_id();
    payload += '\0';
    payload += module->path();
    payload += '\0';
    PB_TRY(buffer.append_meta(abi::kMetaModule, payload));
  }
  return {};
}

Status FunctionEvents::Impl::remove(std::string_view name) {
  auto found = std::find_if(events.begin(), events.end(), [&](const auto& event) {
    return event->call.name == name || event->def.function == name;
  });
  if (found == events.end())
    return user_error(ENOENT, "there is no function event \"" + std::string(name) + "\"");
  if ((*found)->enabled)
    return user_error(
        EBUSY, "the function event \"" + std::string(name) + "\" is enabled; disable it first");
  by_name.erase((*found)->call.name);
  parked.push_back(std::move(*found));
  events.erase(found);
  return {};
}

Status FunctionEvents::clear() {
  for (const auto& event : impl_->events)
    if (event->enabled)
      return user_error(
          EBUSY, "the function event \"" + event->call.name + "\" is enabled; disable it first");
  for (auto& event : impl_->events) impl_->parked.push_back(std::move(event));
  impl_->events.clear();
  impl_->by_name.clear();
  impl_->errors.clear();
  return {};
}

void FunctionEvents::forget_errors() { impl_->errors.clear(); }

std::string FunctionEvents::show() const {
  std::string text;
  for (const auto& event : impl_->events) text += event->def.canonical() + "\n";
  for (const std::string& error : impl_->errors)
    text += error + (error.ends_with('\n') ? "" : "\n");
  return text;
}

// --- enabling
// -------------------------------------------------------------------------------------

void FunctionEvents::Impl::publish(Site* site) {
  SiteProgram* program = nullptr;
  if (!site->events.empty()) {
    size_t size = sizeof(SiteProgram) + site->events.size() * sizeof(EventProgram*);
    program = static_cast<SiteProgram*>(std::malloc(size));
    if (!program) return;  // the old program stays: nothing is recorded wrongly
    program->nr_events = uint32_t(site->events.size());
    program->reserved = 0;
    for (size_t i = 0; i < site->events.size(); i++) program->event[i] = &site->events[i]->program;
  }
  __atomic_store_n(&site->site.program, program, __ATOMIC_RELEASE);  // pairs with probe_hit
}

SiteChange FunctionEvents::Impl::change_for(Site* site) {
  if (site->events.empty()) return {site->plan, nullptr};
  ProbeCode code{&site->site, nullptr, false, site->plan.flags_live};
  for (Event* event : site->events) code.uses_xmm |= event->fetch->uses_xmm != 0;
  if (site->events.size() == 1 && !code.flags_live && has_fast_path(site->events[0]->program))
    code.fast = &site->events[0]->program;
  return {site->plan, [code](uint8_t* out, size_t capacity, uint64_t address) {
            return emit_probe(code, out, capacity, address);
          }};
}

Status FunctionEvents::Impl::patch(const std::vector<Site*>& touched) {
  std::vector<SiteChange> changes;
  changes.reserve(touched.size());
  for (Site* site : touched) changes.push_back(change_for(site));
  auto report = patcher.apply(changes, single_threaded);
  if (!report.ok()) return report.error();
  if (report->refusals.empty()) return {};
  const auto& [index, reason] = report->refusals.front();
  return user_error(EIO, "could not patch " + touched[index]->label + ": " + reason);
}

// Takes back what switch_events did to the lists of its sites, and leaves the patched code
// consistent.
void FunctionEvents::Impl::undo(std::span<Event* const> changed, bool on) {
  std::vector<Site*> touched;
  for (Event* event : changed)
    for (const Place& place : event->places) {
      Site& site = sites[place.plan.patch_address];
      if (on)
        std::erase(site.events, event);
      else if (std::find(site.events.begin(), site.events.end(), event) == site.events.end())
        site.events.push_back(event);
      touched.push_back(&site);
    }
  // The caller reports the first refusal. What cannot be put back (its library is gone) records
  // nothing any more; the rest goes on.
  [[maybe_unused]] Status ignored = patch(touched);
  for (Site* site : touched) publish(site);
}

Status FunctionEvents::Impl::switch_events(std::span<Event* const> changed, bool on) {
  std::vector<Site*> touched;
  std::unordered_set<Site*> seen;
  for (Event* event : changed) {
    for (const Place& place : event->places) {
      Site& site = sites[place.plan.patch_address];
      site.site.ip = place.plan.entry;
      site.plan = place.plan;
      site.label = place.label;
      if (on)
        site.events.push_back(event);
      else
        std::erase(site.events, event);
      if (seen.insert(&site).second) touched.push_back(&site);
    }
  }
  // A site must know its program before a thread can arrive there, and keep one until none can.
  if (on)
    for (Site* site : touched) publish(site);
  if (Status status = patch(touched); !status.ok()) {
    undo(changed, on);
    return status;
  }
  if (!on)
    for (Site* site : touched) publish(site);
  for (Event* event : changed) event->enabled = on;
  return {};
}

Status FunctionEvents::set_enabled(std::string_view name, bool on) {
  auto found = impl_->by_name.find(std::string(name));
  if (found == impl_->by_name.end())
    return sys_error("event functions:" + std::string(name), ENODEV);
  if (found->second->enabled == on) return {};
  if (on && tracing_ && !impl_->buffer.enabled()) PB_TRY(impl_->buffer.enable());
  return impl_->switch_events(std::span(&found->second, 1), on);
}

Status FunctionEvents::set_all_enabled(bool on) {
  std::vector<Event*> changed;
  for (const auto& event : impl_->events)
    if (event->enabled != on) changed.push_back(event.get());
  if (changed.empty()) return {};
  if (on && tracing_ && !impl_->buffer.enabled()) PB_TRY(impl_->buffer.enable());
  return impl_->switch_events(changed, on);
}

Status FunctionEvents::set_tracing(bool on) {
  tracing_ = on;
  bool wanted = std::any_of(impl_->events.begin(), impl_->events.end(),
                            [](const auto& e) { return e->enabled; });
  if (!on)
    impl_->buffer.disable();
  else if (wanted && !impl_->buffer.enabled())
    PB_TRY(impl_->buffer.enable());
  return {};
}

// --- looking
// --------------------------------------------------------------------------------------

std::vector<std::string> FunctionEvents::event_names() const {
  std::vector<std::string> names;
  for (const auto& event : impl_->events) names.push_back(event->call.name);
  return names;
}

const EventCall* FunctionEvents::find(std::string_view event) const {
  auto found = impl_->by_name.find(std::string(event));
  return found == impl_->by_name.end() ? nullptr : &found->second->call;
}

bool FunctionEvents::is_enabled(std::string_view event) const {
  auto found = impl_->by_name.find(std::string(event));
  return found != impl_->by_name.end() && found->second->enabled;
}

char FunctionEvents::summary() const {
  size_t on = 0;
  for (const auto& event : impl_->events) on += event->enabled;
  if (impl_->events.empty()) return '?';
  return on == 0 ? '0' : on == impl_->events.size() ? '1' : 'X';
}

void FunctionEvents::set_single_threaded(bool value) { impl_->single_threaded = value; }

namespace {

// Calls visit(module, function, plan) for every function of every module.
template <typename Visit>
void for_each_function(SymbolTable& symbols, Patcher& patcher, Visit visit) {
  symbols.refresh();
  for (Module* module : symbols.modules())
    for (const FunctionSymbol& function : module->functions())
      visit(*module, function, patcher.plan(*module, function));
  symbols.drop_caches();  // a large program's list is not worth its memory between two looks
}

}  // namespace

std::string FunctionEvents::available_functions() {
  std::string text;
  for_each_function(
      impl_->symbols, impl_->patcher,
      [&](const Module& module, const FunctionSymbol& function, const SitePlan& plan) {
        if (plan.kind == SiteKind::kRefused) return;
        text += function_label(module, function) + " [" + module.name() + "] ";
        text += site_kind_name(plan.kind);
        text += '\n';
      });
  return text;
}

std::string FunctionEvents::refused_functions() {
  std::string text;
  for_each_function(
      impl_->symbols, impl_->patcher,
      [&](const Module& module, const FunctionSymbol& function, const SitePlan& plan) {
        if (plan.kind != SiteKind::kRefused) return;
        text += function_label(module, function) + " [" + module.name() + "] " + plan.reason + "\n";
      });
  return text;
}

std::string FunctionEvents::call_sites() const {
  std::string text;
  for (const auto& [address, site] : impl_->sites) {
    if (site.events.empty()) continue;
    text += hex(address) + " " + site_kind_name(site.plan.kind) + " " + site.label;
    for (const Event* event : site.events) text += " " + event->call.name;
    if (!site.plan.reason.empty()) text += " (" + site.plan.reason + ")";
    text += '\n';
  }
  return text;
}

}  // namespace patchbay
