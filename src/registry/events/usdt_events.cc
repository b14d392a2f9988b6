// SPDX-License-Identifier: MIT
#include "registry/events/usdt_events.h"

#include <sys/auxv.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "arch/x86_64/decoder.h"
#include "base/text.h"
#include "event/sdt_event.h"
#include "probe/probe_abi.h"
#include "registry/event_requests.h"
#include "registry/semaphore.h"
#include "symbol/sdt_notes.h"

namespace patchbay {

struct UsdtEvents::Site {
  ProbePlace place;
  FetchProgramPtr fetch;
  uint64_t semaphore = 0;
  Module* module = nullptr;  // null: it is gone
  LiveEvent* live = nullptr;
  bool planned = false;
  bool joined = false;  // known to ProbeSites
  bool on = false;
  std::string refusal;
};

struct UsdtEvents::Probe {
  LiveEvent* live = nullptr;
  FetchProgramPtr shared_fetch;  // for the registry: sizes and kind of the record
  Sites sites;
  std::vector<const EventProgram*> running;  // live->programs of the last update()
};

namespace {

bool is_program(const Module& module) {
  const uint64_t entry = ::getauxval(AT_ENTRY);
  return entry >= module.start() && entry < module.end();
}

// The agent's own library: its C++ runtime has probes too, which are not the program's.
bool is_ours(const Module& module) {
  const auto here = reinterpret_cast<uint64_t>(&hex_number);
  return here >= module.start() && here < module.end() && !is_program(module);
}

std::vector<SdtArgument> arguments_of(Module* module, const SdtNote& note) {
  std::vector<SdtArgument> arguments = parse_sdt_arguments(note.arguments);
  resolve_sdt_symbols([module](std::string_view name) { return module->find_symbol(name); },
                      &arguments);
  return arguments;
}

bool same_program(const FetchProgram& a, const FetchProgram& b) {
  const size_t bytes = sizeof(FetchProgram) + a.nr_insns * sizeof(FetchInsn);
  return a.nr_insns == b.nr_insns && std::memcmp(&a, &b, bytes) == 0;
}

}  // namespace

UsdtEvents::UsdtEvents(Registry& registry, Patcher& patcher, ProbeSites& sites)
    : registry_(registry), patcher_(patcher), places_(sites) {}
UsdtEvents::~UsdtEvents() = default;

void UsdtEvents::note_error(const std::string& command, const std::string& reason) {
  registry_.top().errors.add("usdt_events", reason, command, 0);
}

// --- objects come and go

void UsdtEvents::refresh() {
  SymbolTable& symbols = registry_.symbols();
  symbols.refresh();
  const uint64_t changes = symbols.changes();
  if (changes && changes == seen_changes_) return;
  seen_changes_ = changes;
  const std::vector<Module*> now = symbols.modules();
  auto has = [](const std::vector<Module*>& list, Module* module) {
    return std::find(list.begin(), list.end(), module) != list.end();
  };
  for (Module* module : std::vector<Module*>(modules_))
    if (!has(now, module)) drop_module(module);
  for (Module* module : now)
    if (!has(modules_, module)) add_module(module);
}

void UsdtEvents::add_module(Module* module) {
  modules_.push_back(module);
  if (is_ours(*module) || without_probes_.contains(module)) return;
  std::vector<SdtNote> notes = module->sdt_notes();
  if (notes.empty()) {
    without_probes_.insert(module);
    return;
  }
  auto key = [](const SdtNote& note) { return std::pair(note.provider, note.name); };
  std::stable_sort(notes.begin(), notes.end(),
                   [&](const SdtNote& a, const SdtNote& b) { return key(a) < key(b); });
  for (auto first = notes.begin(); first != notes.end();) {
    auto last = std::find_if(first, notes.end(),
                             [&](const SdtNote& note) { return key(note) != key(*first); });
    add_probe(module, std::span<const SdtNote>(first, last));
    first = last;
  }
  if (!is_program(*module)) registry_.requests().module_loaded(module->name());
}

// All sites of one probe in one object.
void UsdtEvents::add_probe(Module* module, std::span<const SdtNote> notes) {
  auto found = find_or_add_probe(module, notes);
  if (!found.ok()) {
    note_error("sdt_" + std::string(notes[0].provider) + ":" + std::string(notes[0].name),
               found.error().message());
    return;
  }
  Probe* probe = *found;
  for (const SdtNote& note : notes) {
    Site* site = make_site(module, note, probe->live);
    if (site) probe->sites.push_back(site);
  }
  if (probe->live->programs.empty()) return;
  if (Status patched = patch({&probe, 1}); !patched.ok())
    note_error(module->name(), patched.error().message());
}

Result<UsdtEvents::Probe*> UsdtEvents::find_or_add_probe(Module* module,
                                                         std::span<const SdtNote> notes) {
  std::vector<std::vector<SdtArgument>> arguments;
  for (const SdtNote& note : notes) arguments.push_back(arguments_of(module, note));
  EventCall call = make_sdt_event_call(notes[0].provider, notes[0].name, arguments);
  LiveEvent* live = registry_.find_event(call.system, call.name);
  if (live && (live->source != this || !same_layout(live->call, call)))
    return user_error(EEXIST, "Another event has this name, with other fields.");
  if (!live) {
    // What the sites share; each of them has the program for its own places.
    PB_ASSIGN(auto fetch, compile_sdt_site({}, call));
    auto made = std::make_unique<LiveEvent>();
    made->max_size = fetch->max_size;
    made->call = std::move(call);
    made->source = this;
    if (!is_program(*module)) made->module = module->name();
    auto probe = std::make_unique<Probe>();
    made->data = probe.get();
    probe->shared_fetch = std::move(fetch);
    made->fetch = probe->shared_fetch.get();
    PB_ASSIGN(auto added, registry_.add_event(std::move(made)));
    live = added;
    probe->live = live;
    probes_[live] = std::move(probe);
  }
  return static_cast<Probe*>(live->data);
}

UsdtEvents::Site* UsdtEvents::make_site(Module* module, const SdtNote& note, LiveEvent* live) {
  auto fetch = compile_sdt_site(arguments_of(module, note), live->call);
  if (!fetch.ok()) return nullptr;
  auto [first, last] = sites_.equal_range(note.address);
  for (; first != last; ++first) {
    Site* parked = first->second.get();
    if (parked->module || !same_program(*parked->fetch, **fetch)) continue;
    parked->module = module;
    parked->semaphore = note.semaphore;
    parked->live = live;
    return parked;
  }
  auto site = std::make_unique<Site>();
  site->fetch = std::move(*fetch);
  site->place.plan.patch_address = note.address;
  site->place.ip = note.address;
  site->place.fetch = site->fetch.get();
  site->semaphore = note.semaphore;
  site->module = module;
  site->live = live;
  return sites_.emplace(note.address, std::move(site))->second.get();
}

// Its memory is gone, or another's: nothing there is written, but what the Patcher finds as it left
// it.
void UsdtEvents::drop_module(Module* module) {
  std::erase(modules_, module);
  std::vector<Probe*> empty;
  Places gone;
  Sites leaving;
  for (auto& [live, probe] : probes_) {
    for (Site* site : probe->sites) {
      if (site->module != module) continue;
      site->module = nullptr;
      site->on = site->planned = false;
      if (!std::exchange(site->joined, false)) continue;
      gone.push_back(&site->place);
      leaving.push_back(site);
    }
    std::erase_if(probe->sites, [](const Site* site) { return !site->module; });
    if (probe->sites.empty()) empty.push_back(probe.get());
  }
  places_.forget(gone, registry_.single_threaded());
  for (size_t i = 0; i < gone.size(); i++) places_.leave(leaving[i]->live, {&gone[i], 1});
  for (Probe* probe : empty) {
    LiveEvent* live = probe->live;
    (void)registry_.remove_event(live, true);
    probes_.erase(live);
  }
}

// --- events go on and off

// A note may lie: what it calls a probe has to be a nop.
void UsdtEvents::plan(Site* site) {
  const uint64_t address = site->place.plan.patch_address;
  SitePlan& plan = site->place.plan;
  plan = patcher_.plan_insn(*site->module, address);
  plan.patch_address = address;
  site->planned = true;
  Insn insn;
  if (plan.kind == SiteKind::kRefused ||
      (decode_insn(plan.original.data(), plan.original.size(), address, &insn) &&
       insn.kind == InsnKind::kNop))
    return;
  plan.kind = SiteKind::kRefused;
  plan.reason = "there is no nop at the probe";
}

// Those that the probe's programs are for; planned, if there are any.
UsdtEvents::Places UsdtEvents::places_of(Probe* probe) {
  Places places;
  for (Site* site : probe->sites) {
    if (!probe->live->programs.empty()) {
      if (!site->planned) plan(site);
      const ProbePlace* place = &site->place;
      if (!std::exchange(site->joined, true)) places_.join(site->live, {&place, 1});
    }
    if (site->joined) places.push_back(&site->place);
  }
  return places;
}

Status UsdtEvents::update(std::span<LiveEvent* const> changed) {
  std::vector<Probe*> probes;
  for (LiveEvent* live : changed) {
    auto found = probes_.find(live);
    if (found == probes_.end() || found->second->running == live->programs) continue;
    probes.push_back(found->second.get());
  }
  Status done = patch(probes);
  if (done.ok()) {
    for (Probe* probe : probes) probe->running = probe->live->programs;
    return done;
  }
  for (Probe* probe : probes) std::swap(probe->live->programs, probe->running);
  (void)patch(probes);
  for (Probe* probe : probes) std::swap(probe->live->programs, probe->running);
  return done;
}

// Of sites that are on, each once.
std::set<uint64_t> UsdtEvents::semaphores_of(const Sites& sites) {
  std::set<uint64_t> result;
  for (const Site* site : sites)
    if (site->on && site->semaphore) result.insert(site->semaphore);
  return result;
}

// One transaction, and the semaphores follow. An event is enabled when one of its sites can be
// patched.
Status UsdtEvents::patch(std::span<Probe* const> probes) {
  Places places;
  std::vector<std::set<uint64_t>> counted;
  for (Probe* probe : probes) {
    counted.push_back(semaphores_of(probe->sites));
    const Places own = places_of(probe);
    places.insert(places.end(), own.begin(), own.end());
  }
  std::vector<ProbeSites::Refusal> refused;
  PB_TRY(places_.update(places, registry_.single_threaded(), &refused));
  Status done = settle(probes, refused);
  for (size_t i = 0; i < probes.size(); i++) {
    const std::set<uint64_t> wanted = semaphores_of(probes[i]->sites);
    for (uint64_t semaphore : wanted)
      if (!counted[i].contains(semaphore)) count_semaphore(semaphore, 1);
    for (uint64_t semaphore : counted[i])
      if (!wanted.contains(semaphore)) count_semaphore(semaphore, -1);
  }
  return done;
}

// What is on now.
Status UsdtEvents::settle(std::span<Probe* const> probes,
                          const std::vector<ProbeSites::Refusal>& refused) {
  std::map<const ProbePlace*, const std::string*> reasons;
  for (const ProbeSites::Refusal& one : refused) reasons[one.place] = &one.reason;
  Status result;
  for (Probe* probe : probes) {
    const bool wanted = !probe->live->programs.empty();
    size_t on = 0;
    for (Site* site : probe->sites) {
      auto reason = reasons.find(&site->place);
      const bool is_refused = reason != reasons.end();
      site->on = wanted && !is_refused;
      site->refusal = is_refused ? *reason->second : "";
      if (is_refused) site->planned = false;  // asked again the next time
      on += site->on;
    }
    if (!wanted || on || probe->sites.empty() || !result.ok()) continue;
    const EventCall& call = probe->live->call;
    result = user_error(
        EIO, "could not patch " + call.system + ":" + call.name + ": " + probe->sites[0]->refusal);
  }
  return result;
}

// --- what there is

std::string UsdtEvents::sites() const {
  std::string text;
  for (const auto& [live, probe] : probes_) {
    for (const Site* site : probe->sites) {
      if (!site->planned && site->refusal.empty()) continue;
      const ProbePlace& place = site->place;
      const SiteKind kind = site->on ? places_.active_kind(place) : place.plan.kind;
      text += hex_number(place.ip) + " ";
      text += site->refusal.empty() ? site_kind_name(kind) : "refused: " + site->refusal;
      text += " " + live->call.system + ":" + live->call.name + (site->on ? " on\n" : " off\n");
    }
  }
  return text;
}

bool UsdtEvents::any_wanted() const {
  return std::any_of(probes_.begin(), probes_.end(),
                     [](const auto& one) { return !one.first->programs.empty(); });
}

uint64_t UsdtEvents::site_count() const {
  uint64_t count = 0;
  for (const auto& [live, probe] : probes_) count += probe->sites.size();
  return count;
}

}  // namespace patchbay
