// SPDX-License-Identifier: MIT
//
// Where probes stand in the program. A definition names a symbol, an address or an offset of a
// file. Its places are looked up when it is defined, and again whenever objects have come or gone:
//
//   defined ----> spots: planned, joined to ProbeSites ---- its object goes ----> waits
//        \------> waits (LIB:SYM, PATH:OFF of what is not loaded) <--------------/   |
//                   ^                     its object comes: spots, armed at once ----+
//                                         if the event is enabled
#include <algorithm>
#include <cerrno>
#include <cstdlib>

#include "base/text.h"
#include "registry/object_log.h"
#include "registry/probes/probe_events_impl.h"
#include "registry/semaphore.h"
#include "registry/sites/loaded_objects.h"

#include <fnmatch.h>

namespace patchbay {

namespace {

constexpr size_t kShownRefusals = 5;
constexpr int kMaxTries = 20;  // while objects come and go under our hands

bool is_glob(std::string_view symbol) { return symbol.find_first_of("*?[") != symbol.npos; }

bool wants_names(const ProbeDefinition& definition) {
  return std::any_of(definition.arguments.begin(), definition.arguments.end(),
                     [](const ProbeArgument& a) { return a.type && a.type->name == "symstr"; });
}

}  // namespace

// --- what definitions mean now

// Sets everything of a spot but what comes from its probe.
bool ProbeEvents::Impl::plan_spot(const ProbeDefinition& definition, ElfModule* module,
                                  uint64_t address, const FunctionSymbol* function, ProbeSpot* spot,
                                  Refusal* refusal) {
  ProbePlace& place = spot->place;
  spot->module = module;
  place.ip = address;
  place.on_return = definition.on_return;
  spot->at_entry = function != nullptr;
  if (function) place.plan = patcher.plan(*module, *function);
  if (definition.on_return) {
    if (!function)
      refusal->reason = "no function begins there, whose return could be met";
    else if (place.plan.kind == SiteKind::kRefused)
      refusal->reason = place.plan.reason;
    else if (const char* why = patcher.return_refusal(*module, *function))
      refusal->reason = why;
    else
      return true;
    return false;
  }
  if (place.plan.kind != SiteKind::kRefused) return true;
  place.plan = patcher.plan_insn(*module, address);
  refusal->not_a_boundary = place.plan.not_a_boundary;
  refusal->reason = place.plan.reason;
  return place.plan.kind != SiteKind::kRefused;
}

namespace {

void name_spot(const std::string& name, uint64_t offset, ProbeSpot* spot) {
  spot->name = name + (int64_t(offset) < 0 ? "-" + hex_number(-offset) : "+" + hex_number(offset));
  spot->place.label = (offset ? spot->name : name) + " [" + spot->module->name() + "]";
}

}  // namespace

bool ProbeEvents::Impl::find_by_name(const ProbeDefinition& definition, Spots* spots,
                                     Refusal* refusal) {
  const std::string_view library = library_of(definition.symbol);
  if (!library.empty() && is_absent(registry.symbols(), library)) return true;
  auto functions = registry.symbols().resolve(definition.symbol);
  if (!functions.ok()) {
    refusal->reason = functions.error().message();
    refusal->comes_later = functions.error().errno_value == EAGAIN;
    return false;
  }
  for (const ResolvedFunction& function : *functions) {
    const FunctionSymbol& symbol = function.symbol;
    auto* module = static_cast<ElfModule*>(function.module);
    const uint64_t offset = definition.offset, address = symbol.address + offset;
    const bool is_before = int64_t(offset) < 0;  // SYM-OFF: in what lies before it
    if (is_before && module_of_text(registry.symbols(), address) != module) {
      *refusal = {"there is no code so far before " + function.display_name};
      return false;
    }
    const FunctionSymbol* entry = offset ? nullptr : &symbol;
    if (!is_before && offset && symbol.size && offset >= symbol.size) {
      // It may be the entry of another one.
      if (module_of_text(registry.symbols(), address) == module)
        entry = module->function_at(address);
      if (!entry) {
        *refusal = {function.display_name + " has " + std::to_string(symbol.size) + " bytes", true};
        return false;
      }
    }
    auto spot = std::make_unique<ProbeSpot>();
    if (!plan_spot(definition, module, address, entry, spot.get(), refusal)) return false;
    name_spot(function.display_name, offset, spot.get());
    spots->push_back(std::move(spot));
  }
  return true;
}

bool ProbeEvents::Impl::find_by_address(const ProbeDefinition& definition, Spots* spots,
                                        Refusal* refusal) {
  uint64_t address = definition.address;
  ElfModule* module = nullptr;
  if (definition.kind == ProbeKind::kUprobe) {
    module = module_of_file(registry.symbols(), definition.symbol);
    if (!module) return true;
    address = address_of_offset(*module, definition.offset);
  }
  ElfModule* holder = address ? module_of_text(registry.symbols(), address) : nullptr;
  if (!holder || (module && holder != module)) {
    refusal->reason = "there is no code of this program";
    return false;
  }
  auto spot = std::make_unique<ProbeSpot>();
  const FunctionSymbol* function = holder->function_at(address);
  const FunctionSymbol* stub = function ? nullptr : holder->plt_entry_around(address);
  if (stub && stub->address == address) function = stub;
  if (!plan_spot(definition, holder, address, function, spot.get(), refusal)) return false;
  SymbolizedAddress symbol;
  if (registry.symbols().symbolize(address, &symbol))
    name_spot(symbol.name, symbol.offset, spot.get());
  else
    name_spot(holder->name(), address - holder->bias(), spot.get());
  if (definition.reference_counter)
    spot->semaphore = address_of_offset(*holder, *definition.reference_counter);
  spots->push_back(std::move(spot));
  return true;
}

// Functions that refuse are left out, and named.
bool ProbeEvents::Impl::find_glob(const ProbeDefinition& definition, Spots* spots,
                                  Refusal* refusal) {
  const std::string_view library = library_of(definition.symbol);
  const std::string pattern = definition.symbol.substr(library.empty() ? 0 : library.size() + 1);
  size_t refused = 0;
  for (Module* module : registry.symbols().modules()) {
    auto* object = static_cast<ElfModule*>(module);
    if (library.empty() ? object->identity().is_tracer : !object->is_called(library)) continue;
    uint64_t last = 0;
    for (const FunctionSymbol& function : object->functions()) {
      if (function.is_cold_part || function.is_ifunc || function.address == last) continue;
      const std::string name = display_name(*object, function);
      if (::fnmatch(pattern.c_str(), name.c_str(), 0) != 0) continue;
      last = function.address;  // aliases stand together
      auto spot = std::make_unique<ProbeSpot>();
      Refusal one;
      if (plan_spot(definition, object, function.address, &function, spot.get(), &one)) {
        name_spot(name, 0, spot.get());
        spots->push_back(std::move(spot));
      } else if (++refused <= kShownRefusals) {
        refusal->reason += (refused > 1 ? "; " : "") + name + ": " + one.reason;
      }
    }
  }
  if (refused > kShownRefusals)
    refusal->reason += "; and " + std::to_string(refused - kShownRefusals) + " more";
  if (spots->empty() && !refused) refusal->reason = "no function has such a name";
  return !spots->empty();
}

bool ProbeEvents::Impl::find_spots(const Probe& probe, Spots* spots, Refusal* refusal) {
  const ProbeDefinition& definition = probe.definition;
  if (definition.kind == ProbeKind::kUprobe || definition.symbol.empty())
    return find_by_address(definition, spots, refusal);
  if (definition.kind != ProbeKind::kFprobe || !is_glob(definition.symbol))
    return find_by_name(definition, spots, refusal);
  if (!find_glob(definition, spots, refusal)) return false;
  if (!refusal->reason.empty()) note(probe, "left out: " + refusal->reason);
  return true;
}

void ProbeEvents::Impl::note(const Probe& probe, const std::string& reason) {
  registry.top().errors.add(location_of(probe.definition.kind), reason, probe.command,
                            position_of_word(probe.command, 1));
}

// --- programs

// Of all functions that are loaded now.
const SymbolNames* ProbeEvents::Impl::symbol_names() {
  const std::vector<Module*> now = registry.symbols().modules();
  if (!names.empty() && names_of == now) return &names.back()->names;
  auto made = std::make_unique<Names>();
  for (Module* module : now) {
    uint64_t last = 0;
    for (const FunctionSymbol& function : module->functions()) {
      if (function.address == last || made->text.size() > UINT32_MAX / 2) continue;
      last = function.address;
      made->entries.push_back({function.address, function.size, uint32_t(made->text.size())});
      made->text += without_blanks(display_name(*module, function));
      made->text += '\0';
    }
  }
  std::sort(made->entries.begin(), made->entries.end(),
            [](const auto& a, const auto& b) { return a.address < b.address; });
  made->names = {made->entries.data(), made->entries.size(), made->text.data()};
  names.push_back(std::move(made));
  names_of = now;
  return &names.back()->names;
}

Status ProbeEvents::Impl::compile(Probe* probe, const EventCall& call, const EventCall* source,
                                  const ProbeSpot* spot) {
  RegistryWorld world(registry);
  ProbeCompileContext context;
  context.ip = spot ? spot->place.ip : 0;
  context.at_entry = spot && spot->at_entry;
  context.source = source;
  context.world = &world;
  if (wants_names(probe->definition)) context.names = symbol_names();
  const uint32_t subbuf_size = registry.top().buffer->rings()->subbuf_size;
  context.max_record = subbuf_size - uint32_t(abi::kPageHeaderSize) - 8;
  auto fetch = compile_probe_event(probe->definition, call, context);
  if (!fetch.ok())
    return refuse(*probe, "Event too big (too many fields?)", 0, fetch.error().errno_value,
                  fetch.error().message());
  if (probe->fetch) parked_fetches.push_back(std::move(probe->fetch));
  probe->fetch = std::move(*fetch);
  return {};
}

// --- on and off

void ProbeEvents::Impl::join(Probe* probe, Spots spots) {
  std::vector<const ProbePlace*> places;
  for (auto& spot : spots) {
    spot->place.fetch = probe->fetch.get();
    spot->place.counts = &probe->counts;
    spot->place.disarmed = !armed && probe->definition.kind == ProbeKind::kKprobe;
    places.push_back(&spot->place);
    probe->spots.push_back(std::move(spot));
  }
  LiveEvent* live = probe->event->live;
  sites.join(live, places);
  if (live->programs.empty()) return;
  std::vector<ProbeSites::Refusal> refused;
  Status status = sites.update(places, registry.single_threaded(), &refused);
  if (!status.ok()) note(*probe, status.error().message());
  for (const auto& one : refused) note(*probe, one.reason);
  count_listeners(*probe);
}

// All of them, or those that are not in `still_loaded`.
void ProbeEvents::Impl::drop_spots(Probe* probe, const std::vector<Module*>* still_loaded) {
  std::vector<const ProbePlace*> places;
  auto goes = [&](const ProbeSpot& spot) {
    return !still_loaded || std::find(still_loaded->begin(), still_loaded->end(), spot.module) ==
                                still_loaded->end();
  };
  for (const auto& spot : probe->spots) {
    if (!goes(*spot)) continue;
    if (!still_loaded) spot->place.disarmed = true;
    places.push_back(&spot->place);
  }
  if (places.empty()) return;
  LiveEvent* live = probe->event->live;
  if (still_loaded) {
    sites.forget(places, registry.single_threaded());
  } else if (!live->programs.empty()) {
    std::vector<ProbeSites::Refusal> ignored;
    (void)sites.update(places, registry.single_threaded(), &ignored);
    count_listeners(*probe);
  }
  sites.leave(live, places);
  std::erase_if(probe->spots, [&](const auto& spot) { return goes(*spot); });
}

// A word that says how many listen at a place makes the program prepare what they want to see.
void ProbeEvents::Impl::count_listeners(const Probe& probe) {
  const bool on = !probe.event->live->programs.empty();
  for (const auto& spot : probe.spots) {
    const bool wanted = on && !spot->place.disarmed;
    if (!spot->semaphore || spot->listens == wanted) continue;
    count_semaphore(spot->semaphore, wanted ? 1 : -1);
    spot->listens = wanted;
  }
}

namespace {

// Why this event cannot be enabled with these places refused: each must be there, of a glob one.
const std::string* reason_against(const ProbeEventOf& event,
                                  std::span<const ProbeSites::Refusal> refused) {
  size_t all = 0, bad = 0;
  const std::string* reason = nullptr;
  for (const auto& probe : event.probes) {
    all += probe->spots.size();
    for (const auto& spot : probe->spots) {
      auto found = std::find_if(refused.begin(), refused.end(),
                                [&](const auto& one) { return one.place == &spot->place; });
      if (found == refused.end()) continue;
      bad++;
      if (!is_glob(probe->definition.symbol) || bad == 1) reason = &found->reason;
      if (!is_glob(probe->definition.symbol)) return reason;
    }
  }
  return bad && bad == all ? reason : nullptr;
}

}  // namespace

Status ProbeEvents::Impl::update_places(std::span<LiveEvent* const> changed) {
  std::vector<ProbeSites::Refusal> refused;
  Status status;
  bool again = true;
  for (int tries = 0; again && tries < kMaxTries; tries++) {
    std::vector<const ProbePlace*> places;
    for (const LiveEvent* live : changed)
      for (const auto& probe : event_of(live)->probes)
        for (const auto& spot : probe->spots) places.push_back(&spot->place);
    status = sites.update(places, registry.single_threaded(), &refused);
    // An object that went meanwhile is no reason to refuse.
    again = !refused.empty() && registry.symbols().refresh();
    if (again) follow_objects();
  }
  for (const LiveEvent* live : changed) {
    if (!status.ok() || refused.empty() || live->programs.empty()) continue;
    if (const std::string* reason = reason_against(*event_of(live), refused))
      status = user_error(
          EIO, "could not patch " + live->call.system + ":" + live->call.name + ": " + *reason);
  }
  if (!status.ok()) {
    take_back_places(changed);
    return status;
  }
  for (const LiveEvent* live : changed) {
    event_of(live)->running = live->programs;
    for (const auto& probe : event_of(live)->probes) count_listeners(*probe);
  }
  return {};
}

// To what they ran after the last update().
void ProbeEvents::Impl::take_back_places(std::span<LiveEvent* const> changed) {
  std::vector<const ProbePlace*> places;
  for (LiveEvent* live : changed) {
    ProbeEventOf* event = event_of(live);
    std::swap(live->programs, event->running);
    for (const auto& probe : event->probes)
      for (const auto& spot : probe->spots) places.push_back(&spot->place);
  }
  std::vector<ProbeSites::Refusal> ignored;
  (void)sites.update(places, registry.single_threaded(), &ignored);
  for (LiveEvent* live : changed) std::swap(live->programs, event_of(live)->running);
}

bool ProbeEvents::wants_objects() const {
  return std::any_of(impl_->probes.begin(), impl_->probes.end(),
                     [&](const Probe* probe) { return !impl_->is_event_probe(*probe); });
}

Status ProbeEvents::update(std::span<LiveEvent* const> changed) {
  // A place that has just gone with its object is no reason to refuse.
  if (impl_->registry.symbols().refresh()) impl_->follow_objects();
  std::vector<LiveEvent*> placed, attached;
  for (LiveEvent* live : changed)
    if (impl_->event_of(live)) (live->from_record ? attached : placed).push_back(live);
  std::vector<std::vector<const EventProgram*>> before;
  for (const LiveEvent* live : placed) before.push_back(impl_->event_of(live)->running);
  PB_TRY(impl_->update_places(placed));
  Status status = impl_->update_attached(attached);
  if (status.ok()) return {};
  for (size_t i = 0; i < placed.size(); i++) impl_->event_of(placed[i])->running = before[i];
  impl_->take_back_places(placed);
  return status;
}

// --- kprobes/enabled

bool ProbeEvents::armed() const { return impl_->armed; }

bool ProbeEvents::optimization() const { return impl_->patcher.optimization(); }

void ProbeEvents::set_optimization(bool on) { impl_->patcher.set_optimization(on); }

Status ProbeEvents::set_armed(bool armed) {
  if (armed == impl_->armed) return {};
  impl_->armed = armed;
  std::vector<const ProbePlace*> places;
  for (Probe* probe : impl_->probes) {
    if (probe->definition.kind != ProbeKind::kKprobe) continue;
    for (auto& spot : probe->spots) {
      spot->place.disarmed = !armed;
      places.push_back(&spot->place);
    }
  }
  std::vector<ProbeSites::Refusal> refused;
  PB_TRY(impl_->sites.update(places, impl_->registry.single_threaded(), &refused));
  if (refused.empty()) return {};
  return user_error(EIO, "could not patch " + refused[0].place->label + ": " + refused[0].reason);
}

// --- objects come and go

void ProbeEvents::refresh() {
  SymbolTable& symbols = impl_->registry.symbols();
  symbols.refresh();
  impl_->follow_objects();
  if (impl_->nr_event_probes) impl_->look_for_sources();
}

void ProbeEvents::Impl::follow_objects() {
  SymbolTable& symbols = registry.symbols();
  const bool same =
      symbols.changes() ? symbols.changes() == seen_changes : symbols.modules() == modules;
  if (same || std::exchange(refreshing, true)) return;
  seen_changes = symbols.changes();
  objects_changed(symbols.modules());
  refreshing = false;
}

void ProbeEvents::Impl::objects_changed(std::vector<Module*> now) {
  modules = std::move(now);
  for (Probe* probe : probes) {
    if (is_event_probe(*probe)) continue;
    drop_spots(probe, &modules);
    // An address means the code that was there when it was written.
    if (!probe->definition.symbol.empty()) arm(probe);
  }
}

// What waits for an object, and what a glob finds in a new one.
void ProbeEvents::Impl::arm(Probe* probe) {
  const bool glob =
      probe->definition.kind == ProbeKind::kFprobe && is_glob(probe->definition.symbol);
  if (!probe->spots.empty() && !glob) return;
  Spots found;
  Refusal refusal;
  const bool ok =
      glob ? find_glob(probe->definition, &found, &refusal) : find_spots(*probe, &found, &refusal);
  if (!ok) {
    if (!glob && !refusal.comes_later) note(*probe, refusal.reason);
    return;
  }
  std::erase_if(found, [&](const auto& spot) {
    return std::any_of(probe->spots.begin(), probe->spots.end(), [&](const auto& known) {
      return known->place.plan.patch_address == spot->place.plan.patch_address;
    });
  });
  if (found.empty()) return;
  if (!glob && !compile(probe, probe->event->live->call, nullptr, found[0].get()).ok()) return;
  if (Status described = registry.objects().describe(); !described.ok())
    note(*probe, described.error().message());
  join(probe, std::move(found));
}

// --- what cannot be probed

[[gnu::cold]] std::string ProbeEvents::blacklist() {
  std::string text;
  SymbolTable& symbols = impl_->registry.symbols();
  symbols.refresh();
  for (Module* module : symbols.modules()) {
    for (const FunctionSymbol& function : module->functions()) {
      if (impl_->patcher.plan(*module, function).kind != SiteKind::kRefused) continue;
      const SitePlan plan = impl_->patcher.plan_insn(*module, function.address);
      if (plan.kind != SiteKind::kRefused) continue;
      text += hex_number(function.address) + "-" + hex_number(function.address + function.size) +
              "\t" + without_blanks(display_name(*module, function)) + " [" + module->name() +
              "] " + plan.reason + "\n";
    }
  }
  symbols.drop_caches();  // a large program's list is not worth its memory between two looks
  return text;
}

}  // namespace patchbay
