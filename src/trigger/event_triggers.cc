// SPDX-License-Identifier: MIT
//
// One list for each (instance, event): the plain triggers, the newest first, and behind them the
// hists. Every change makes a new TriggerProgram of it. While the list is not empty its event is
// held in soft mode once, and each enable_event … holds its target.
//
// Parsing follows the kernel's order of checks, because it decides what a command with several
// mistakes leaves behind (an error in error_log, a snapshot that was allocated).
#include "trigger/event_triggers.h"

#include <algorithm>
#include <cerrno>
#include <deque>
#include <list>
#include <map>
#include <span>

#include "abi/ftrace_records.h"
#include "base/agreed.h"
#include "base/check.h"
#include "base/shared_memory.h"
#include "base/text.h"
#include "filter/filter.h"
#include "hist/hist_program.h"
#include "mirror/mirror_stubs.h"
#include "probe/callbacks/callbacks.h"
#include "probe/triggers/action_hot.h"
#include "probe/triggers/mirror_hot.h"
#include "registry/event_filters.h"
#include "registry/snapshots.h"
#include "tracer/function_commands.h"
#include "trigger/hist_triggers.h"

namespace patchbay {

namespace {

constexpr std::string_view kWordEnds = ": \t", kFilterBlanks = " \t";

// Triggers of one class are in each other's way.
enum class TriggerClass : uint8_t { kTraceOnOff, kSnapshot, kStackTrace, kMirror, kEvent, kHist };

struct CommandInfo {
  std::string_view name;
  ActionKind kind;
  TriggerClass group;
  bool after;
};
constexpr CommandInfo kCommands[] = {
    {"traceon", ActionKind::kTraceOn, TriggerClass::kTraceOnOff, false},
    {"traceoff", ActionKind::kTraceOff, TriggerClass::kTraceOnOff, true},
    {"snapshot", ActionKind::kSnapshot, TriggerClass::kSnapshot, false},
    {"stacktrace", ActionKind::kStackTrace, TriggerClass::kStackTrace, true},
    {"mirror", ActionKind::kMirror, TriggerClass::kMirror, false},
    {"enable_event", ActionKind::kEnableEvent, TriggerClass::kEvent, false},
    {"disable_event", ActionKind::kDisableEvent, TriggerClass::kEvent, false},
    {"enable_hist", ActionKind::kEnableHist, TriggerClass::kHist, false},
    {"disable_hist", ActionKind::kDisableHist, TriggerClass::kHist, false},
};
// The kernel's; `mirror` is ours alone.
constexpr std::string_view kAvailable =
    "# Available triggers:\n"
    "# traceon traceoff snapshot stacktrace enable_event disable_event enable_hist disable_hist "
    "hist\n";

bool has_target(const CommandInfo& command) { return command.group >= TriggerClass::kEvent; }

const CommandInfo* find_command(std::string_view name) {
  for (const CommandInfo& one : kCommands)
    if (one.name == name) return &one;
  return nullptr;
}

// The kernel's strsep(): the text before the first of `ends`; `rest` is nothing when there is none.
using Rest = std::optional<std::string_view>;
std::string_view next_word(Rest* rest, std::string_view ends) {
  const std::string_view text = **rest;
  const size_t end = text.find_first_of(ends);
  *rest = end == text.npos ? Rest() : Rest(text.substr(end + 1));
  return text.substr(0, end);
}

// Behind the blanks; nothing left is nothing.
Rest without_blanks(Rest rest) {
  if (!rest) return {};
  const size_t first = rest->find_first_not_of(kSpaces);
  return first == rest->npos ? Rest() : Rest(rest->substr(first));
}

struct Written {
  bool remove = false;
  std::string_view command;  // without its !
  Rest parameter;            // and the filter
};

Written split_command(std::string_view text) {
  Written written;
  Rest rest = text;
  written.command = next_word(&rest, kWordEnds);
  written.parameter = without_blanks(rest);
  written.remove = written.command.starts_with('!');
  if (written.remove) written.command.remove_prefix(1);
  return written;
}

// What stands behind the command, still as text.
struct Parameter {
  Rest param;   // "3", "sys:event:3"
  Rest filter;  // "if x == 1"
};

// A parameter that is not required begins with a digit, or it is a filter.
Parameter split_filter(Rest text, bool required) {
  Parameter out;
  if (!text) return out;
  if (!required && !is_digit(text->front())) {
    out.filter = text;
    return out;
  }
  out.param = next_word(&text, kFilterBlanks);
  out.filter = without_blanks(text);
  return out;
}

Result<int64_t> parse_count(Rest text) {
  if (!text) return int64_t{-1};
  const std::string_view number = next_word(&text, ":");
  if (number.empty()) return user_error(EINVAL, "A count is missing behind the colon.");
  return parse_action_count(number);
}

// "if x == 1" -> "x == 1"
Result<Rest> filter_expression(Rest text) {
  if (!text) return Rest();
  const std::string_view word = next_word(&text, kFilterBlanks);
  if (word != "if")
    return user_error(EINVAL,
                      "Behind the trigger and its count only 'if FILTER' may follow, not '" +
                          std::string(word) + "'.");
  if (!text) return user_error(EINVAL, "A filter is missing behind 'if'.");
  return text;
}

std::string name_of(const LiveEvent& event) { return event.call.system + ":" + event.call.name; }

struct PlainTrigger {
  const CommandInfo* command;
  LiveEvent* target = nullptr;  // of enable_event …
  std::string filter_text;
  FilterProgramPtr filter;
  HitAction* action = nullptr;
  uint64_t answered = 0;  // of HitAction.asked
  const MirrorStub* mirror = nullptr;

  bool is(const CommandInfo& other, const LiveEvent* event) const {
    return command->group == other.group && target == event;
  }
};

using PlainPtr = std::unique_ptr<PlainTrigger>;

std::string text_of(const PlainTrigger& trigger) {
  std::string text(trigger.command->name);
  if (trigger.target) text += ":" + name_of(*trigger.target);
  const int64_t count = __atomic_load_n(&trigger.action->count, __ATOMIC_RELAXED);
  text += trigger.action->limited ? ":count=" + std::to_string(count) : ":unlimited";
  if (trigger.filter) text += " if " + trigger.filter_text;
  return text + "\n";
}

struct Subscription {
  HitCallback* callback = nullptr;
  FilterProgramPtr filter;
};

// All triggers of one event in one instance.
struct List {
  TraceArray* array = nullptr;
  LiveEvent* event = nullptr;
  std::list<PlainPtr> plain;  // the newest first
  std::vector<Subscription> subscriptions;
  bool holds = false;               // the event in soft mode
  uint32_t* hist_switch = nullptr;  // EventTriggers::hist_switch(); shared by forked children
};

}  // namespace

struct EventTriggers::Impl {
  explicit Impl(Registry& r) : registry(r) {}

  Registry& registry;
  std::unique_ptr<HistTriggers> hists;
  MirrorStubs mirrors;
  std::map<std::pair<const TraceArray*, const LiveEvent*>, List> lists;
  // A thread may still be in one: kept for good.
  std::vector<std::unique_ptr<uint64_t[]>> programs;
  std::vector<FilterProgramPtr> gates;
  std::deque<PlainPtr> gone;
  std::deque<FilterProgramPtr> gone_filters;

  List& list_of(TraceArray& array, LiveEvent* event);
  const List* find(const TraceArray& array, const LiveEvent* event) const;
  Result<LiveEvent*> find_target(TraceArray& array, Rest* param);
  Status write_plain(List& list, const CommandInfo& command, const Written& written);
  Status set_filter(List& list, Rest text, PlainTrigger* trigger);
  Status prepare(List& list, PlainTrigger* trigger);
  Status prepare_mirror(const List& list, PlainTrigger* trigger);
  Status add(List& list, PlainPtr trigger, int64_t count);
  Status remove(List& list, const CommandInfo& command, const LiveEvent* target);
  void drop(List& list, std::list<PlainPtr>::iterator place);
  template <typename Predicate>
  void drop_if(List& list, Predicate goes);
  uint32_t* hist_switch(List& list);
  template <typename Predicate>
  bool drop_subscriptions(List& list, Predicate goes);
  void drop_all_subscriptions(List& list);
  Status publish(List& list);
  const TriggerProgram* make_program(const List& list);
  const FilterProgram* make_gate(const TriggerProgram& program);
  void run_asked();
};

EventTriggers::EventTriggers(Registry& registry, SyntheticEvents& synthetic)
    : impl_(new Impl(registry)) {
  impl_->hists = std::make_unique<HistTriggers>(registry, synthetic, *this);
  Registry::TriggerHooks hooks;
  hooks.array_goes = [this](TraceArray& array) { array_goes(array); };
  hooks.event_goes = [this](LiveEvent* event) { event_goes(event); };
  hooks.marker_written = [this] { run_asked(); };
  registry.set_trigger_hooks(std::move(hooks));
}

EventTriggers::~EventTriggers() { impl_->registry.set_trigger_hooks({}); }

List& EventTriggers::Impl::list_of(TraceArray& array, LiveEvent* event) {
  List& list = lists[{&array, event}];
  list.array = &array;
  list.event = event;
  return list;
}

const List* EventTriggers::Impl::find(const TraceArray& array, const LiveEvent* event) const {
  const auto found = lists.find({&array, event});
  return found == lists.end() ? nullptr : &found->second;
}

// --- commands

Status EventTriggers::write(TraceArray& array, LiveEvent* event, std::string_view command) {
  const Written written = split_command(trim(command));
  if (written.command == "hist") return impl_->hists->write(array, event, trim(command));
  const CommandInfo* info = find_command(written.command);
  if (!info)
    return user_error(EINVAL, written.command.empty()
                                  ? std::string("That is no trigger.")
                                  : "There is no trigger '" + std::string(written.command) + "'.");
  return impl_->write_plain(impl_->list_of(array, event), *info, written);
}

Result<LiveEvent*> EventTriggers::Impl::find_target(TraceArray& array, Rest* param) {
  const std::string system(next_word(param, ":"));
  if (!*param)
    return user_error(EINVAL, "This trigger needs the event that it switches: SYSTEM:EVENT.");
  const std::string name(next_word(param, ":"));
  LiveEvent* event = registry.find_event(system, name);
  const auto& only = array.systems;
  const bool is_seen = only.empty() || std::find(only.begin(), only.end(), system) != only.end();
  if (!event || !event->can_enable || !is_seen)
    return user_error(EINVAL, "There is no event " + system + ":" + name + ".");
  return event;
}

[[gnu::cold]] Status EventTriggers::Impl::write_plain(List& list, const CommandInfo& command,
                                                      const Written& written) {
  const bool targeted = has_target(command);
  if (targeted && !written.parameter)
    return user_error(EINVAL, "This trigger needs the event that it switches: SYSTEM:EVENT.");
  Parameter parameter = split_filter(written.parameter, targeted);
  auto trigger = std::make_unique<PlainTrigger>();
  trigger->command = &command;
  if (targeted) {
    PB_ASSIGN(auto target, find_target(*list.array, &parameter.param));
    trigger->target = target;
  }
  if (written.remove) return remove(list, command, trigger->target);
  PB_ASSIGN(auto count, parse_count(parameter.param));
  PB_TRY(set_filter(list, parameter.filter, trigger.get()));
  return add(list, std::move(trigger), count);
}

Status EventTriggers::Impl::set_filter(List& list, Rest text, PlainTrigger* trigger) {
  PB_ASSIGN(auto expression, filter_expression(text));
  if (!expression) return {};
  PB_ASSIGN(auto filter, registry.filters().make(*list.array, list.event, *expression));
  trigger->filter = std::move(filter);
  trigger->filter_text = *expression;
  return {};
}

// --- adding and removing

// What has to be there before the first hit.
Status EventTriggers::Impl::prepare(List& list, PlainTrigger* made) {
  const PlainTrigger& trigger = *made;
  if (trigger.command->group == TriggerClass::kSnapshot) {
    if (list.array->has_conditional_snapshot)
      return user_error(EBUSY, "A histogram's snapshot() has the snapshot of this instance.");
    PB_TRY(registry.snapshots().allocate(*list.array));
  }
  if (trigger.target) PB_TRY(registry.hold_soft(*list.array, trigger.target));
  const bool exists = std::any_of(list.plain.begin(), list.plain.end(), [&](const PlainPtr& one) {
    return one->is(*trigger.command, trigger.target);
  });
  if (!exists && trigger.command->kind == ActionKind::kMirror) return prepare_mirror(list, made);
  if (!exists) return {};
  if (trigger.target) registry.release_soft(*list.array, trigger.target);
  return user_error(EEXIST, "The event " + name_of(*list.event) + " has a trigger of this kind" +
                                (trigger.target ? " for " + name_of(*trigger.target) : "") +
                                " already; remove it first.");
}

// One probe stands for the event: a listener would see a hit twice.
Status EventTriggers::Impl::prepare_mirror(const List& list, PlainTrigger* trigger) {
  for (const auto& [key, other] : lists)
    for (const PlainPtr& one : other.plain)
      if (other.event == list.event && one->command == trigger->command)
        return user_error(EBUSY, "The event " + name_of(*list.event) + " is mirrored by " +
                                     (other.array->is_top() ? "the top instance"
                                                            : "the instance " + other.array->name) +
                                     ", and one mirror of it is enough for all listeners.");
  const std::string& instances = registry.instance_directory();
  if (instances.empty())
    return user_error(EOPNOTSUPP,
                      "This process has no runtime directory, and a mirror needs a file in it.");
  const std::string directory = instances.substr(0, instances.rfind('/')) + "/mirror";
  PB_ASSIGN(trigger->mirror, mirrors.stub_of(list.event->call, directory));
  return {};
}

Status EventTriggers::Impl::add(List& list, PlainPtr trigger, int64_t count) {
  PB_TRY(prepare(list, trigger.get()));
  // Made before the action, in the order in which a child asks for them.
  uint32_t* soft = nullptr;
  if (trigger->command->group == TriggerClass::kEvent)
    soft = registry.file(*list.array, trigger->target)->soft;
  if (trigger->command->group == TriggerClass::kHist)
    soft = hist_switch(list_of(*list.array, trigger->target));
  bool fresh = false;
  auto* action = agreed_shared<HitAction>("trigger", name_of(*list.event), &fresh);
  if (fresh) {
    action->kind = trigger->command->kind;
    action->of_trigger = true;
    action->count = count;
    action->limited = count != -1;
    action->soft = soft;
    if (trigger->command->group == TriggerClass::kHist)
      action->word = action->kind == ActionKind::kEnableHist ? kHistAllOn : kHistAllPaused;
  }
  trigger->action = action;
  if (action->kind == ActionKind::kSnapshot) expect_questions(1);
  list.plain.push_front(std::move(trigger));
  Status status = publish(list);
  if (!status.ok()) drop(list, list.plain.begin());
  return status;
}

// One that is not there is none to remove: fine, as in the kernel.
Status EventTriggers::Impl::remove(List& list, const CommandInfo& command,
                                   const LiveEvent* target) {
  const auto found = std::find_if(list.plain.begin(), list.plain.end(),
                                  [&](const PlainPtr& one) { return one->is(command, target); });
  if (found == list.plain.end()) return {};
  drop(list, found);
  return publish(list);
}

// The caller publishes. A forked child keeps the program that it was born with, and looks at `off`.
void EventTriggers::Impl::drop(List& list, std::list<PlainPtr>::iterator place) {
  PlainPtr trigger = std::move(*place);
  list.plain.erase(place);
  __atomic_store_n(&trigger->action->off, 1, __ATOMIC_RELAXED);
  if (trigger->action->kind == ActionKind::kSnapshot) expect_questions(-1);
  if (trigger->target) registry.release_soft(*list.array, trigger->target);
  gone.push_back(std::move(trigger));
}

template <typename Predicate>
void EventTriggers::Impl::drop_if(List& list, Predicate goes) {
  bool changed = false;
  for (auto at = list.plain.begin(); at != list.plain.end();) {
    const auto place = at++;
    if (!goes(**place)) continue;
    drop(list, place);
    changed = true;
  }
  if (changed) (void)publish(list);  // nobody waits for an answer
}

// --- publishing

const TriggerProgram* EventTriggers::Impl::make_program(const List& list) {
  const std::vector<Trigger> of_hists = hists->programs(*list.array, list.event);
  const size_t count = list.plain.size() + of_hists.size() + list.subscriptions.size();
  if (!count) return nullptr;
  const size_t bytes = sizeof(TriggerProgram) + count * sizeof(Trigger);
  programs.push_back(std::make_unique<uint64_t[]>((bytes + 7) / 8));
  auto* program = reinterpret_cast<TriggerProgram*>(programs.back().get());
  bool needs_record = false;
  for (const PlainPtr& one : list.plain) {
    Trigger& trigger = program->trigger[program->nr_triggers++];
    trigger.kind = TriggerKind::kAction;
    // Its snapshot is to have this record. (Not without a filter, but that of a marker: as in the
    // kernel, which runs such a trigger before there is a record.)
    const bool has_it = one->filter || list.event->call.id == abi::kPrintId;
    const bool copies = one->command->kind == ActionKind::kSnapshot && has_it;
    trigger.after = one->command->after || copies;
    trigger.needs_record = trigger.after || one->filter;
    trigger.filter = one->filter.get();
    trigger.action = one->action;
    trigger.mirror = one->mirror;
    if (one->mirror) trigger.kind = TriggerKind::kMirror;
    if (one->mirror) trigger.needs_record = 1;
    needs_record |= trigger.needs_record;
  }
  for (const Trigger& hist : of_hists) program->trigger[program->nr_triggers++] = hist;
  for (const Subscription& one : list.subscriptions) {
    Trigger& trigger = program->trigger[program->nr_triggers++];
    trigger.kind = TriggerKind::kCallback;
    trigger.after = trigger.needs_record = 1;
    trigger.filter = one.filter.get();
    trigger.callback = one.callback;
  }
  PB_CHECK_VALUES(program->nr_triggers == count, program->nr_triggers, count);
  program->has_early = !needs_record && of_hists.empty() && list.subscriptions.empty();
  program->gate = make_gate(*program);
  if (count == 1 && program->trigger[0].mirror)
    program->listeners = program->trigger[0].mirror->listeners;
  return program;
}

const FilterProgram* EventTriggers::Impl::make_gate(const TriggerProgram& program) {
  std::vector<const FilterProgram*> filters;
  for (const Trigger& trigger : std::span(program.trigger, program.nr_triggers))
    filters.push_back(trigger.filter);
  if (std::find(filters.begin(), filters.end(), nullptr) != filters.end()) return nullptr;
  if (filters.size() == 1) return filters[0];
  gates.push_back(any_filter(filters));
  return gates.back().get();
}

Status EventTriggers::Impl::publish(List& list) {
  const TriggerProgram* program = make_program(list);
  if (program && !list.holds) {
    PB_TRY(registry.hold_soft(*list.array, list.event));
    list.holds = true;
  }
  Status status = registry.set_triggers(*list.array, list.event, program);
  if (!registry.file(*list.array, list.event)->triggers && list.holds) {
    list.holds = false;
    registry.release_soft(*list.array, list.event);
  }
  return status;
}

Status EventTriggers::publish(TraceArray& array, LiveEvent* event) {
  return impl_->publish(impl_->list_of(array, event));
}

uint32_t* EventTriggers::hist_switch(TraceArray& array, LiveEvent* event) {
  return impl_->hist_switch(impl_->list_of(array, event));
}

uint32_t* EventTriggers::Impl::hist_switch(List& list) {
  if (!list.hist_switch)
    list.hist_switch =
        agreed_shared<uint32_t>("hist switch", list.array->name + "/" + name_of(*list.event));
  return list.hist_switch;
}

// --- what goes

void EventTriggers::array_goes(TraceArray& array) {
  impl_->hists->array_goes(array);
  for (auto& [key, list] : impl_->lists)
    if (list.array == &array) {
      impl_->drop_all_subscriptions(list);
      impl_->drop_if(list, [](const PlainTrigger&) { return true; });
    }
  std::erase_if(impl_->lists, [&](const auto& one) { return one.second.array == &array; });
}

void EventTriggers::event_goes(LiveEvent* event) {
  impl_->hists->event_goes(event);
  for (auto& [key, list] : impl_->lists) {
    const bool own = list.event == event;
    if (own) impl_->drop_all_subscriptions(list);
    impl_->drop_if(list, [&](const PlainTrigger& one) { return own || one.target == event; });
  }
  std::erase_if(impl_->lists, [&](const auto& one) { return one.second.event == event; });
}

// --- subscriptions

// The caller publishes. A thread may be on its way with the old program and its filter.
template <typename Predicate>
bool EventTriggers::Impl::drop_subscriptions(List& list, Predicate goes) {
  return std::erase_if(list.subscriptions, [&](Subscription& one) {
           if (!goes(one)) return false;
           switch_off(one.callback);
           gone_filters.push_back(std::move(one.filter));
           return true;
         }) > 0;
}

void EventTriggers::Impl::drop_all_subscriptions(List& list) {
  if (drop_subscriptions(list, [](const Subscription&) { return true; }))
    (void)publish(list);  // nobody waits for an answer
}

Status EventTriggers::subscribe(TraceArray& array, LiveEvent* event, HitCallback* callback,
                                std::string_view filter) {
  Subscription made{callback, nullptr};
  if (!filter.empty()) {
    PB_ASSIGN(auto compiled, impl_->registry.filters().make(array, event, filter));
    made.filter = std::move(compiled);
  }
  List& list = impl_->list_of(array, event);
  list.subscriptions.push_back(std::move(made));
  Status status = impl_->publish(list);
  if (status.ok()) return status;
  impl_->drop_subscriptions(list,
                            [&](const Subscription& one) { return one.callback == callback; });
  return status;
}

void EventTriggers::unsubscribe(const HitCallback* callback) {
  for (auto& [key, list] : impl_->lists) {
    const bool dropped = impl_->drop_subscriptions(
        list, [&](const Subscription& one) { return one.callback == callback; });
    if (dropped) (void)impl_->publish(list);  // nobody waits for an answer
  }
}

// Hists, and what switches hists.
Status EventTriggers::truncate(TraceArray& array, LiveEvent* event) {
  const auto found = impl_->lists.find({&array, event});
  if (found == impl_->lists.end()) return {};
  impl_->drop_if(found->second,
                 [](const PlainTrigger& one) { return one.command->group == TriggerClass::kHist; });
  return impl_->hists->remove_all(array, event);
}

// --- texts

bool EventTriggers::is_mirrored(const TraceArray& array, const LiveEvent* event) const {
  const List* list = impl_->find(array, event);
  return list && std::any_of(list->plain.begin(), list->plain.end(), [](const PlainPtr& one) {
           return one->command->kind == ActionKind::kMirror;
         });
}

std::string EventTriggers::show(const TraceArray& array, const LiveEvent* event) const {
  const std::string text = list(array, event);
  return text.empty() ? std::string(kAvailable) : text;
}

std::string EventTriggers::list(const TraceArray& array, const LiveEvent* event) const {
  std::string text;
  if (const List* list = impl_->find(array, event))
    for (const PlainPtr& one : list->plain) text += text_of(*one);
  for (const HistData* hist : impl_->hists->of(array, event))
    text += HistTriggers::definition_text(*hist) +
            (HistTriggers::is_paused(*hist) ? " [paused]\n" : " [active]\n");
  return text;
}

// --- what hits have asked for

void EventTriggers::leave() { impl_->mirrors.leave(); }

HistTriggers& EventTriggers::hists() { return *impl_->hists; }

void EventTriggers::run_asked() {
  impl_->run_asked();
  impl_->hists->run_asked();
}

// take_cuts() answers hits that could fix their moment. The others get a snapshot of now: there was
// no spare buffer, or the hit came while its event was being changed.
void EventTriggers::Impl::run_asked() {
  registry.snapshots().take_cuts();
  for (auto& [key, list] : lists) {
    for (const PlainPtr& one : list.plain) {
      if (one->action->kind != ActionKind::kSnapshot) continue;
      const uint64_t asked = __atomic_load_n(&one->action->asked, __ATOMIC_ACQUIRE);
      if (std::exchange(one->answered, asked) == asked) continue;
      take_asked_snapshot(registry, *list.array);
    }
  }
}

}  // namespace patchbay
