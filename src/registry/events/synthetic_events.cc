// SPDX-License-Identifier: MIT
#include "registry/events/synthetic_events.h"

#include <algorithm>
#include <cerrno>
#include <functional>
#include <utility>
#include <vector>

#include "abi/buffer_abi.h"
#include "base/text.h"
#include "event/synthetic_event.h"
#include "probe/probe_abi.h"
#include "probe/triggers/hist_hot.h"
#include "probe/triggers/synthetic_hot.h"
#include "probe/triggers/trigger_hot.h"

namespace patchbay {

namespace {

std::string_view command_of(std::string_view line) {
  line = line.substr(0, line.find('#'));
  return trim_front(line);
}

struct SyntheticEvent {
  SyntheticDefinition definition;
  LiveEvent* live = nullptr;
  const void* owner = nullptr;  // EventOwner.object
};

static_assert(kSyntheticTextBytes == kSyntheticTextSize && kMaxPlanFields == kMaxSyntheticFields);

// LiveEvent.data. Neither it nor any of its programs is ever freed: a thread may be on its way with
// them. A program is used again when its list comes again.
struct Target : SyntheticTarget {
  std::vector<SiteProgram*> made;
  struct Follower {
    EventFileHandle* file;
    TraceArray* array;
  };
  std::vector<Follower> followers;
  std::unique_ptr<char[]> plan_memory;
  std::vector<std::string> names;  // of the plan's fields

  const SyntheticPlan* plan() const {
    return reinterpret_cast<const SyntheticPlan*>(plan_memory.get());
  }
};

SyntheticKind plan_kind(SyntheticField::Kind kind) {
  switch (kind) {
    case SyntheticField::Kind::kText:
      return SyntheticKind::kText;
    case SyntheticField::Kind::kDynamicText:
      return SyntheticKind::kDynamicText;
    case SyntheticField::Kind::kStack:
      return SyntheticKind::kStack;
    default:
      return SyntheticKind::kNumber;
  }
}

// The event in a ring, as synthetic_place.S writes it.
void make_place(SyntheticPlan* plan) {
  const bool small = plan->fixed_size <= abi::kMaxSmallData;
  plan->event_header_bytes = small ? 4 : 8;
  plan->event_header = small ? plan->fixed_size / 4 : uint64_t{plan->fixed_size + 4} << 32;
  plan->event_bytes = plan->event_header_bytes + plan->fixed_size;
  plan->event_end = uint32_t(plan->event_bytes) + abi::kPageHeaderSize;
  uint32_t* run_end = plan->run_end;
  for (uint32_t i = 0; i < plan->nr_fields; i++) {
    plan->mask[i] = plan->field[i].mask;
    if (plan->field[i].kind == SyntheticKind::kText) *run_end++ = 8 * i;
  }
  *run_end = 8 * plan->nr_fields;
}

void make_plan(const SyntheticDefinition& definition, Target* target) {
  const auto& fields = definition.fields;
  const size_t size = sizeof(SyntheticPlan) + (fields.size() + 1) * sizeof(SyntheticPlan::Field);
  target->plan_memory = std::make_unique<char[]>(size);
  auto* plan = new (target->plan_memory.get()) SyntheticPlan{};
  plan->nr_fields = uint32_t(fields.size());
  plan->fixed_size = definition.fixed_size();
  for (const SyntheticField& field : fields) {
    target->names.push_back(field.name);
    target->names.back().resize((field.name.size() + 8) & ~size_t{7});  // whole words, as compared
  }
  for (size_t i = 0; i < fields.size(); i++) {
    const SyntheticField& field = fields[i];
    SyntheticPlan::Field& made = plan->field[i];
    made.kind = plan_kind(field.kind);
    made.offset = field.offset;
    made.mask = field.size < 8 ? (uint64_t{1} << field.size * 8) - 1 : ~uint64_t{0};
    made.name = target->names[i].c_str();
    const size_t words = target->names[i].size() / 8;
    made.name_words = words > UINT8_MAX ? 0 : uint8_t(words);
    made.name_mask = ~uint64_t{0} >> (7 - field.name.size() % 8) * 8;
    for (size_t k = 0; k < i; k++) made.repeats |= fields[k].name == field.name;
    if (made.kind == SyntheticKind::kText) {
      plan->text[plan->nr_texts] = field.offset;
      made.text = uint8_t(plan->nr_texts++);
    }
    plan->nr_dynamic +=
        made.kind == SyntheticKind::kDynamicText || made.kind == SyntheticKind::kStack;
  }
  plan->field[fields.size()].kind = SyntheticKind::kEnd;
  if (!plan->nr_dynamic) make_place(plan);
}

Target* target_of(const LiveEvent* live) {
  return static_cast<Target*>(static_cast<SyntheticTarget*>(live->data));
}

Target* new_target() {
  static auto* const all = new std::vector<std::unique_ptr<Target>>;
  all->push_back(std::make_unique<Target>());
  return all->back().get();
}

// The record comes built; event probes, which make one of their own out of it, stand behind.
using Wanted = std::function<bool(const EventProgram*)>;
std::vector<SiteEvent> consumers_of(const LiveEvent& live, const Wanted& wanted) {
  std::vector<SiteEvent> list;
  for (bool from_record : {false, true})
    for (const EventProgram* event : live.programs)
      if ((event->from_record != 0) == from_record && wanted(event))
        list.push_back({event, nullptr, 0, nullptr});
  return list;
}

bool is_plain(const EventProgram& event) {
  return event.kind == ConsumerKind::kRecord && !event.from_record && !event.pids &&
         !event.notrace_pids && !event.stack && !event.has_soft && !event.triggers;
}

// Of `program`, which is plain: may synthetic_place() record it?
bool is_in_place(const SiteProgram& program, const SyntheticPlan& plan) {
  return program.plain == kPlain && !program.event[0].event->filter && !plan.nr_dynamic;
}

const SiteProgram* program_for(const LiveEvent& live, Target* target, const Wanted& wanted) {
  const std::vector<SiteEvent> list = consumers_of(live, wanted);
  if (list.empty()) return nullptr;
  for (const SiteProgram* made : target->made)
    if (std::equal(list.begin(), list.end(), made->event, made->event + made->nr_events))
      return made;
  const size_t size = sizeof(SiteProgram) + list.size() * sizeof(SiteEvent);
  auto* program = new (::operator new(size)) SiteProgram{};
  program->nr_events = uint32_t(list.size());
  program->plain = list.size() == 1 && is_plain(*list[0].event) ? kPlain : 0;
  program->max_record = live.max_size;
  for (const SiteEvent& one : list)
    program->max_record = std::max(program->max_record, one.event->max_size);
  std::copy(list.begin(), list.end(), program->event);
  if (is_in_place(*program, *target->plan())) program->code = kSyntheticInPlace;
  target->made.push_back(program);
  return program;
}

// Pairs with the loads in synthetic_hit() and synthetic_trace().
void publish(SyntheticTarget* target, const SiteProgram* program) {
  __atomic_store_n(&target->program, program, __ATOMIC_RELEASE);
}

// Its own program in this instance, and those of event probes that are on there.
const SiteProgram* program_in(const TraceArray& array, const LiveEvent& live, Target* target) {
  return program_for(live, target, [&](const EventProgram* program) {
    return std::any_of(array.files.begin(), array.files.end(),
                       [&](const auto& file) { return file.second.program == program; });
  });
}

}  // namespace

struct SyntheticEvents::Impl {
  explicit Impl(Registry& r) : registry(r) {}

  Registry& registry;
  std::vector<SyntheticEvent> events;  // in the order defined

  std::vector<SyntheticEvent>::iterator find(std::string_view name) {
    return std::find_if(events.begin(), events.end(),
                        [&](const SyntheticEvent& e) { return e.definition.name == name; });
  }
  Status define(EventSource* source, std::string_view line, SyntheticForm form,
                const EventOwner& owner = {});
  Status refuse(const SyntheticError& error, std::string_view line);
  Status check_unused(const SyntheticEvent& event) const;
  void switch_off(LiveEvent* live);
  bool drop(LiveEvent* live);  // in use or not
};

SyntheticEvents::SyntheticEvents(Registry& registry) : impl_(std::make_unique<Impl>(registry)) {}
SyntheticEvents::~SyntheticEvents() = default;

Status SyntheticEvents::Impl::refuse(const SyntheticError& error, std::string_view line) {
  registry.top().errors.add(kSyntheticLocation, error.text, line, error.position);
  return user_error(error.error, std::string(line) + "\n" + std::string(error.position, ' ') +
                                     "^\n" + error.text);
}

[[gnu::cold]] Status SyntheticEvents::Impl::define(EventSource* source, std::string_view line,
                                                   SyntheticForm form, const EventOwner& owner) {
  SyntheticParse parsed = parse_synthetic_event(
      line, form, [this](std::string_view name) { return find(name) != events.end(); });
  if (parsed.error) return refuse(*parsed.error, line);
  const uint32_t subbuf_size = registry.top().buffer->rings()->subbuf_size;
  auto live = std::make_unique<LiveEvent>();
  live->call = make_synthetic_event_call(*parsed.definition);
  live->source = source;
  Target* target = new_target();
  make_plan(*parsed.definition, target);
  live->data = static_cast<SyntheticTarget*>(target);
  live->module = owner.module;
  // The kernel, too, lets an event be that could never be recorded.
  live->max_size =
      std::min<uint32_t>(parsed.definition->max_size(), subbuf_size - abi::kPageHeaderSize - 8);
  PB_ASSIGN(auto added, registry.add_event(std::move(live)));
  events.push_back({std::move(*parsed.definition), added, owner.object});
  return {};
}

Status SyntheticEvents::write_line(std::string_view line) {
  line = command_of(line);
  if (line.empty()) return {};
  if (line[0] != '!') return impl_->define(this, line, SyntheticForm::kOwn);
  return remove(line.substr(1, std::min(line.find_first_of(" \t"), line.size()) - 1));
}

Status SyntheticEvents::write_dynamic_line(std::string_view line) {
  line = command_of(line);
  if (!line.starts_with("s:"))
    return user_error(EINVAL, "a synthetic event begins with s: in dynamic_events");
  return impl_->define(this, line, SyntheticForm::kDynamic);
}

Status SyntheticEvents::Impl::check_unused(const SyntheticEvent& event) const {
  if (!registry.in_use(event.live)) return {};
  const std::string name = "the synthetic event \"" + event.definition.name + "\"";
  if (event.live->references)
    return user_error(EBUSY, name + " is used by other events; remove them first");
  return user_error(EBUSY, name + " is enabled; disable it first");
}

Status SyntheticEvents::remove(std::string_view name) {
  auto found = impl_->find(name);
  if (found == impl_->events.end())
    return user_error(ENOENT, "there is no synthetic event \"" + std::string(name) + "\"");
  PB_TRY(impl_->check_unused(*found));
  // Of what an object of the program has defined the records stay readable.
  PB_TRY(impl_->registry.remove_event(found->live, false, !found->live->module.empty()));
  impl_->events.erase(found);
  return {};
}

Status SyntheticEvents::clear() {
  for (const SyntheticEvent& event : impl_->events) PB_TRY(impl_->check_unused(event));
  while (!impl_->events.empty()) PB_TRY(remove(impl_->events.front().definition.name));
  return {};
}

std::string SyntheticEvents::show() const {
  std::string text;
  for (const SyntheticEvent& event : impl_->events) text += event.definition.show() + "\n";
  return text;
}

std::string SyntheticEvents::show_dynamic() const {
  std::string text;
  for (const SyntheticEvent& event : impl_->events)
    text += "s:" + std::string(kSyntheticSystem) + "/" + event.definition.show() + "\n";
  return text;
}

bool SyntheticEvents::has(std::string_view name) const {
  return impl_->find(name) != impl_->events.end();
}

Status SyntheticEvents::run_command(std::string_view command, const EventOwner& owner) {
  command.remove_prefix(std::min(command.find_first_not_of(" \t"), command.size()));
  if (!command.starts_with('!'))
    return impl_->define(this, command, SyntheticForm::kProgram, owner);
  return remove(command.substr(1, std::min(command.find_first_of(" \t"), command.size()) - 1));
}

void SyntheticEvents::Impl::switch_off(LiveEvent* live) {
  [[maybe_unused]] Status ignored = registry.set_enabled(registry.top(), {&live, 1}, false);
  for (TraceArray* array : registry.arrays())
    ignored = registry.set_enabled(*array, {&live, 1}, false);
}

bool SyntheticEvents::Impl::drop(LiveEvent* live) {
  auto found = std::find_if(events.begin(), events.end(),
                            [live](const SyntheticEvent& e) { return e.live == live; });
  if (found == events.end() || !registry.remove_event(live, true, true).ok()) return false;
  for (const Target::Follower& one : std::exchange(target_of(live)->followers, {})) {
    __atomic_store_n(&one.file->gone, 1u, __ATOMIC_RELEASE);
    publish(&one.file->target, nullptr);
  }
  events.erase(found);
  return true;
}

// Off first: of what goes while it is on the registry takes its module to have gone, and switches
// it on when that comes back.
bool SyntheticEvents::remove_forced(LiveEvent* live) {
  if (live->source == this) impl_->switch_off(live);
  return impl_->drop(live);
}

void SyntheticEvents::remove_owned(const void* owner) {
  std::vector<LiveEvent*> owned;
  for (const SyntheticEvent& event : impl_->events)
    if (event.owner == owner) owned.push_back(event.live);
  for (LiveEvent* live : owned) impl_->drop(live);
}

void SyntheticEvents::follow(EventFileHandle* file, TraceArray& array, LiveEvent* live) {
  Target* target = target_of(live);
  file->plan = target->plan();
  target->followers.push_back({file, &array});
  publish(&file->target, program_in(array, *live, target));
}

void SyntheticEvents::unfollow(EventFileHandle* file, LiveEvent* live) {
  std::erase_if(target_of(live)->followers, [file](const auto& one) { return one.file == file; });
  publish(&file->target, nullptr);
}

Status SyntheticEvents::update(std::span<LiveEvent* const> changed) {
  for (LiveEvent* live : changed) {
    Target* target = target_of(live);
    publish(target, program_for(*live, target, [](const EventProgram*) { return true; }));
    for (const Target::Follower& one : target->followers)
      publish(&one.file->target, program_in(*one.array, *live, target));
  }
  return {};
}

}  // namespace patchbay
