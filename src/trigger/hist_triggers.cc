// SPDX-License-Identifier: MIT
#include "trigger/hist_triggers.h"

#include <algorithm>
#include <cerrno>
#include <map>
#include <set>

#include "abi/match_abi.h"
#include "base/agreed.h"
#include "base/shared_memory.h"
#include "base/text.h"
#include "event/synthetic_event.h"
#include "hist/definition/hist_build.h"
#include "hist/definition/hist_compile.h"
#include "hist/definition/hist_listing.h"
#include "hist/hist_program.h"
#include "hist/hist_table.h"
#include "probe/triggers/action_hot.h"
#include "registry/event_filters.h"
#include "registry/events/synthetic_events.h"
#include "registry/settings.h"
#include "registry/snapshots.h"
#include "tracer/function_commands.h"
#include "trigger/event_triggers.h"

namespace patchbay {

namespace {

using namespace hist_errors;
using HistPtr = std::unique_ptr<HistData>;

// What it shares with others of its name.
HistData* shared(HistData* hist) { return hist->owner ? hist->owner : hist; }

bool has_variables(const HistData& hist) {
  const auto is_defined = [](const auto& variable) { return variable->operands[0] != nullptr; };
  return !hist.var_refs.empty() ||
         std::any_of(hist.variables.begin(), hist.variables.end(), is_defined);
}

// References of one histogram to variables of others and to synthetic events. An instance stays
// while its histograms have variables, as in the kernel.
void count_references(HistData* hist, bool comes) {
  const auto count = [comes](uint32_t* users) {
    if (comes) return void(++*users);
    drop_user(users);
  };
  for (const auto& ref : hist->var_refs)
    if (ref->var_data != hist) count(&ref->var_data->var_references);
  for (const auto& action : hist->actions)
    if (action->synthetic) count(&action->synthetic->references);
  if (hist->array && has_variables(*hist)) count(&hist->array->references);
}

bool is_plain_key(const HistField& key) {
  constexpr uint32_t kMade = kHistStacktrace | kHistLog2 | kHistTimestamp | kHistExpr |
                             kHistVarRef | kHistCpu | kHistAlias | kHistBucket | kHistConst;
  return key.field && !(key.flags & kMade);
}

// "\tSYSTEM:EVENT\tKEY=KEY,…": the event of onmatch(). Nothing where a recording of it would not
// tell which of its hits it was: where a filter leaves hits out, or other events set the variables
// of one name, too.
std::string start_of_match(const HistData& hist, const HistActionData& action) {
  const HistData* start = nullptr;
  for (const auto& ref : hist.var_refs) {
    const HistData* of = ref->var_data;
    if (!of || of == &hist || !of->event) continue;
    const EventCall& call = of->event->call;
    if (call.system != action.match_system || call.name != action.match_event) continue;
    if (!of->filter_text.empty() || !of->name.empty()) return "";
    start = of;
  }
  if (!start || start->keys.size() != hist.keys.size()) return "";
  std::string keys;
  for (size_t i = 0; i < hist.keys.size(); i++) {
    if (!is_plain_key(*hist.keys[i]) || !is_plain_key(*start->keys[i])) return "";
    keys += (i ? "," : "") + hist.keys[i]->field->name + "=" + start->keys[i]->field->name;
  }
  return "\t" + action.match_system + ":" + action.match_event + "\t" + keys;
}

// What a hit asks of the control thread: run_asked() answers.
void make_snapshot_actions(HistData* hist) {
  for (const auto& action : hist->actions) {
    if (action->kind != HistActionKind::kSnapshot) continue;
    bool fresh = false;
    action->snapshot = agreed_shared<HitAction>("hist snapshot", {}, &fresh);
    if (fresh) action->snapshot->kind = ActionKind::kSnapshot;
  }
}

std::optional<TraceClock> find_clock(std::string_view name) {
  for (size_t i = 0; i < kTraceClocks.size(); i++)
    if (kTraceClocks[i].name == name) return TraceClock(i);
  return std::nullopt;
}

// "hist:keys=…" -> "keys=…"; blanks may stand instead of the colon.
std::string_view without_word(std::string_view command) {
  const size_t end = command.find_first_of(": \t");
  if (end == command.npos) return {};
  return trim_front(command.substr(end + 1));
}

}  // namespace

struct HistTriggers::Impl final : HistWorld {
  Impl(Registry& r, SyntheticEvents& s, EventTriggers& t)
      : registry(r), synthetic(s), triggers(t) {}

  Registry& registry;
  SyntheticEvents& synthetic;
  EventTriggers& triggers;
  std::vector<HistPtr> hists;   // the oldest first
  std::vector<HistPtr> owners;  // removed, but others of their name still share their table
  std::vector<HistPtr> gone;    // a thread may still run their programs
  std::map<const TraceArray*, const HistData*> snapshots;  // whose snapshot() an instance has
  std::map<const HitAction*, uint64_t> answered;           // of HitAction.asked
  std::set<std::string> described;                         // lines in the log, which come once

  // HistWorld
  LiveEvent* find_event(const TraceArray& array, std::string_view system,
                        std::string_view name) override;
  LiveEvent* find_synthetic(std::string_view name) override;
  std::vector<HistData*> hists_of(const TraceArray& array, const LiveEvent* event) override;
  std::vector<HistData*> hists_with_variables(const TraceArray& array) override;
  Status add_auxiliary(TraceArray& array, LiveEvent* event, std::string_view text,
                       HistErrors* errors) override;
  Status take_snapshot(TraceArray& array, HistData* hist) override;

  template <typename Predicate>
  std::vector<HistData*> select(Predicate wanted) const;
  Result<HistPtr> make(TraceArray& array, LiveEvent* event, const HistDefinition& definition,
                       bool remove, HistErrors* errors);
  Status write(TraceArray& array, LiveEvent* event, std::string_view text, bool remove,
               HistErrors* errors);
  HistData* find_named(const HistDefinition& definition) const;
  HistData* find_same(const HistData& hist, const HistData* named) const;
  bool update(const HistData& hist, const HistDefinition& definition);
  void set_paused(HistData* hist, bool paused);
  Status add(HistPtr hist, const HistDefinition& definition, HistErrors* errors);
  Status check_new(const HistData& hist, const HistDefinition& definition, HistErrors* errors);
  Status publish(HistPtr hist);
  void describe(const HistData& hist);
  Status remove(const HistData& like, const HistDefinition& definition);
  Status take_out(HistData* hist);
  HistPtr extract(HistData* hist);
  bool has_members(const HistData* owner) const;
  void let_go(HistPtr hist);
  void bury(HistPtr hist);
  void release_snapshot(const HistData* hist);
  void sweep_auxiliaries(const TraceArray* array);
  template <typename Predicate>
  void drop_if(Predicate goes);
};

HistTriggers::HistTriggers(Registry& registry, SyntheticEvents& synthetic, EventTriggers& triggers)
    : impl_(std::make_unique<Impl>(registry, synthetic, triggers)) {}
HistTriggers::~HistTriggers() = default;

// --- what definitions may refer to

template <typename Predicate>
std::vector<HistData*> HistTriggers::Impl::select(Predicate wanted) const {
  std::vector<HistData*> found;
  for (const HistPtr& hist : hists)
    if (wanted(*hist)) found.push_back(hist.get());
  return found;
}

LiveEvent* HistTriggers::Impl::find_event(const TraceArray& array, std::string_view system,
                                          std::string_view name) {
  LiveEvent* event = registry.find_event(system, name);
  const auto& only = array.systems;
  if (!event || only.empty()) return event;
  return std::find(only.begin(), only.end(), system) == only.end() ? nullptr : event;
}

LiveEvent* HistTriggers::Impl::find_synthetic(std::string_view name) {
  return synthetic.has(name) ? registry.find_event(kSyntheticSystem, name) : nullptr;
}

std::vector<HistData*> HistTriggers::Impl::hists_of(const TraceArray& array,
                                                    const LiveEvent* event) {
  auto found =
      select([&](const HistData& hist) { return hist.array == &array && hist.event == event; });
  for (HistData*& hist : found) hist = shared(hist);
  return found;
}

std::vector<HistData*> HistTriggers::Impl::hists_with_variables(const TraceArray& array) {
  auto found = select([&](const HistData& hist) {
    return hist.array == &array && !hist.owner && has_variables(hist);
  });
  for (const HistPtr& owner : owners)
    if (owner->array == &array && has_variables(*owner)) found.push_back(owner.get());
  std::reverse(found.begin(), found.end());
  return found;
}

Status HistTriggers::Impl::add_auxiliary(TraceArray& array, LiveEvent* event, std::string_view text,
                                         HistErrors* errors) {
  PB_ASSIGN(auto definition, parse_hist(text, errors));
  PB_ASSIGN(auto hist, make(array, event, definition, false, errors));
  hist->is_auxiliary = true;
  return add(std::move(hist), definition, errors);
}

Status HistTriggers::Impl::take_snapshot(TraceArray& array, HistData* hist) {
  if (array.has_conditional_snapshot)
    return user_error(EBUSY, "Another snapshot() has the snapshot of this instance.");
  PB_TRY(registry.snapshots().allocate(array));
  snapshots[&array] = hist;
  array.has_conditional_snapshot = true;
  expect_questions(1);
  return {};
}

void HistTriggers::Impl::release_snapshot(const HistData* hist) {
  for (auto at = snapshots.begin(); at != snapshots.end(); at++) {
    if (at->second != hist) continue;
    hist->array->has_conditional_snapshot = false;
    expect_questions(-1);
    snapshots.erase(at);
    return;
  }
}

// --- one command

Result<HistPtr> HistTriggers::Impl::make(TraceArray& array, LiveEvent* event,
                                         const HistDefinition& definition, bool remove,
                                         HistErrors* errors) {
  auto hist = make_hist(*this, array, event, definition, remove, errors);
  if (!hist.ok() || !definition.filter) return hist;
  PB_ASSIGN(auto filter, registry.filters().make(array, event, *definition.filter));
  (*hist)->filter_text = *definition.filter;
  (*hist)->filter = std::move(filter);
  return hist;
}

Status HistTriggers::Impl::write(TraceArray& array, LiveEvent* event, std::string_view text,
                                 bool remove, HistErrors* errors) {
  PB_ASSIGN(auto definition, parse_hist(text, errors));
  PB_ASSIGN(auto hist, make(array, event, definition, remove, errors));
  if (remove) return this->remove(*hist, definition);
  if (update(*hist, definition)) return {};
  Status status = make_hist_actions(*this, hist.get(), errors);
  if (status.ok()) return add(std::move(hist), definition, errors);
  release_snapshot(hist.get());
  return status;
}

Status HistTriggers::write(TraceArray& array, LiveEvent* event, std::string_view command) {
  const bool remove = command.starts_with('!');
  const std::string_view text = without_word(command);
  if (text.empty())
    return user_error(EINVAL, "A histogram needs keys, as in hist:keys=common_pid.");
  HistErrors errors(&array.errors, event->call.system, event->call.name,
                    "hist:" + std::string(text));
  Status status = impl_->write(array, event, text, remove, &errors);
  if (!status.ok()) impl_->sweep_auxiliaries(&array);
  return status;
}

// --- names

// Of those of a name the one whose table they share.
HistData* HistTriggers::Impl::find_named(const HistDefinition& definition) const {
  if (!definition.has_name) return nullptr;
  for (const auto* list : {&owners, &hists})
    for (const HistPtr& hist : *list)
      if (!hist->owner && hist->name == definition.name) return hist.get();
  return nullptr;
}

// The trigger of the same event that is this one, filter included.
HistData* HistTriggers::Impl::find_same(const HistData& hist, const HistData* named) const {
  for (const HistPtr& other : hists) {
    if (other->array != hist.array || other->event != hist.event) continue;
    HistData* definition = shared(other.get());
    if (named ? definition != named : !definition->name.empty()) continue;
    if (hist.filter_text == other->filter_text && same_hist(hist, *definition, false))
      return other.get();
  }
  return nullptr;
}

// --- pause, cont, clear

// What a hit of enable_hist or disable_hist has said for all moves into each of them.
void HistTriggers::Impl::set_paused(HistData* hist, bool paused) {
  uint32_t* all = triggers.hist_switch(*hist->array, hist->event);
  // For all processes it is moved by one.
  const uint64_t key = note_key("hist switch said");
  uint32_t said = kHistEach;
  if (is_forked_child())
    said = uint32_t(noted(key).value_or(kHistEach));
  else
    note(key, said = __atomic_exchange_n(all, uint32_t{kHistEach}, __ATOMIC_ACQ_REL));
  const auto store = [](HistData* one, bool value) {
    one->paused = value;
    __atomic_store_n(&one->program->paused, value, __ATOMIC_RELAXED);
  };
  for (const HistPtr& one : hists)
    if (said != kHistEach && one->array == hist->array && one->event == hist->event)
      store(one.get(), said == kHistAllPaused);
  store(hist, paused);
}

// A definition with pause, cont or clear acts on the trigger that is there.
bool HistTriggers::Impl::update(const HistData& hist, const HistDefinition& definition) {
  if (!definition.pause && !definition.cont && !definition.clear) return false;
  const HistData* named = find_named(definition);
  if (definition.has_name && !named) return false;
  if (named && !same_hist(hist, *named, false)) return false;
  HistData* there = find_same(hist, named);
  if (!there) return false;
  if (definition.pause || definition.cont)
    set_paused(there, definition.pause);
  else
    clear_hist_table(there->table);
  return true;
}

bool HistTriggers::is_paused(const HistData& hist) {
  return hist.program ? hist_is_paused(hist.program) : hist.paused;
}

// --- adding

Status HistTriggers::Impl::check_new(const HistData& hist, const HistDefinition& definition,
                                     HistErrors* errors) {
  const HistData* named = find_named(definition);
  if (named && !same_hist(hist, *named, false)) {
    errors->add(kNamedMismatch, "name=" + definition.name);
    return errors->refusal(EINVAL, "");
  }
  if ((named || !definition.has_name) && find_same(hist, named)) {
    errors->add(kExists);
    return errors->refusal(EEXIST, "");
  }
  if (definition.cont || definition.clear) {
    errors->add(kNothingToClear);
    return errors->refusal(ENOENT, "");
  }
  if (hist.uses_timestamps && !find_clock(hist.clock)) {
    errors->add(kBadClock, hist.clock);
    return errors->refusal(EINVAL, "");
  }
  return {};
}

Status HistTriggers::Impl::add(HistPtr hist, const HistDefinition& definition, HistErrors* errors) {
  Status status = check_new(*hist, definition, errors);
  if (status.ok()) {
    hist->owner = find_named(definition);
    if (hist->owner) hist->table = hist->owner->table;
    make_snapshot_actions(hist.get());
    status = compile_hist(hist.get());
  }
  if (status.ok() && hist->uses_timestamps)
    status = registry.settings().set_clock(*hist->array, *find_clock(hist->clock));
  if (!status.ok()) {
    release_snapshot(hist.get());
    if (hist->program) gone.push_back(std::move(hist));
    return status;
  }
  hist->program->event_switch = triggers.hist_switch(*hist->array, hist->event);
  set_paused(hist.get(), definition.pause);
  return publish(std::move(hist));
}

Status HistTriggers::Impl::publish(HistPtr hist) {
  HistData* made = hist.get();
  count_references(made, true);
  hists.push_back(std::move(hist));
  Status status = triggers.publish(*made->array, made->event);
  if (!status.ok()) {
    let_go(extract(made));
  } else {
    describe(*made);
  }
  return status;
}

// For who reads the buffer: which hits make which synthetic events. Without it they are not linked.
[[gnu::cold]] void HistTriggers::Impl::describe(const HistData& hist) {
  const EventCall& call = hist.event->call;
  for (const auto& action : hist.actions) {
    if (action->kind != HistActionKind::kTrace || !action->synthetic) continue;
    std::string line = action->synthetic_name + "\t" + call.system + ":" + call.name;
    if (action->handler == HistHandler::kMatch) line += start_of_match(hist, *action);
    if (!described.insert(line).second) continue;
    (void)registry.top().buffer->append_meta(abi::kMetaMatch, line);
  }
}

// --- removing

Status HistTriggers::Impl::remove(const HistData& like, const HistDefinition& definition) {
  HistData* there = find_same(like, find_named(definition));
  if (!there) return {};
  if (shared(there)->var_references)
    return user_error(EBUSY, "Other histograms refer to its variables; remove them first.");
  return take_out(there);
}

Status HistTriggers::Impl::take_out(HistData* hist) {
  TraceArray& array = *hist->array;
  HistPtr own = extract(hist);
  Status status = triggers.publish(array, hist->event);
  let_go(std::move(own));
  sweep_auxiliaries(&array);
  return status;
}

// The caller publishes the list without it. A forked child keeps the program that it was born with,
// and looks at `paused`.
HistPtr HistTriggers::Impl::extract(HistData* hist) {
  auto place = std::find_if(hists.begin(), hists.end(),
                            [&](const HistPtr& one) { return one.get() == hist; });
  HistPtr own = std::move(*place);
  hists.erase(place);
  __atomic_store_n(&own->program->paused, 1, __ATOMIC_RELAXED);
  return own;
}

bool HistTriggers::Impl::has_members(const HistData* owner) const {
  return std::any_of(hists.begin(), hists.end(),
                     [&](const HistPtr& other) { return other->owner == owner; });
}

// One whose table others share stays as long as they.
void HistTriggers::Impl::let_go(HistPtr hist) {
  HistData* const owner = hist->owner;
  if (!owner && has_members(hist.get())) {
    owners.push_back(std::move(hist));
    return;
  }
  bury(std::move(hist));
  if (!owner || has_members(owner)) return;
  auto place = std::find_if(owners.begin(), owners.end(),
                            [&](const HistPtr& one) { return one.get() == owner; });
  if (place == owners.end()) return;
  HistPtr last = std::move(*place);
  owners.erase(place);
  bury(std::move(last));
}

// Nothing runs it any more, or only a thread that is late.
void HistTriggers::Impl::bury(HistPtr hist) {
  count_references(hist.get(), false);
  release_snapshot(hist.get());
  if (!hist->owner) retire_hist_table(hist->table);
  gone.push_back(std::move(hist));
}

// Removes the auxiliary histograms that no other refers to any more.
void HistTriggers::Impl::sweep_auxiliaries(const TraceArray* array) {
  for (HistData* hist : select([&](const HistData& one) {
         return one.is_auxiliary && one.array == array && !one.var_references;
       }))
    (void)take_out(hist);  // nobody waits for an answer
}

Status HistTriggers::remove_all(TraceArray& array, LiveEvent* event) {
  const std::vector<HistData*> all = of(array, event);
  if (std::any_of(all.begin(), all.end(),
                  [](HistData* hist) { return shared(hist)->var_references != 0; }))
    return {};
  std::vector<HistPtr> own;
  for (HistData* hist : all) own.push_back(impl_->extract(hist));
  if (own.empty()) return {};
  Status status = impl_->triggers.publish(array, event);
  for (HistPtr& hist : own) impl_->let_go(std::move(hist));
  impl_->sweep_auxiliaries(&array);
  return status;
}

// By force: others may still refer to their variables, which no hit sets any more.
template <typename Predicate>
void HistTriggers::Impl::drop_if(Predicate goes) {
  for (HistData* hist : select(goes)) {
    HistPtr own = extract(hist);
    (void)triggers.publish(*own->array, own->event);  // nobody waits for an answer
    let_go(std::move(own));
  }
  for (const HistPtr& owner : owners) {
    if (!goes(*owner)) continue;
    release_snapshot(owner.get());
    if (has_variables(*owner)) drop_user(&owner->array->references);
    owner->array = nullptr;
    owner->event = nullptr;
  }
}

void HistTriggers::array_goes(TraceArray& array) {
  impl_->drop_if([&](const HistData& hist) { return hist.array == &array; });
}

void HistTriggers::event_goes(LiveEvent* event) {
  impl_->drop_if([&](const HistData& hist) { return hist.event == event; });
  for (TraceArray* array : impl_->registry.arrays()) impl_->sweep_auxiliaries(array);
  impl_->sweep_auxiliaries(&impl_->registry.top());
}

// --- what hits have asked for

void HistTriggers::run_asked() {
  for (const auto& [array, hist] : impl_->snapshots) {
    for (uint32_t i = 0; hist->program && i < hist->program->nr_acts; i++) {
      const HitAction* action = hist->program->acts[i].snapshot;
      if (!action) continue;
      const uint64_t asked = __atomic_load_n(&action->asked, __ATOMIC_ACQUIRE);
      if (std::exchange(impl_->answered[action], asked) == asked) continue;
      // The instance's snapshot is busy for everybody else.
      hist->array->has_conditional_snapshot = false;
      take_asked_snapshot(impl_->registry, *hist->array);
      hist->array->has_conditional_snapshot = true;
    }
  }
}

// --- what there is

std::vector<HistData*> HistTriggers::of(const TraceArray& array, const LiveEvent* event) const {
  return impl_->select(
      [&](const HistData& hist) { return hist.array == &array && hist.event == event; });
}

std::string HistTriggers::definition_text(const HistData& hist) { return hist_listing(hist); }

namespace {

bool follows_record(const HistData* hist) {
  return std::any_of(hist->actions.begin(), hist->actions.end(), [](const auto& action) {
    return action->kind == HistActionKind::kTrace || action->kind == HistActionKind::kSnapshot;
  });
}

}  // namespace

std::vector<Trigger> HistTriggers::programs(const TraceArray& array, const LiveEvent* event) const {
  const std::vector<HistData*> hists = of(array, event);
  // The kernel has reserved the event's record before its histograms run: what they trace() stands
  // behind it, and their snapshot() has it. All of them together, since they see each other's
  // variables in their order.
  const bool after = std::any_of(hists.begin(), hists.end(), follows_record);
  std::vector<Trigger> made;
  for (const HistData* hist : hists) {
    Trigger trigger = {};
    trigger.kind = TriggerKind::kHist;
    trigger.after = after;
    trigger.needs_record = 1;
    trigger.filter = hist->filter.get();
    trigger.hist = hist->program;
    made.push_back(trigger);
  }
  return made;
}

}  // namespace patchbay
