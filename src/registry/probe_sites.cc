// SPDX-License-Identifier: MIT
//
// A site must know its programs before a thread can arrive there, and keep them until none can:
//
//   publish new programs  ->  one patch transaction  ->  null programs of sites that are restored
//
// A site whose machine code would be the same is not patched again: its stub reads the programs.
#include "registry/probe_sites.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <map>
#include <unordered_set>

#include "base/hex_number.h"
#include "probe/probe_compile.h"

namespace patchbay {

namespace {

struct FreeProgram {
  void operator()(SiteProgram* program) const { std::free(program); }
};
using ProgramPtr = std::unique_ptr<SiteProgram, FreeProgram>;

// What a CallSite runs. Programs are equal when they are the same one.
struct Programs {
  const SiteProgram* entry = nullptr;
  const SiteProgram* on_return = nullptr;

  bool any() const { return entry || on_return; }
  bool operator==(const Programs&) const = default;
};

struct Member {
  const LiveEvent* live;
  const ProbePlace* place;

  bool wanted() const { return !place->disarmed && !live->programs.empty(); }
  bool contributes() const { return wanted() && place->plan.kind != SiteKind::kRefused; }
};

// Nodes never move or go: a thread may be in the stub.
struct Site {
  CallSite site{};
  std::vector<Member> members;
  std::vector<ProgramPtr> made;  // all that were ever published; used again when equal
  Programs running;
  bool patched = false;
  SitePlan plan;     // what is patched
  ProbeCode code{};  // likewise
};

// One site of a transaction, before and after.
struct Step {
  Site* site;
  Programs before, after;
  ProbeCode code_before, code_after;
  bool was_patched;
  std::string refusal = {};
};

bool is_inside(SiteKind kind) {
  return kind == SiteKind::kProbeTrap || kind == SiteKind::kProbeJump;
}

bool same_events(const SiteProgram& program, const std::vector<SiteEvent>& list) {
  return std::equal(list.begin(), list.end(), program.event, program.event + program.nr_events);
}

uint32_t largest_record(const std::vector<SiteEvent>& list) {
  uint32_t size = 0;
  for (const SiteEvent& one : list)
    size = std::max({size, one.event->max_size, one.fetch ? one.fetch->max_size : 0});
  return size;
}

// The programs of one place build the same record, or read it: those that read it stand behind.
void append_events(const Member& member, std::vector<SiteEvent>* list) {
  const ProbePlace& place = *member.place;
  const SitePlan& plan = place.plan;
  const uint64_t address = is_inside(plan.kind) ? plan.patch_address : plan.entry;
  SiteEvent one = {nullptr, place.fetch ? place.fetch : member.live->fetch,
                   place.ip ? place.ip : address, place.counts};
  for (bool from_record : {false, true}) {
    for (const EventProgram* program : member.live->programs) {
      if ((program->from_record != 0) != from_record) continue;
      one.event = program;
      list->push_back(one);
      one.counts = nullptr;  // a hit counts once, however many instances record it
    }
  }
}

// Whether it can have any depends on its rings too, which may have changed.
const SiteProgram* with_code(SiteProgram* program, bool on_return) {
  if (on_return)
    __atomic_store_n(&program->return_code, return_code(*program), __ATOMIC_RELAXED);
  return program;
}

Result<const SiteProgram*> wanted_program(Site* site, bool on_return) {
  std::vector<SiteEvent> list;
  for (const Member& member : site->members)
    if (member.contributes() && member.place->on_return == on_return) append_events(member, &list);
  if (list.empty()) return nullptr;
  for (const ProgramPtr& known : site->made)
    if (same_events(*known, list)) return with_code(known.get(), on_return);
  const size_t size = sizeof(SiteProgram) + list.size() * sizeof(SiteEvent);
  ProgramPtr made(static_cast<SiteProgram*>(std::calloc(1, size)));
  if (!made) return sys_error("make a program for " + hex_number(site->site.address), ENOMEM);
  made->nr_events = uint32_t(list.size());
  made->max_record = largest_record(list);
  std::copy(list.begin(), list.end(), made->event);
  made->has_graph = std::any_of(list.begin(), list.end(), [](const SiteEvent& one) {
    return one.event->kind == ConsumerKind::kGraph || one.event->kind == ConsumerKind::kProfile;
  });
  site->made.push_back(std::move(made));
  return with_code(site->made.back().get(), on_return);
}

// Of the plans for this address the one of an entry is best: it knows what a call leaves alone.
SitePlan best_plan(const Site& site) {
  const SitePlan* best = nullptr;
  for (const Member& member : site.members) {
    if (!member.contributes()) continue;
    const SitePlan& plan = member.place->plan;
    if (!best || (is_inside(best->kind) && !is_inside(plan.kind))) best = &plan;
  }
  return best ? *best : SitePlan{};
}

ProbeCode code_for(const Site& site, const Programs& programs) {
  return probe_code(&site.site, programs.entry, programs.on_return, site.plan.flags_live,
                    is_inside(site.plan.kind));
}

void publish(Site* site, const Programs& programs) {
  site->running = programs;
  __atomic_store_n(&site->site.return_program, programs.on_return, __ATOMIC_RELEASE);
  __atomic_store_n(&site->site.program, programs.entry, __ATOMIC_RELEASE);  // pairs with probe_hit
}

std::string label_of(const Site& site) {
  for (const Member& member : site.members)
    if (member.contributes() && !member.place->label.empty()) return member.place->label;
  return {};
}

std::string name_of(const ProbePlace& place) {
  return place.label.empty() ? hex_number(place.plan.patch_address) : place.label;
}

}  // namespace

struct ProbeSites::Impl {
  explicit Impl(Patcher& p) : patcher(p) {}

  Patcher& patcher;
  std::map<uint64_t, Site> sites;  // by patch address

  Site* find(const ProbePlace& place) {
    auto found = sites.find(place.plan.patch_address);
    return found == sites.end() ? nullptr : &found->second;
  }
  Result<std::vector<Step>> plan_steps(std::span<const ProbePlace* const> places);
  Status patch(std::span<Step> steps, bool back, bool single_threaded);
  void take_back(std::span<Step> steps, bool single_threaded);
  void finish(const Step& step);
  void report(std::span<const ProbePlace* const> places, std::span<const Step> steps,
              std::vector<Refusal>* refused);
};

ProbeSites::ProbeSites(Patcher& patcher) : impl_(new Impl(patcher)) {}
ProbeSites::~ProbeSites() = default;

void ProbeSites::join(const LiveEvent* live, std::span<const ProbePlace* const> places) {
  for (const ProbePlace* place : places) {
    Site& site = impl_->sites[place->plan.patch_address];
    site.site.address = place->plan.patch_address;
    if (place->plan.entry) site.site.function = place->plan.entry;
    site.members.push_back({live, place});
  }
}

void ProbeSites::leave(const LiveEvent* live, std::span<const ProbePlace* const> places) {
  for (const ProbePlace* place : places)
    if (Site* site = impl_->find(*place))
      std::erase_if(site->members, [&](const Member& member) {
        return member.live == live && member.place == place;
      });
}

Result<std::vector<Step>> ProbeSites::Impl::plan_steps(std::span<const ProbePlace* const> places) {
  std::vector<Step> steps;
  std::unordered_set<Site*> seen;
  for (const ProbePlace* place : places) {
    Site* site = find(*place);
    if (!site || !seen.insert(site).second) continue;
    Programs wanted;
    for (bool on_return : {false, true}) {
      auto program = wanted_program(site, on_return);
      if (!program.ok()) return program.error();
      (on_return ? wanted.on_return : wanted.entry) = *program;
    }
    if (wanted == site->running) continue;
    if (!site->patched) site->plan = best_plan(*site);
    steps.push_back(
        {site, site->running, wanted, site->code, code_for(*site, wanted), site->patched});
  }
  return steps;
}

// One transaction for all steps whose code changes, forwards or back.
Status ProbeSites::Impl::patch(std::span<Step> steps, bool back, bool single_threaded) {
  std::vector<SiteChange> changes;
  std::vector<Step*> changed;
  for (Step& step : steps) {
    if (back && !step.refusal.empty()) continue;  // as it was
    const bool will_be = back ? step.was_patched : step.after.any();
    const bool was = back ? step.after.any() : step.was_patched;
    if (!will_be && !was) continue;
    if (will_be && was && step.code_before == step.code_after) continue;
    StubPrologue prologue;
    if (will_be)
      prologue = [code = back ? step.code_before : step.code_after](uint8_t* out, size_t capacity,
                                                                    uint64_t address) {
        return emit_probe(code, out, capacity, address);
      };
    changes.push_back({step.site->plan, std::move(prologue)});
    changed.push_back(&step);
  }
  if (changes.empty()) return {};
  auto report = patcher.apply(changes, single_threaded);
  if (!report.ok()) return report.error();
  for (const auto& [index, reason] : report->refusals)
    if (!back && changed[index]->after.any()) changed[index]->refusal = reason;
  return {};
}

// What cannot be put back (its library is gone) records nothing any more; the rest goes on.
void ProbeSites::Impl::take_back(std::span<Step> steps, bool single_threaded) {
  for (const Step& step : steps)
    if (step.before.any()) publish(step.site, step.before);
  [[maybe_unused]] Status ignored = patch(steps, true, single_threaded);
  for (const Step& step : steps)
    if (!step.before.any()) publish(step.site, {});
}

void ProbeSites::Impl::finish(const Step& step) {
  Site& site = *step.site;
  if (!step.refusal.empty()) return publish(&site, step.before);
  if (!step.after.any()) publish(&site, {});
  site.patched = step.after.any();
  site.code = step.code_after;
}

// Every place whose wish has not come true.
void ProbeSites::Impl::report(std::span<const ProbePlace* const> places,
                              std::span<const Step> steps, std::vector<Refusal>* refused) {
  std::map<const Site*, std::string> reasons;
  for (const Step& step : steps)
    if (!step.refusal.empty()) reasons[step.site] = step.refusal;
  for (const ProbePlace* place : places) {
    const Site* site = find(*place);
    if (!site) continue;
    auto is_place = [place](const Member& member) { return member.place == place; };
    auto member = std::find_if(site->members.begin(), site->members.end(), is_place);
    if (member == site->members.end() || !member->wanted()) continue;
    auto reason = reasons.find(site);
    if (place->plan.kind == SiteKind::kRefused)
      refused->push_back({place, place->plan.reason});
    else if (reason != reasons.end())
      refused->push_back({place, reason->second});
  }
}

Status ProbeSites::update(std::span<const ProbePlace* const> places, bool single_threaded,
                          std::vector<Refusal>* refused) {
  std::vector<Refusal> found;
  auto failure = [&] {
    return user_error(EIO, "could not patch " + name_of(*found[0].place) + ": " + found[0].reason);
  };
  impl_->report(places, {}, &found);
  if (!refused && !found.empty()) return failure();
  auto steps = impl_->plan_steps(places);
  if (!steps.ok()) return steps.error();
  for (const Step& step : *steps)
    if (step.after.any()) publish(step.site, step.after);
  Status status = impl_->patch(*steps, false, single_threaded);
  found.clear();
  impl_->report(places, *steps, &found);
  if (status.ok() && !refused && !found.empty()) status = failure();
  if (!status.ok()) {
    impl_->take_back(*steps, single_threaded);
    return status;
  }
  for (const Step& step : *steps) impl_->finish(step);
  if (refused) *refused = std::move(found);
  return {};
}

void ProbeSites::mark(const ProbePlace& place, uint32_t graph, uint32_t profile) {
  Site* site = impl_->find(place);
  if (!site) return;
  __atomic_store_n(&site->site.graph, graph, __ATOMIC_RELAXED);
  __atomic_store_n(&site->site.profile, profile, __ATOMIC_RELAXED);
}

// Nothing is written there, but what the Patcher finds as it left it.
void ProbeSites::forget(std::span<const ProbePlace* const> places, bool single_threaded) {
  std::vector<SiteChange> restored;
  for (const ProbePlace* place : places) {
    Site* site = impl_->find(*place);
    if (!site || !site->patched) continue;
    restored.push_back({site->plan, {}});
    publish(site, {});
    site->patched = false;
  }
  if (!restored.empty()) (void)impl_->patcher.apply(restored, single_threaded);
}

SiteKind ProbeSites::active_kind(const ProbePlace& place) const {
  const Site* site = impl_->find(place);
  return site && site->patched ? impl_->patcher.active_kind(place.plan.patch_address)
                               : SiteKind::kRefused;
}

const CallSite* ProbeSites::site(const ProbePlace& place) const {
  const Site* site = impl_->find(place);
  return site ? &site->site : nullptr;
}

std::vector<ProbeSites::Consumer> ProbeSites::consumers(const ProbePlace& place) const {
  std::vector<Consumer> list;
  const Site* site = impl_->find(place);
  if (!site || !site->patched) return list;
  for (const Member& member : site->members)
    if (member.contributes()) list.push_back({member.live, member.place->on_return});
  return list;
}

std::string ProbeSites::show() const {
  std::string text;
  for (const auto& [address, site] : impl_->sites) {
    const std::string label = label_of(site);
    if (!site.patched || label.empty()) continue;
    text += hex_number(address) + " " + site_kind_name(impl_->patcher.active_kind(address)) + " ";
    text += label;
    for (const Member& member : site.members)
      if (member.contributes()) text += " " + member.live->call.name;
    if (!site.plan.reason.empty()) text += " (" + site.plan.reason + ")";
    text += '\n';
  }
  return text;
}

}  // namespace patchbay
