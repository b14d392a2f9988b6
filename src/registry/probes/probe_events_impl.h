// SPDX-License-Identifier: MIT
//
// What the sources of ProbeEvents share. probe_events.cc: definitions come and go; probe_places.cc:
// where they are in the program, on and off; event_probes.cc: those that stand on other events;
// probe_lists.cc: what files show.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "probe/probe_abi.h"
#include "registry/probes/probe_events.h"
#include "registry/probes/probe_world.h"
#include "symbol/elf_module.h"

namespace patchbay {

struct ProbeEventOf;

// A place in an object that is loaded now.
struct ProbeSpot {
  ProbePlace place;
  ElfModule* module = nullptr;
  std::string name;        // "vfs_read+0x4"
  bool at_entry = false;   // of a function
  uint64_t semaphore = 0;  // uprobes: the word that counts who listens; 0: none
  bool listens = false;    // counted in that word
};

// One line.
struct Probe {
  ProbeDefinition definition;
  std::string command;  // its words, for errors that come later
  uint32_t rank = 0;
  ProbeEventOf* event = nullptr;
  std::vector<std::unique_ptr<ProbeSpot>> spots;  // empty: it waits
  FetchProgramPtr fetch;
  ProbeCounts counts = {};
  uint64_t hits_before = 0;  // what the counter held when this probe got it
  // Event probes.
  LiveEvent* source = nullptr;                // null: it is not there (yet)
  std::vector<const EventProgram*> attached;  // of this event's programs, in source->programs
  FilterProgramPtr filter;
};

// One event: LiveEvent.data.
struct ProbeEventOf {
  LiveEvent* live = nullptr;
  ProbeKind kind = ProbeKind::kKprobe;
  bool on_return = false;
  std::vector<std::unique_ptr<Probe>> probes;     // at least one
  std::vector<const EventProgram*> running = {};  // live->programs of the last update()
};

struct ProbeEvents::Impl {
  Impl(ProbeEvents& o, Registry& r, Patcher& p, ProbeSites& s)
      : owner(o), registry(r), patcher(p), sites(s) {}

  ProbeEvents& owner;
  Registry& registry;
  Patcher& patcher;
  ProbeSites& sites;
  std::map<const LiveEvent*, std::unique_ptr<ProbeEventOf>> events;
  std::vector<Probe*> probes;  // in the order of definition
  size_t nr_event_probes = 0;
  bool armed = true;
  std::vector<Module*> modules;  // of the last refresh()
  uint64_t seen_changes = 0;     // of the symbol table, then
  bool refreshing = false;
  uint64_t seen_generation = 0;    // of the registry, at the last look for sources
  uint64_t ranked_generation = 0;  // of newest_other
  uint32_t newest_other = 0;       // the highest id of a synthetic or function event

  // A thread may still run their programs and counts, or be in their filters.
  std::deque<std::unique_ptr<Probe>> parked;
  size_t next_parked_counter = 0;  // of parked probes: those before it have given theirs away
  std::vector<FetchProgramPtr> parked_fetches;
  std::vector<FilterProgramPtr> parked_filters;
  struct Names {
    SymbolNames names;
    std::vector<SymbolNames::Entry> entries;
    std::string text;
  };
  std::vector<std::unique_ptr<Names>> names;  // for symstr; the last one is that of names_of
  std::vector<Module*> names_of;

  // probe_events.cc
  Status define(ProbeFile file, std::string_view line);
  Status refuse(const Probe& probe, std::string_view text, size_t position, int error,
                const std::string& reason);
  Status refuse(const ProbeError& error, const std::string& command,
                const std::string& about_symbol);
  Status refuse(std::string_view location, const std::string& command, std::string_view text,
                size_t position, int error, const std::string& reason);
  Status check_new(const Probe& probe, LiveEvent* found);
  Status make_live(std::unique_ptr<Probe> probe, EventCall call);
  Status append(std::unique_ptr<Probe> probe, ProbeEventOf* event);
  uint32_t next_rank();
  Status take_counter(Probe* probe);
  Status check_reference_counter(const ProbeDefinition& wanted) const;
  // `seen_in`: where it has been on, for clear_buffers(); null: by force, nothing is to be cleared.
  Status remove_one(Probe* probe, std::vector<TraceArray*>* seen_in);
  Status check_removable(const Probe& probe) const;
  void clear_buffers(std::vector<TraceArray*> arrays);
  bool is_of(ProbeFile file, const Probe& probe) const;
  void republish(LiveEvent* live);
  void use_fetch(LiveEvent* live, const FetchProgram* fetch);
  ProbeEventOf* event_of(const LiveEvent* live) const;

  // probe_places.cc
  struct Refusal {
    std::string reason;
    bool not_a_boundary = false;
    bool comes_later = false;  // its object is still being loaded
  };
  Status refuse_place(const Probe& probe, const Refusal& refusal);
  using Spots = std::vector<std::unique_ptr<ProbeSpot>>;
  bool find_spots(const Probe& probe, Spots* spots, Refusal* refusal);
  bool plan_spot(const ProbeDefinition& definition, ElfModule* module, uint64_t address,
                 const FunctionSymbol* function, ProbeSpot* spot, Refusal* refusal);
  bool find_glob(const ProbeDefinition& definition, Spots* spots, Refusal* refusal);
  bool find_by_name(const ProbeDefinition& definition, Spots* spots, Refusal* refusal);
  bool find_by_address(const ProbeDefinition& definition, Spots* spots, Refusal* refusal);
  Status compile(Probe* probe, const EventCall& call, const EventCall* source,
                 const ProbeSpot* spot);
  void join(Probe* probe, Spots spots);
  void drop_spots(Probe* probe, const std::vector<Module*>* still_loaded);
  void count_listeners(const Probe& probe);
  void note(const Probe& probe, const std::string& reason);
  Status update_places(std::span<LiveEvent* const> changed);
  void take_back_places(std::span<LiveEvent* const> changed);
  void follow_objects();
  void objects_changed(std::vector<Module*> now);
  void arm(Probe* probe);
  const SymbolNames* symbol_names();

  // event_probes.cc
  bool is_event_probe(const Probe& probe) const;
  LiveEvent* find_source(const ProbeDefinition& definition);
  Status use_source(Probe* probe, LiveEvent* source);
  void attach(Probe* probe);
  void detach(Probe* probe);
  void look_for_sources();
  void adopt_source(Probe* probe, LiveEvent* source);
  Status update_attached(std::span<LiveEvent* const> changed);
};

std::string_view location_of(ProbeKind kind);  // in error_log
// Where the caret of a fault of this word stands.
size_t position_of_word(std::string_view command, size_t word);
std::string joined_words(std::string_view line);
bool same_fetch(const FetchProgram& a, const FetchProgram& b);
bool is_enabled_anywhere(Registry& registry, const LiveEvent* live);

}  // namespace patchbay
