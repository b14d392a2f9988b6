// SPDX-License-Identifier: MIT
#include "registry/usdt_events.h"

#include <sys/auxv.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/hex_number.h"
#include "base/raw_syscall.h"
#include "event/sdt_event.h"
#include "probe/probe_abi.h"
#include "probe/probe_compile.h"
#include "symbol/sdt_notes.h"

namespace patchbay {

struct UsdtEvents::Site {
  CallSite site{};
  FetchProgramPtr fetch;
  uint64_t semaphore = 0;
  Module* module = nullptr;  // null: it is gone
  SitePlan plan;             // of the last time that it was wanted
  bool planned = false;
  bool on = false;
  std::string refusal;
};

struct UsdtEvents::Probe {
  LiveEvent* live = nullptr;
  FetchProgramPtr shared_fetch;  // for the registry: sizes and kind of the record
  Sites sites;
  const SiteProgram* current = nullptr;  // null: off
  std::vector<const SiteProgram*> made;  // all that it ever had
};

// One probe whose program changes, and which of its sites do.
struct UsdtEvents::Patch {
  Probe* probe;
  const SiteProgram* program;
  const SiteProgram* before;
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

// Through the kernel: the object may be unloaded at this moment. Only tracers write this word.
void count_semaphore(uint64_t address, int change) {
  uint16_t value = 0;
  iovec local = {&value, sizeof value};
  iovec remote = {reinterpret_cast<void*>(address), sizeof value};
  const long pid = raw_syscall(SYS_getpid);
  if (raw_syscall(SYS_process_vm_readv, pid, raw_pointer(&local), 1, raw_pointer(&remote), 1, 0) !=
      long(sizeof value))
    return;
  if (change < 0 && value == 0) return;
  value = uint16_t(value + change);
  raw_syscall(SYS_process_vm_writev, pid, raw_pointer(&local), 1, raw_pointer(&remote), 1, 0);
}

bool same_program(const FetchProgram& a, const FetchProgram& b) {
  const size_t bytes = sizeof(FetchProgram) + a.nr_insns * sizeof(FetchInsn);
  return a.nr_insns == b.nr_insns && std::memcmp(&a, &b, bytes) == 0;
}

bool same_layout(EventCall a, const EventCall& b) {
  a.id = b.id;
  return a.format_text() == b.format_text();
}

}  // namespace

UsdtEvents::UsdtEvents(Registry& registry, Patcher& patcher)
    : registry_(registry), patcher_(patcher) {}
UsdtEvents::~UsdtEvents() = default;

void UsdtEvents::note_error(const std::string& command, const std::string& reason) {
  registry_.top().errors.add("usdt_events", reason, command, 0);
}

// --- objects come and go

void UsdtEvents::refresh() {
  SymbolTable& symbols = registry_.symbols();
  symbols.refresh();
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
  if (is_ours(*module)) return;
  std::vector<SdtNote> notes = module->sdt_notes();
  if (notes.empty()) return;
  auto key = [](const SdtNote& note) { return std::pair(note.provider, note.name); };
  std::stable_sort(notes.begin(), notes.end(),
                   [&](const SdtNote& a, const SdtNote& b) { return key(a) < key(b); });
  for (auto first = notes.begin(); first != notes.end();) {
    auto last = std::find_if(first, notes.end(),
                             [&](const SdtNote& note) { return key(note) != key(*first); });
    add_probe(module, std::span<const SdtNote>(first, last));
    first = last;
  }
  if (!is_program(*module)) registry_.module_loaded(module->name());
}

// All sites of one probe in one object.
void UsdtEvents::add_probe(Module* module, std::span<const SdtNote> notes) {
  auto found = find_or_add_probe(*module, notes);
  if (!found.ok()) {
    note_error("sdt_" + std::string(notes[0].provider) + ":" + std::string(notes[0].name),
               found.error().message());
    return;
  }
  Probe* probe = *found;
  for (const SdtNote& note : notes) {
    Site* site = make_site(module, note, *probe->live);
    if (site) probe->sites.push_back(site);
  }
  if (!probe->current) return;
  const Patch again{probe, probe->current, probe->current};
  if (Status patched = patch({&again, 1}); !patched.ok())
    note_error(module->name(), patched.error().message());
}

Result<UsdtEvents::Probe*> UsdtEvents::find_or_add_probe(const Module& module,
                                                         std::span<const SdtNote> notes) {
  std::vector<std::vector<SdtArgument>> arguments;
  for (const SdtNote& note : notes) arguments.push_back(parse_sdt_arguments(note.arguments));
  EventCall call = make_sdt_event_call(notes[0].provider, notes[0].name, arguments);
  LiveEvent* live = registry_.find_event(call.system, call.name);
  if (live && (live->source != this || !same_layout(live->call, call)))
    return user_error(EEXIST, "Another event of this name, with other fields, is there already.");
  if (!live) {
    // What the sites share; each of them has the program for its own places.
    auto fetch = compile_sdt_site({}, call, [](std::string_view) { return uint64_t{0}; });
    if (!fetch.ok()) return fetch.error();
    auto made = std::make_unique<LiveEvent>();
    made->max_size = (*fetch)->max_size;
    made->call = std::move(call);
    made->source = this;
    if (!is_program(module)) made->module = module.name();
    auto probe = std::make_unique<Probe>();
    made->data = probe.get();
    probe->shared_fetch = std::move(*fetch);
    made->fetch = probe->shared_fetch.get();
    auto added = registry_.add_event(std::move(made));
    if (!added.ok()) return added.error();
    live = *added;
    probe->live = live;
    probes_[live] = std::move(probe);
  }
  return static_cast<Probe*>(live->data);
}

UsdtEvents::Site* UsdtEvents::make_site(Module* module, const SdtNote& note,
                                        const LiveEvent& live) {
  auto fetch =
      compile_sdt_site(parse_sdt_arguments(note.arguments), live.call,
                       [module](std::string_view name) { return module->find_symbol(name); });
  if (!fetch.ok()) return nullptr;
  auto [first, last] = sites_.equal_range(note.address);
  for (; first != last; ++first) {
    Site* parked = first->second.get();
    if (parked->module || !same_program(*parked->fetch, **fetch)) continue;
    parked->module = module;
    parked->semaphore = note.semaphore;
    return parked;
  }
  auto site = std::make_unique<Site>();
  site->fetch = std::move(*fetch);
  site->site = {nullptr, note.address, site->fetch.get()};
  site->semaphore = note.semaphore;
  site->module = module;
  return sites_.emplace(note.address, std::move(site))->second.get();
}

// Its memory is gone, or another's: nothing there is written, but what the Patcher finds as it left
// it.
void UsdtEvents::drop_module(Module* module) {
  std::erase(modules_, module);
  std::vector<SiteChange> restored;
  std::vector<Probe*> empty;
  for (auto& [live, probe] : probes_) {
    for (Site* site : probe->sites) {
      if (site->module != module) continue;
      if (site->on) restored.push_back({site->plan, {}});
      __atomic_store_n(&site->site.program, nullptr, __ATOMIC_RELEASE);  // pairs with probe_hit
      site->module = nullptr;
      site->on = site->planned = false;
    }
    std::erase_if(probe->sites, [](const Site* site) { return !site->module; });
    if (probe->sites.empty()) empty.push_back(probe.get());
  }
  if (!restored.empty()) (void)patcher_.apply(restored, registry_.single_threaded());
  for (Probe* probe : empty) {
    LiveEvent* live = probe->live;
    (void)registry_.remove_event(live, true);
    probes_.erase(live);
  }
}

// --- events go on and off

const SiteProgram* UsdtEvents::program_for(Probe* probe) {
  const auto& events = probe->live->programs;
  if (events.empty()) return nullptr;
  for (const SiteProgram* made : probe->made)
    if (std::equal(events.begin(), events.end(), made->event, made->event + made->nr_events))
      return made;
  const size_t size = sizeof(SiteProgram) + events.size() * sizeof(EventProgram*);
  programs_.push_back(std::make_unique<char[]>(size));
  auto* program = new (programs_.back().get()) SiteProgram;
  program->nr_events = uint32_t(events.size());
  program->plain = 0;
  std::copy(events.begin(), events.end(), program->event);
  probe->made.push_back(program);
  return program;
}

Status UsdtEvents::update(std::span<LiveEvent* const> changed) {
  std::vector<Patch> patches;
  for (LiveEvent* live : changed) {
    auto found = probes_.find(live);
    if (found == probes_.end()) continue;
    Probe* probe = found->second.get();
    const SiteProgram* program = program_for(probe);
    if (program != probe->current) patches.push_back({probe, program, probe->current});
  }
  Status done = patch(patches);
  if (done.ok()) return done;
  for (Patch& one : patches) std::swap(one.program, one.before);
  (void)patch(patches);
  return done;
}

// Of sites that are on, each once.
std::set<uint64_t> UsdtEvents::semaphores_of(const Sites& sites) {
  std::set<uint64_t> result;
  for (const Site* site : sites)
    if (site->on && site->semaphore) result.insert(site->semaphore);
  return result;
}

Status UsdtEvents::patch(std::span<const Patch> patches) {
  for (const Patch& one : patches) {
    one.probe->current = one.program;
    for (Site* site : one.probe->sites)  // pairs with probe_hit
      if (one.program) __atomic_store_n(&site->site.program, one.program, __ATOMIC_RELEASE);
  }
  std::vector<std::set<uint64_t>> counted;
  for (const Patch& one : patches) counted.push_back(semaphores_of(one.probe->sites));
  Status done = apply(patches);
  for (size_t i = 0; i < patches.size(); i++) {
    const std::set<uint64_t> wanted = semaphores_of(patches[i].probe->sites);
    for (uint64_t semaphore : wanted)
      if (!counted[i].contains(semaphore)) count_semaphore(semaphore, 1);
    for (uint64_t semaphore : counted[i])
      if (!wanted.contains(semaphore)) count_semaphore(semaphore, -1);
    if (patches[i].program) continue;
    for (Site* site : patches[i].probe->sites)
      __atomic_store_n(&site->site.program, nullptr, __ATOMIC_RELEASE);
  }
  return done;
}

// One transaction. An event is enabled when one of its sites can be patched.
Status UsdtEvents::apply(std::span<const Patch> patches) {
  std::vector<SiteChange> changes;
  Sites changed;
  for (const Patch& one : patches) {
    for (Site* site : one.probe->sites) {
      const bool on = one.program != nullptr;
      if (site->on == on) continue;
      if (on && !site->planned) site->plan = patcher_.plan_probe(*site->module, site->site.ip);
      site->planned = true;
      SiteChange& change = changes.emplace_back(SiteChange{site->plan, {}});
      changed.push_back(site);
      site->on = on;
      site->refusal.clear();
      if (!on) continue;
      change.prologue = [code = ProbeCode{&site->site, nullptr, site->fetch->uses_xmm != 0, false,
                                          true}](uint8_t* out, size_t capacity, uint64_t address) {
        return emit_probe(code, out, capacity, address);
      };
    }
  }
  if (changes.empty()) return {};
  auto report = patcher_.apply(changes, registry_.single_threaded());
  if (!report.ok()) {
    for (Site* site : changed) site->on = !site->on;
    return report.error();
  }
  for (const auto& [index, reason] : report->refusals) {
    changed[index]->on = false;
    changed[index]->planned = false;  // asked again the next time
    changed[index]->refusal = reason;
  }
  for (const Patch& one : patches) {
    const Sites& sites = one.probe->sites;
    auto is_on = [](const Site* site) { return site->on; };
    if (!one.program || sites.empty() || std::any_of(sites.begin(), sites.end(), is_on)) continue;
    return user_error(EIO, "could not patch " + one.probe->live->call.system + ":" +
                               one.probe->live->call.name + ": " + sites[0]->refusal);
  }
  return {};
}

// --- what there is

std::string UsdtEvents::sites() const {
  std::string text;
  for (const auto& [live, probe] : probes_) {
    for (const Site* site : probe->sites) {
      if (!site->planned && site->refusal.empty()) continue;
      text += hex_number(site->site.ip) + " ";
      text += site->refusal.empty() ? site_kind_name(site->plan.kind) : "refused: " + site->refusal;
      text += " " + live->call.system + ":" + live->call.name + (site->on ? " on\n" : " off\n");
    }
  }
  return text;
}

uint64_t UsdtEvents::site_count() const {
  uint64_t count = 0;
  for (const auto& [live, probe] : probes_) count += probe->sites.size();
  return count;
}

}  // namespace patchbay
