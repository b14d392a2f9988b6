// SPDX-License-Identifier: MIT
//
// The USDT probes of everything that is loaded, as events sdt_PROVIDER:NAME. The notes are read
// when somebody asks what there is (refresh()); a place is planned and patched when its event is
// enabled, and its semaphore counted up so that the program prepares the arguments.
//
//   refresh()   loaded objects -> notes -> one event for all sites of one name, in all objects
//   update()    on:   places planned; ProbeSites: programs, one patch transaction; semaphores + 1
//               off:  ProbeSites; semaphores - 1
//
// An object may be unloaded at any time between two calls. Its text is only written through the
// Patcher, its semaphores only through the kernel, so that neither can crash; the next refresh()
// takes its events back.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "patch/patcher.h"
#include "registry/registry.h"
#include "registry/sites/probe_sites.h"

namespace patchbay {

struct SdtNote;

class UsdtEvents : public EventSource {
 public:
  UsdtEvents(Registry& registry, Patcher& patcher, ProbeSites& sites);
  ~UsdtEvents() override;

  // Some event is on: what comes may have more sites of it.
  bool any_wanted() const;
  // Looks at what is loaded now: adds events of new objects (with their `:mod:` requests), removes
  // those of objects that are gone. Cheap when nothing has changed. What could not be added is
  // named in the top instance's error_log.
  void refresh();

  Status update(std::span<LiveEvent* const> changed) override;

  // Lines of debug/call_sites, beside ProbeSites::show(), one for each site that was ever wanted:
  // "0xADDRESS probe-int3 sdt_x:y on", or "… refused: reason".
  std::string sites() const;
  uint64_t site_count() const;

 private:
  struct Site;
  struct Probe;

  using Sites = std::vector<Site*>;
  using Places = std::vector<const ProbePlace*>;

  void add_module(Module* module);
  void add_probe(Module* module, std::span<const SdtNote> notes);
  Result<Probe*> find_or_add_probe(Module* module, std::span<const SdtNote> notes);
  Site* make_site(Module* module, const SdtNote& note, LiveEvent* live);
  void drop_module(Module* module);
  static std::set<uint64_t> semaphores_of(const Sites& sites);
  void plan(Site* site);
  Places places_of(Probe* probe);
  Status patch(std::span<Probe* const> probes);
  Status settle(std::span<Probe* const> probes, const std::vector<ProbeSites::Refusal>& refused);

  void note_error(const std::string& command, const std::string& reason);

  Registry& registry_;
  Patcher& patcher_;
  ProbeSites& places_;
  std::vector<Module*> modules_;            // that were looked at and are still there
  std::set<const Module*> without_probes_;  // of all that ever were
  uint64_t seen_changes_ = 0;               // of the symbol table
  std::map<const LiveEvent*, std::unique_ptr<Probe>> probes_;
  // By address. None is freed, a thread may be on its way with one: a site that comes back is used.
  std::multimap<uint64_t, std::unique_ptr<Site>> sites_;
};

}  // namespace patchbay
