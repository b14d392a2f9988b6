// SPDX-License-Identifier: MIT
//
// A site must know its programs before a thread can arrive there, and keep them until none can:
//
//   publish new programs  ->  one patch transaction  ->  null programs of sites that are restored
//
// A site whose machine code would be the same is not patched again: its stub reads the programs.
// A call works on the sites that it names, each in constant time, so that a tracer of all functions
// of a large program comes and goes in milliseconds.
#include "registry/sites/probe_sites.h"

#include <algorithm>
#include <cerrno>
#include <unordered_map>

#include "base/paged_list.h"
#include "base/text.h"
#include "codegen/probe_compile.h"
#include "registry/sites/site_programs.h"

namespace patchbay {

namespace {

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

// Mostly one, seldom many.
class Members {
 public:
  Members() = default;
  Members(const Members&) = delete;
  Members& operator=(const Members&) = delete;
  ~Members() { delete[] many_; }

  Member* begin() { return many_ ? many_ : &one_; }
  Member* end() { return begin() + size_; }
  const Member* begin() const { return many_ ? many_ : &one_; }
  const Member* end() const { return begin() + size_; }
  bool empty() const { return size_ == 0; }

  void add(const Member& member) {
    if (size_ == capacity_) {
      auto* larger = new Member[capacity_ * 2];
      std::copy(begin(), end(), larger);
      delete[] many_;
      many_ = larger;
      capacity_ *= 2;
    }
    begin()[size_++] = member;
  }
  void remove(Member* member) {
    std::copy(member + 1, end(), member);
    size_--;
  }

 private:
  Member one_;
  Member* many_ = nullptr;
  uint32_t size_ = 0, capacity_ = 1;
};

constexpr size_t kAhead = 8;

// The cache lines of an object, all but the last of which it fills.
template <typename T>
void fetch_lines(const T* object) {
  const char* at = reinterpret_cast<const char*>(object);
  for (size_t i = 0; i < sizeof(T); i += 64) __builtin_prefetch(at + i);
}

bool is_inside(SiteKind kind) {
  return kind == SiteKind::kProbeTrap || kind == SiteKind::kProbeJump;
}

// The code of a place, and what it is made from.
struct PlaceCode {
  ProbeCode code{};
  CodeTemplatePtr made;  // null: there is none

  bool operator==(const PlaceCode& other) const { return code == other.code; }
};

}  // namespace

// Nodes never move or go: a thread may be in the stub.
struct ProbeSite {
  CallSite site{};
  Members members;
  const SitePlan* plan = nullptr;      // what is patched: of a place, or `own_plan`
  std::unique_ptr<SitePlan> own_plan;  // when the owner of that place has gone
  PlaceCode code;                      // likewise
  const SiteProgram* last[2] = {};     // that it was to run, at the entry and on return
  uint32_t step = 0;                   // 1 + index of its step in the running transaction
  bool patched = false;

  Programs running() const { return {site.program, site.return_program}; }
};

namespace {

using Site = ProbeSite;

// One site of a transaction, before and after.
struct Step {
  Site* site;
  Programs before, after;
  PlaceCode code_before, code_after;
  bool was_patched;
  std::string refusal = {};
};

}  // namespace

struct ProbeSites::Impl {
  explicit Impl(Patcher& p) : patcher(p) {}

  Patcher& patcher;
  std::function<void()> before_returns;
  PagedList<Site> sites;
  std::vector<Site*> table;  // open addressing by patch address; a power of two, null: free
  SitePrograms programs;
  std::vector<Step> steps;      // of the running transaction
  bool any_refusal = false;     // some step has one
  std::vector<SiteEvent> list;  // scratch of wanted_program()
  std::vector<Member> tracers;  // scratch of list_events()

  size_t slot_of(uint64_t address) const;
  void grow();
  Site* find_or_add(const ProbePlace& place);
  Site* find(const ProbePlace& place) const;
  std::vector<const Site*> in_order() const;
  void list_events(const Site& site, bool on_return);
  Result<const SiteProgram*> wanted_program(Site* site, bool on_return);
  void publish(Site* site, const Programs& wanted);
  void fetch_ahead(std::span<const ProbePlace* const> places, size_t i);
  Status plan_steps(std::span<const ProbePlace* const> places);
  Status patch(bool back, bool single_threaded);
  void take_back(bool single_threaded);
  void finish(const Step& step);
  void report(std::span<const ProbePlace* const> places, std::vector<Refusal>* refused);
  void end_steps();
};

namespace {

// Of the plans for this address the one of an entry is best: it knows what a call leaves alone.
const SitePlan* best_plan(const Site& site) {
  const SitePlan* best = nullptr;
  for (const Member& member : site.members) {
    if (!member.contributes()) continue;
    const SitePlan& plan = member.place->plan;
    if (!best || (is_inside(best->kind) && !is_inside(plan.kind))) best = &plan;
  }
  return best;
}

PlaceCode code_for(const Site& site, const Programs& programs) {
  if (!programs.any()) return {};
  const ProbeCode code = probe_code(&site.site, programs.entry, programs.on_return,
                                    site.plan->flags_live, is_inside(site.plan->kind));
  return {code, probe_template(code)};
}

std::string label_of(const Site& site) {
  for (const Member& member : site.members)
    if (member.contributes() && !member.place->label.empty()) return member.place->label;
  return {};
}

std::string name_at_site(const LiveEvent& live) {
  return live.consumer.empty() ? live.call.name : live.consumer;
}

std::string name_of(const ProbePlace& place) {
  return place.label.empty() ? hex_number(place.plan.patch_address) : place.label;
}

std::string name_of(const LiveEvent& live) {
  return live.consumer.empty() ? live.call.system + ":" + live.call.name : live.consumer;
}

// The programs of one place build the same record, or read it: those that read it stand behind.
void append_events(const Member& member, std::vector<SiteEvent>* list) {
  const ProbePlace& place = *member.place;
  const SitePlan& plan = place.plan;
  const uint64_t address = is_inside(plan.kind) ? plan.patch_address : plan.entry;
  // Whose record says the function of the site is the same at all sites.
  const uint64_t ip = place.ip ? place.ip : member.live->is_tracer ? 0 : address;
  SiteEvent one = {nullptr, place.fetch ? place.fetch : member.live->fetch, ip, place.counts};
  for (bool from_record : {false, true}) {
    for (const EventProgram* program : member.live->programs) {
      if ((program->from_record != 0) != from_record) continue;
      one.event = program;
      list->push_back(one);
      one.counts = nullptr;  // a hit counts once, however many instances record it
    }
  }
}

}  // namespace

// --- which sites there are

size_t ProbeSites::Impl::slot_of(uint64_t address) const {
  size_t slot = address * 0x9e3779b97f4a7c15 >> 20 & (table.size() - 1);
  while (table[slot] && table[slot]->site.address != address)
    slot = (slot + 1) & (table.size() - 1);
  return slot;
}

void ProbeSites::Impl::grow() {
  table.assign(std::max<size_t>(64, table.size() * 2), nullptr);
  for (Site& site : sites) table[slot_of(site.site.address)] = &site;
}

Site* ProbeSites::Impl::find_or_add(const ProbePlace& place) {
  const uint64_t address = place.plan.patch_address;
  if (Site* known = find(place)) return known;
  if (sites.size() * 3 >= table.size() * 2) grow();
  Site& made = sites.emplace_back();
  made.site.address = address;
  table[slot_of(address)] = &made;
  place.site = &made;
  return &made;
}

Site* ProbeSites::Impl::find(const ProbePlace& place) const {
  const uint64_t address = place.plan.patch_address;
  if (place.site && place.site->site.address == address) return place.site;
  if (table.empty()) return nullptr;
  return place.site = table[slot_of(address)];
}

std::vector<const Site*> ProbeSites::Impl::in_order() const {
  std::vector<const Site*> result;
  for (const Site& site : sites)
    if (site.patched) result.push_back(&site);
  std::sort(result.begin(), result.end(),
            [](const Site* a, const Site* b) { return a->site.address < b->site.address; });
  return result;
}

ProbeSites::ProbeSites(Patcher& patcher) : impl_(new Impl(patcher)) {}
ProbeSites::~ProbeSites() = default;

void ProbeSites::join(const LiveEvent* live, std::span<const ProbePlace* const> places) {
  for (const ProbePlace* place : places) {
    Site* site = impl_->find_or_add(*place);
    if (place->plan.entry) site->site.function = place->plan.entry;
    site->members.add({live, place});
  }
}

void ProbeSites::leave(const LiveEvent* live, std::span<const ProbePlace* const> places) {
  for (const ProbePlace* place : places) {
    Site* site = impl_->find(*place);
    if (!site) continue;
    auto member = std::find_if(site->members.begin(), site->members.end(), [&](const Member& one) {
      return one.live == live && one.place == place;
    });
    if (member == site->members.end()) continue;
    site->members.remove(member);
    if (!site->patched || site->plan != &place->plan || place->stays) continue;
    site->own_plan = std::make_unique<SitePlan>(place->plan);
    site->plan = site->own_plan.get();
  }
}

// --- what they run

// Events that have a record of their own come first, in the order in which they joined. Tracers
// follow, the newest first. So the same consumers make the same list at all sites.
void ProbeSites::Impl::list_events(const Site& site, bool on_return) {
  list.clear();
  tracers.clear();
  for (const Member& member : site.members) {
    if (!member.contributes() || member.place->on_return != on_return) continue;
    if (member.live->is_tracer)
      tracers.push_back(member);
    else
      append_events(member, &list);
  }
  std::sort(tracers.begin(), tracers.end(),
            [](const Member& a, const Member& b) { return a.live->order > b.live->order; });
  for (const Member& member : tracers) append_events(member, &list);
}

Result<const SiteProgram*> ProbeSites::Impl::wanted_program(Site* site, bool on_return) {
  list_events(*site, on_return);
  if (list.empty()) return nullptr;
  const SiteProgram*& last = site->last[on_return];
  const SiteProgram* program = programs.get(list, on_return, last);
  if (!program) return sys_error("make a program for " + hex_number(site->site.address), ENOMEM);
  return last = program;
}

void ProbeSites::Impl::publish(Site* site, const Programs& wanted) {
  programs.move(site->site.return_program, wanted.on_return);
  programs.move(site->site.program, wanted.entry);
  __atomic_store_n(&site->site.return_program, wanted.on_return, __ATOMIC_RELEASE);
  __atomic_store_n(&site->site.program, wanted.entry, __ATOMIC_RELEASE);  // pairs with probe_hit
}

// --- a transaction

// Fifty thousand sites are more than the caches hold, and from a place to what its event runs it is
// four steps from pointer to pointer. So the memory of those that come next is asked for in time.
void ProbeSites::Impl::fetch_ahead(std::span<const ProbePlace* const> places, size_t i) {
  const auto ahead = [&](size_t distance) -> const ProbePlace* {
    return i + distance < places.size() ? places[i + distance] : nullptr;
  };
  if (const ProbePlace* place = ahead(4 * kAhead)) fetch_lines(place);
  if (const ProbePlace* place = ahead(3 * kAhead); place && place->site) fetch_lines(place->site);
  if (const ProbePlace* place = ahead(2 * kAhead); place && place->site)
    for (const Member& member : place->site->members) {
      fetch_lines(&member.live->fetch);
      if (place->site->last[0]) fetch_lines(place->site->last[0]);
    }
  if (const ProbePlace* place = ahead(kAhead); place && place->site)
    for (const Member& member : place->site->members) {
      if (member.live->fetch) fetch_lines(member.live->fetch);
      if (!member.live->programs.empty()) fetch_lines(member.live->programs.front());
    }
}

Status ProbeSites::Impl::plan_steps(std::span<const ProbePlace* const> places) {
  programs.begin();
  steps.reserve(places.size());
  for (size_t i = 0; i < places.size(); i++) {
    fetch_ahead(places, i);
    Site* site = find(*places[i]);
    if (!site || site->step) continue;
    Programs wanted;
    for (bool on_return : {false, true}) {
      PB_ASSIGN(auto program, wanted_program(site, on_return));
      (on_return ? wanted.on_return : wanted.entry) = program;
    }
    if (wanted == site->running()) continue;
    if (!site->patched && wanted.any()) site->plan = best_plan(*site);
    steps.push_back(
        {site, site->running(), wanted, site->code, code_for(*site, wanted), site->patched});
    site->step = uint32_t(steps.size());
  }
  return {};
}

// One transaction for all steps whose code changes, forwards or back.
Status ProbeSites::Impl::patch(bool back, bool single_threaded) {
  std::vector<SiteChange> changes;
  std::vector<Step*> changed;
  changes.reserve(steps.size());
  changed.reserve(steps.size());
  for (size_t i = 0; i < steps.size(); i++) {
    if (i + 2 * kAhead < steps.size()) fetch_lines(steps[i + 2 * kAhead].site);
    if (i + kAhead < steps.size() && steps[i + kAhead].site->plan)
      fetch_lines(steps[i + kAhead].site->plan);
    Step& step = steps[i];
    if (back && !step.refusal.empty()) continue;  // as it was
    const bool will_be = back ? step.was_patched : step.after.any();
    const bool was = back ? step.after.any() : step.was_patched;
    if (!will_be && !was) continue;
    if (will_be && was && step.code_before == step.code_after) continue;
    Site* const site = step.site;
    SiteChange& change = changes.emplace_back(SiteChange{*site->plan, {}});
    changed.push_back(&step);
    if (!will_be) continue;
    site->code = back ? step.code_before : step.code_after;
    change.prologue = [site](uint8_t* out, size_t capacity, uint64_t address) -> size_t {
      const auto& [code, made] = site->code;
      return made ? emit_probe(*made, code, out, capacity, address) : 0;
    };
    change.prologue.reads = {&site->code, site->code.code.event.event};
    if (site->code.made) change.prologue.shape = probe_stack_shape(*site->code.made);
  }
  if (changes.empty()) return {};
  PB_ASSIGN(auto report, patcher.apply(changes, single_threaded));
  for (const auto& [index, reason] : report.refusals)
    if (!back && changed[index]->after.any()) {
      changed[index]->refusal = reason;
      any_refusal = true;
    }
  return {};
}

// What cannot be put back (its library is gone) records nothing any more; the rest goes on.
void ProbeSites::Impl::take_back(bool single_threaded) {
  for (const Step& step : steps)
    if (step.before.any()) publish(step.site, step.before);
  [[maybe_unused]] Status ignored = patch(true, single_threaded);
  for (const Step& step : steps) {
    step.site->code = step.code_before;
    if (!step.before.any()) publish(step.site, {});
  }
}

void ProbeSites::Impl::finish(const Step& step) {
  Site& site = *step.site;
  if (!step.refusal.empty()) {
    site.code = step.code_before;
    return publish(&site, step.before);
  }
  if (!step.after.any()) publish(&site, {});
  site.patched = step.after.any();
  site.code = step.code_after;
  if (!site.patched) site.own_plan.reset();
}

// Every place whose wish has not come true.
void ProbeSites::Impl::report(std::span<const ProbePlace* const> places,
                              std::vector<Refusal>* refused) {
  for (size_t i = 0; i < places.size(); i++) {
    if (i + kAhead < places.size()) __builtin_prefetch(places[i + kAhead]);
    const ProbePlace* place = places[i];
    const bool is_refused = place->plan.kind == SiteKind::kRefused;
    if (!is_refused && !any_refusal) continue;
    const Site* site = find(*place);
    if (!site) continue;
    const std::string& reason = site->step ? steps[site->step - 1].refusal : place->plan.reason;
    if (!is_refused && (!site->step || reason.empty())) continue;
    auto is_place = [place](const Member& member) { return member.place == place; };
    auto member = std::find_if(site->members.begin(), site->members.end(), is_place);
    if (member == site->members.end() || !member->wanted()) continue;
    refused->push_back({place, is_refused ? place->plan.reason : reason});
  }
}

void ProbeSites::Impl::end_steps() {
  for (const Step& step : steps) step.site->step = 0;
  steps.clear();
  any_refusal = false;
  if (steps.capacity() > 1024) steps.shrink_to_fit();
}

void ProbeSites::set_before_returns(std::function<void()> look) {
  impl_->before_returns = std::move(look);
}

Status ProbeSites::update(std::span<const ProbePlace* const> places, bool single_threaded,
                          std::vector<Refusal>* refused) {
  Impl& impl = *impl_;
  std::vector<Refusal> found;
  auto failure = [&] {
    return user_error(EIO, "could not patch " + name_of(*found[0].place) + ": " + found[0].reason);
  };
  impl.report(places, &found);
  if (!refused && !found.empty()) return failure();
  const auto hooks = [](const ProbePlace* place) { return place->on_return; };
  if (impl.before_returns && std::any_of(places.begin(), places.end(), hooks))
    impl.before_returns();
  Status status = impl.plan_steps(places);
  if (!status.ok()) {
    impl.end_steps();
    return status;
  }
  for (const Step& step : impl.steps)
    if (step.after.any()) impl.publish(step.site, step.after);
  status = impl.patch(false, single_threaded);
  found.clear();
  impl.report(places, &found);
  if (status.ok() && !refused && !found.empty()) status = failure();
  if (status.ok())
    for (const Step& step : impl.steps) impl.finish(step);
  else
    impl.take_back(single_threaded);
  impl.end_steps();
  if (status.ok() && refused) *refused = std::move(found);
  return status;
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
    restored.push_back({*site->plan, {}});
    impl_->publish(site, {});
    site->patched = false;
    site->own_plan.reset();
  }
  if (!restored.empty()) (void)impl_->patcher.apply(restored, single_threaded);
}

void ProbeSites::unmapped(uint64_t start, uint64_t end) {
  for (uint64_t address : impl_->patcher.unmapped(start, end)) {
    Site* site = impl_->table.empty() ? nullptr : impl_->table[impl_->slot_of(address)];
    if (!site || !site->patched) continue;
    impl_->publish(site, {});
    site->patched = false;
    site->own_plan.reset();
  }
}

bool ProbeSites::forget_plans() {
  for (const Site& site : impl_->sites)
    for (const Member& member : site.members)
      if (member.place->stays) return false;
  for (Site& site : impl_->sites) {
    if (site.patched && !site.own_plan) site.own_plan = std::make_unique<SitePlan>(*site.plan);
    site.plan = site.own_plan.get();
  }
  return true;
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

// Which bytes of the program are other ones now: whoever reads its own code meets these.
static std::string changed_bytes(const SitePlan& plan, SiteKind kind) {
  const bool is_trap = kind == SiteKind::kTrap || kind == SiteKind::kProbeTrap;
  const size_t size = is_trap ? 1 : kind == SiteKind::kShortJump ? 2 : 5;
  if (kind == SiteKind::kRefused) return "";
  std::string text = " bytes " + hex_number(plan.patch_address) + "+" + std::to_string(size);
  if (kind == SiteKind::kShortJump) text += "," + hex_number(plan.target) + "+5";
  return text;
}

[[gnu::cold]] std::string ProbeSites::show(
    const std::function<std::string(uint64_t)>& function_label) const {
  auto has_tracer = [](const Site& site) {
    return std::any_of(site.members.begin(), site.members.end(), [](const Member& member) {
      return member.contributes() && member.live->is_tracer;
    });
  };
  std::string text;
  for (const Site* site : impl_->in_order()) {
    std::string label = label_of(*site);
    if (label.empty() && function_label && has_tracer(*site))
      label = function_label(site->plan->entry);
    if (label.empty()) continue;
    const uint64_t address = site->site.address;
    text += hex_number(address) + " " + site_kind_name(impl_->patcher.active_kind(address)) + " ";
    text += label;
    for (const Member& member : site->members)
      if (member.contributes()) text += " " + name_at_site(*member.live);
    if (!site->plan->reason.empty()) text += " (" + site->plan->reason + ")";
    text += changed_bytes(*site->plan, impl_->patcher.active_kind(address)) + '\n';
  }
  return text;
}

// Sites that share a program have the same consumers.
std::string ProbeSites::combinations() const {
  std::unordered_map<const SiteProgram*, std::string> names;
  const auto add = [&names](const Site& site, const SiteProgram* program, bool on_return) {
    if (!program) return;
    const auto [name, is_new] = names.try_emplace(program);
    for (const Member& member : site.members)
      if (is_new && member.contributes() && member.place->on_return == on_return)
        name->second += " " + name_of(*member.live);
  };
  for (const Site& site : impl_->sites) {
    add(site, site.site.program, false);
    add(site, site.site.return_program, true);
  }
  return impl_->programs.show([&](const SiteProgram* program) { return names[program]; });
}

}  // namespace patchbay
