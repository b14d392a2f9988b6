// SPDX-License-Identifier: MIT
#include "registry/synthetic_events.h"

#include <algorithm>
#include <cerrno>
#include <vector>

#include "abi/buffer_abi.h"
#include "event/synthetic_event.h"
#include "probe/hist_hot.h"
#include "probe/probe_abi.h"

namespace patchbay {

namespace {

std::string_view command_of(std::string_view line) {
  line = line.substr(0, line.find('#'));
  return line.substr(std::min(line.find_first_not_of(" \t\n\v\f\r"), line.size()));
}

struct SyntheticEvent {
  SyntheticDefinition definition;
  LiveEvent* live = nullptr;
};

// What LiveEvent.data is. Never freed, nor any of its programs: a thread may be on its way with
// them. A program is taken again when its list comes again.
struct Target : SyntheticTarget {
  std::vector<SiteProgram*> made;
};

SyntheticTarget* new_target() {
  static auto* const all = new std::vector<std::unique_ptr<Target>>;
  all->push_back(std::make_unique<Target>());
  return all->back().get();
}

// The record comes built; event probes, which make one of their own out of it, stand behind.
std::vector<SiteEvent> consumers_of(const LiveEvent& live) {
  std::vector<SiteEvent> list;
  for (bool from_record : {false, true})
    for (const EventProgram* event : live.programs)
      if ((event->from_record != 0) == from_record) list.push_back({event, nullptr, 0, nullptr});
  return list;
}

const SiteProgram* program_for(const LiveEvent& live, Target* target) {
  const std::vector<SiteEvent> list = consumers_of(live);
  if (list.empty()) return nullptr;
  for (const SiteProgram* made : target->made)
    if (std::equal(list.begin(), list.end(), made->event, made->event + made->nr_events))
      return made;
  const size_t size = sizeof(SiteProgram) + list.size() * sizeof(SiteEvent);
  auto* program = new (::operator new(size)) SiteProgram{};
  program->nr_events = uint32_t(list.size());
  program->max_record = live.max_size;
  for (const SiteEvent& one : list)
    program->max_record = std::max(program->max_record, one.event->max_size);
  std::copy(list.begin(), list.end(), program->event);
  target->made.push_back(program);
  return program;
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
  Status define(EventSource* source, std::string_view line, SyntheticForm form);
  Status refuse(const SyntheticError& error, std::string_view line);
  Status check_unused(const SyntheticEvent& event) const;
};

SyntheticEvents::SyntheticEvents(Registry& registry) : impl_(std::make_unique<Impl>(registry)) {}
SyntheticEvents::~SyntheticEvents() = default;

Status SyntheticEvents::Impl::refuse(const SyntheticError& error, std::string_view line) {
  registry.top().errors.add(kSyntheticLocation, error.text, line, error.position);
  return user_error(error.error, std::string(line) + "\n" + std::string(error.position, ' ') +
                                     "^\n" + error.text);
}

Status SyntheticEvents::Impl::define(EventSource* source, std::string_view line,
                                     SyntheticForm form) {
  SyntheticParse parsed = parse_synthetic_event(
      line, form, [this](std::string_view name) { return find(name) != events.end(); });
  if (parsed.error) return refuse(*parsed.error, line);
  const uint32_t subbuf_size = registry.top().buffer->rings()->subbuf_size;
  auto live = std::make_unique<LiveEvent>();
  live->call = make_synthetic_event_call(*parsed.definition);
  live->source = source;
  live->data = new_target();
  // The kernel, too, lets an event be that could never be recorded.
  live->max_size =
      std::min<uint32_t>(parsed.definition->max_size(), subbuf_size - abi::kPageHeaderSize - 8);
  auto added = registry.add_event(std::move(live));
  if (!added.ok()) return added.error();
  events.push_back({std::move(*parsed.definition), *added});
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
  PB_TRY(impl_->registry.remove_event(found->live, false));
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

Status SyntheticEvents::update(std::span<LiveEvent* const> changed) {
  for (LiveEvent* live : changed) {
    auto* target = static_cast<Target*>(static_cast<SyntheticTarget*>(live->data));
    // Pairs with the load in synthetic_hit().
    __atomic_store_n(&target->program, program_for(*live, target), __ATOMIC_RELEASE);
  }
  return {};
}

}  // namespace patchbay
