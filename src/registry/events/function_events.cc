// SPDX-License-Identifier: MIT
//
// From a line in function_events to a patched call site:
//
//   write_line -> parse (event/) -> resolve names (symbol/) -> plan places (patch/)
//     -> fetch program and format -> LiveEvent in the registry
//   nothing of the program has changed yet
//   an instance enables it -> Registry -> update -> ProbeSites: programs, one patch transaction
//
//   its object goes  -> its places are forgotten, the event waits, enabled or not
//   its object comes -> places are planned again, and patched if the event is enabled
//
// A line that names a library which is not loaded waits likewise from the start. A plain name means
// the library that it was found in.
//
// A failed definition changes nothing. Fetch programs that a thread may still be running are parked
// for good, not freed: a definition costs some hundred bytes, and no caller has to wait.
#include "registry/events/function_events.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <unordered_map>
#include <vector>

#include "base/text.h"
#include "event/function_event.h"
#include "probe/returns/call_data.h"
#include "registry/object_log.h"
#include "registry/sites/loaded_objects.h"
#include "ring_buffer/tick_rate.h"

namespace patchbay {

namespace {

constexpr std::string_view kSystem = "functions";
constexpr size_t kMaxErrors = 8;
constexpr int kMaxTries = 20;  // while objects come and go under our hands

std::string function_label(const Module& module, const FunctionSymbol& function) {
  if (!function.name.empty()) return std::string(function.name);
  return module.name() + "@" + hex_number(function.address - module.bias());
}

struct EventPlace {
  ProbePlace place;
  Module* module = nullptr;
};

// LiveEvent.data
struct FunctionEvent {
  FunctionEventDef def;
  CallArguments arguments;
  FetchProgramPtr fetch;
  std::vector<std::unique_ptr<EventPlace>> places;  // empty: it waits
  std::string home;  // the library that it is from, once it was found; or that it names
  bool was_placed = false;
  LiveEvent* live = nullptr;
};

void add_places(const FunctionEvent& event, std::vector<const ProbePlace*>* places) {
  for (const auto& one : event.places) places->push_back(&one->place);
}

// LIBRARY of LIBRARY:NAME and of LIBRARY@0xOFFSET; empty: none is named.
std::string_view named_library(std::string_view function) {
  const std::string_view library = library_of(function);
  if (!library.empty()) return library;
  const size_t at = function.rfind("@0x");
  return at == function.npos ? std::string_view() : function.substr(0, at);
}

}  // namespace

struct FunctionEvents::Impl {
  Impl(Registry& r, Patcher& p, ProbeSites& s) : registry(r), patcher(p), sites(s) {}

  Registry& registry;
  Patcher& patcher;
  ProbeSites& sites;
  std::vector<std::unique_ptr<FunctionEvent>> events;  // in the order defined
  std::vector<FetchProgramPtr> parked;  // of those that were removed; a thread may run them
  std::vector<std::string> errors;
  std::unordered_map<uint64_t, const CallArguments*> arguments;  // by the function's address
  uint64_t seen_changes = 0;                                     // of the symbol table
  bool refreshing = false;

  void add_arguments(const FunctionEvent& event);
  Status define(EventSource* source, std::string_view line);
  Status make(EventSource* source, FunctionEventDef def);
  void log(std::string_view text, std::string_view line, size_t position);
  FunctionEvent* find(std::string_view name, bool* several) const;
  Status remove(std::string_view name);
  Status find_places(FunctionEvent* event, const std::string& spec);
  Status find_first_places(FunctionEvent* event);
  void follow_objects();
  void drop_places(FunctionEvent* event, const std::vector<Module*>& still_loaded);
  void look_again(FunctionEvent* event);
  void set_call_clock();
  void join(FunctionEvent* event);
  Status register_event(EventSource* source, std::unique_ptr<FunctionEvent> event);
  Status drop(std::unique_ptr<FunctionEvent> event);
  Status check_unused(const FunctionEvent& event);
};

FunctionEvents::FunctionEvents(Registry& registry, Patcher& patcher, ProbeSites& sites)
    : impl_(new Impl(registry, patcher, sites)) {}
FunctionEvents::~FunctionEvents() = default;

Status FunctionEvents::write_line(std::string_view line) {
  line = trim(line);
  if (line.empty() || line[0] == '#') return {};
  if (line[0] == '!') return impl_->remove(trim(line.substr(1)));
  if (line[0] != '-') return impl_->define(this, line);
  if (!line.starts_with("-:"))
    return user_error(EINVAL, "a function event is removed with -:functions/NAME or !NAME");
  line.remove_prefix(2);
  if (line.starts_with(kSystem) && line.substr(kSystem.size()).starts_with('/'))
    line.remove_prefix(kSystem.size() + 1);
  return impl_->remove(trim(line));
}

Status FunctionEvents::Impl::define(EventSource* source, std::string_view line) {
  auto parsed = parse_function_event(
      line, [this](std::string_view name) { return registry.symbols().address_of(name); });
  if (parsed.error) {
    const FunctionEventError& error = *parsed.error;
    if (parsed.function_was_parsed) {
      if (errors.size() == kMaxErrors) errors.erase(errors.begin());
      errors.push_back(error.text);
    }
    log(error.message + (error.help.empty() ? "" : ": " + error.help), line, error.position);
    return user_error(EINVAL, error.text + (error.help.empty() ? "" : "\n" + error.help));
  }
  const size_t function_at = line.find(parsed.def->function, parsed.def->event.size());
  Status made = make(source, std::move(*parsed.def));
  // What is wrong now is the function, which stands first or behind "NAME=".
  if (!made.ok()) log(made.error().message(), line, function_at);
  return made;
}

void FunctionEvents::Impl::log(std::string_view text, std::string_view line, size_t position) {
  registry.top().errors.add("function_events", text, line, position);
}

Status FunctionEvents::Impl::make(EventSource* source, FunctionEventDef def) {
  auto event = std::make_unique<FunctionEvent>();
  event->def = std::move(def);
  const std::string name = event->def.event_name();
  if (registry.find_event(kSystem, name))
    return user_error(
        EEXIST, "there is already a function event \"" + name + "\"; remove it with !" + name +
                    ", or give this one a name: NAME=" + event->def.function + "(...)");
  PB_TRY(find_first_places(event.get()));
  return register_event(source, std::move(event));
}

// Of a library that is named, and not there, everything is believed until it comes.
Status FunctionEvents::Impl::find_first_places(FunctionEvent* event) {
  SymbolTable& symbols = registry.symbols();
  symbols.refresh();
  follow_objects();
  const std::string_view library = named_library(event->def.function);
  event->home = library;
  if (!library.empty() && is_absent(symbols, library)) return {};
  PB_TRY(find_places(event, event->def.function));
  if (library.empty()) event->home = event->places.front()->module->name();
  return {};
}

Status FunctionEvents::Impl::find_places(FunctionEvent* event, const std::string& spec) {
  PB_ASSIGN(auto functions, registry.symbols().resolve(spec));
  std::string reason;
  for (ResolvedFunction& function : functions) {
    SitePlan plan = patcher.plan(*function.module, function.symbol);
    if (plan.kind == SiteKind::kRefused) {
      reason = plan.reason;
      continue;
    }
    const char* why =
        event->def.is_call ? patcher.return_refusal(*function.module, function.symbol) : nullptr;
    if (why) {
      reason = std::string("its return cannot be met: ") + why;
      continue;
    }
    std::string label = function.display_name + " [" + function.module->name() + "]";
    auto& one = event->places.emplace_back(std::make_unique<EventPlace>());
    one->module = function.module;
    one->place.plan = std::move(plan);
    one->place.on_return = event->def.is_call;
    one->place.label = std::move(label);
  }
  event->was_placed |= !event->places.empty();
  if (event->places.empty())
    return user_error(EINVAL,
                      "the function " + event->def.function + " cannot be traced: " + reason);
  return {};
}

Status FunctionEvents::Impl::register_event(EventSource* source,
                                            std::unique_ptr<FunctionEvent> event) {
  auto live = std::make_unique<LiveEvent>();
  live->call = make_function_event_call(event->def, 0);  // the registry gives the id
  const uint32_t subbuf_size = registry.top().buffer->rings()->subbuf_size;
  PB_ASSIGN(auto fetch,
            compile_function_event(event->def, live->call, subbuf_size - abi::kPageHeaderSize - 8));
  event->fetch = std::move(fetch);
  if (event->def.is_call) {
    if (!call_data_reserve()) return sys_error("reserve memory for what calls take", errno);
    set_call_clock();
  }
  live->source = source;
  live->data = event.get();
  live->fetch = event->fetch.get();
  live->max_size = event->fetch->max_size;
  PB_TRY(registry.objects().describe());
  PB_ASSIGN(auto added, registry.add_event(std::move(live)));
  event->live = added;
  event->arguments = call_arguments(event->def);
  join(event.get());
  events.push_back(std::move(event));
  return {};
}

void FunctionEvents::Impl::set_call_clock() {
  const TickRate rate = tick_rate(*registry.top().buffer);
  __atomic_store_n(&pb_call_clock.is_monotonic, uint64_t{!rate.is_tsc}, __ATOMIC_RELAXED);
  __atomic_store_n(&pb_call_clock.ns_per_tick, uint64_t(rate.ns_per_tick * 0x1p32),
                   __ATOMIC_RELAXED);
}

void FunctionEvents::Impl::join(FunctionEvent* event) {
  std::vector<const ProbePlace*> places;
  add_places(*event, &places);
  sites.join(event->live, places);
  add_arguments(*event);
}

// --- objects come and go

void FunctionEvents::refresh() {
  impl_->registry.symbols().refresh();
  impl_->follow_objects();
}

void FunctionEvents::Impl::follow_objects() {
  SymbolTable& symbols = registry.symbols();
  if (symbols.changes() == seen_changes || std::exchange(refreshing, true)) return;
  seen_changes = symbols.changes();
  const std::vector<Module*> now = symbols.modules();
  for (const auto& event : events) drop_places(event.get(), now);
  for (const auto& event : events)
    if (event->places.empty()) look_again(event.get());
  refreshing = false;
}

void FunctionEvents::Impl::drop_places(FunctionEvent* event,
                                       const std::vector<Module*>& still_loaded) {
  const auto goes = [&](const auto& one) {
    return std::find(still_loaded.begin(), still_loaded.end(), one->module) == still_loaded.end();
  };
  std::vector<const ProbePlace*> places;
  for (const auto& one : event->places)
    if (goes(one)) places.push_back(&one->place);
  if (places.empty()) return;
  sites.forget(places, registry.single_threaded());
  sites.leave(event->live, places);
  std::erase_if(event->places, goes);
  std::erase_if(arguments, [&](const auto& one) { return one.second == &event->arguments; });
  for (const auto& other : events) add_arguments(*other);
}

// Nobody waits for an answer: what cannot be traced is in the log.
void FunctionEvents::Impl::look_again(FunctionEvent* event) {
  const std::string& function = event->def.function;
  if (is_absent(registry.symbols(), event->home)) return;
  const bool is_named = !named_library(function).empty();
  Status found = find_places(event, is_named ? function : event->home + ":" + function);
  if (!found.ok() && found.error().errno_value == EAGAIN) return;  // it is being loaded
  if (found.ok()) found = registry.objects().describe();
  if (found.ok()) {
    join(event);
    std::vector<const ProbePlace*> places;
    add_places(*event, &places);
    std::vector<ProbeSites::Refusal> refused;
    if (!event->live->programs.empty())
      found = sites.update(places, registry.single_threaded(), &refused);
    if (found.ok() && !refused.empty()) found = user_error(EIO, refused[0].reason);
  }
  if (!found.ok())
    registry.top().errors.add("function_events", found.error().message(), event->def.canonical(),
                              0);
}

bool FunctionEvents::wants_objects() const { return !impl_->events.empty(); }

std::vector<std::string> FunctionEvents::never_placed() const {
  std::vector<std::string> sentences;
  for (const auto& event : impl_->events)
    if (!event->was_placed)
      sentences.push_back("the function event " + event->live->call.name +
                          " has no place: no library " + event->home + " was ever loaded");
  return sentences;
}

// An event that came earlier keeps its place.
void FunctionEvents::Impl::add_arguments(const FunctionEvent& event) {
  for (const auto& one : event.places)
    arguments.try_emplace(one->place.plan.entry, &event.arguments);
}

const CallArguments* FunctionEvents::arguments_of(uint64_t address) const {
  auto found = impl_->arguments.find(address);
  return found == impl_->arguments.end() ? nullptr : found->second;
}

Status FunctionEvents::Impl::check_unused(const FunctionEvent& event) {
  if (!registry.in_use(event.live)) return {};
  const std::string name = "the function event \"" + event.live->call.name + "\"";
  if (event.live->references)
    return user_error(EBUSY, name + " has event probes; remove them first");
  return user_error(EBUSY, name + " is enabled; disable it first");
}

Status FunctionEvents::Impl::drop(std::unique_ptr<FunctionEvent> event) {
  PB_TRY(registry.remove_event(event->live, true, true));
  std::vector<const ProbePlace*> places;
  add_places(*event, &places);
  sites.leave(event->live, places);
  event->live->data = nullptr;
  std::erase_if(arguments, [&](const auto& one) { return one.second == &event->arguments; });
  for (const auto& other : events) add_arguments(*other);
  parked.push_back(std::move(event->fetch));
  return {};
}

// By its name, its line as it is listed, or its function, of which there may be several.
FunctionEvent* FunctionEvents::Impl::find(std::string_view name, bool* several) const {
  FunctionEvent* of_function = nullptr;
  for (const auto& event : events) {
    if (event->live->call.name == name || event->def.canonical() == name) return event.get();
    if (event->def.function != name) continue;
    *several |= of_function != nullptr;
    of_function = event.get();
  }
  return of_function;
}

bool FunctionEvents::has(std::string_view name) const {
  bool several = false;
  return impl_->find(trim(name), &several);
}

Status FunctionEvents::Impl::remove(std::string_view name) {
  bool several = false;
  FunctionEvent* wanted = find(name, &several);
  if (!wanted)
    return user_error(ENOENT, "there is no function event \"" + std::string(name) + "\"");
  if (several)
    return user_error(EINVAL, "several events are of the function " + std::string(name) +
                                  "; remove each by its own name");
  PB_TRY(check_unused(*wanted));
  auto found = std::find_if(events.begin(), events.end(),
                            [wanted](const auto& event) { return event.get() == wanted; });
  std::unique_ptr<FunctionEvent> event = std::move(*found);
  events.erase(found);
  return drop(std::move(event));
}

std::vector<std::pair<uint32_t, std::string>> FunctionEvents::lines() const {
  std::vector<std::pair<uint32_t, std::string>> lines;
  for (const auto& event : impl_->events)
    lines.emplace_back(event->live->call.id, event->def.canonical());
  return lines;
}

bool FunctionEvents::remove_forced(const LiveEvent* live) {
  auto& events = impl_->events;
  auto found = std::find_if(events.begin(), events.end(),
                            [live](const auto& event) { return event->live == live; });
  if (found == events.end()) return false;
  std::unique_ptr<FunctionEvent> event = std::move(*found);
  events.erase(found);
  return impl_->drop(std::move(event)).ok();
}

Status FunctionEvents::clear() {
  for (const auto& event : impl_->events) PB_TRY(impl_->check_unused(*event));
  impl_->arguments.clear();
  for (auto& event : std::exchange(impl_->events, {})) PB_TRY(impl_->drop(std::move(event)));
  impl_->errors.clear();
  return {};
}

void FunctionEvents::forget_errors() { impl_->errors.clear(); }

std::string FunctionEvents::show() const {
  std::string text;
  for (const auto& event : impl_->events) {
    text += event->def.canonical();
    if (event->places.empty()) text += "  # waits for the library " + event->home;
    text += "\n";
  }
  for (const std::string& error : impl_->errors)
    text += error + (error.ends_with('\n') ? "" : "\n");
  return text;
}

Status FunctionEvents::update(std::span<LiveEvent* const> changed) {
  refresh();                // a place that has just gone with its object is no reason to refuse
  impl_->set_call_clock();  // it is known better, the longer the program runs
  for (int tries = 0;; tries++) {
    std::vector<const ProbePlace*> places;
    places.reserve(changed.size());
    for (size_t i = 0; i < changed.size(); i++) {
      // Of many the memory of those that come next is asked for in time.
      if (i + 16 < changed.size()) __builtin_prefetch(&changed[i + 16]->data);
      if (i + 8 < changed.size())
        __builtin_prefetch(&static_cast<const FunctionEvent*>(changed[i + 8]->data)->places);
      if (changed[i]->data)  // null: it was removed while an event probe stood on it
        add_places(*static_cast<const FunctionEvent*>(changed[i]->data), &places);
    }
    Status status = impl_->sites.update(places, impl_->registry.single_threaded());
    if (status.ok() || tries == kMaxTries || !impl_->registry.symbols().refresh()) return status;
    impl_->follow_objects();
  }
}

// --- looking

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
      impl_->registry.symbols(), impl_->patcher,
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
      impl_->registry.symbols(), impl_->patcher,
      [&](const Module& module, const FunctionSymbol& function, const SitePlan& plan) {
        if (plan.kind != SiteKind::kRefused) return;
        text += function_label(module, function) + " [" + module.name() + "] " + plan.reason + "\n";
      });
  return text;
}

}  // namespace patchbay
