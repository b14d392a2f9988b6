// SPDX-License-Identifier: MIT
//
// From a line to an event that can be enabled, and back:
//
//   parse (event/) -> is there an event of this name already? -> where is it (probe_places)
//   -> format and fetch program -> LiveEvent in the registry, or one more place of one
//
// The order of the checks is the kernel's. A failed line changes nothing. What a thread may still
// run is parked for good: a definition costs some hundred bytes, and no caller has to wait.
#include "registry/probes/probe_events.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/agreed.h"
#include "base/release.h"
#include "base/text.h"
#include "probe/hit_counter.h"
#include "registry/object_log.h"
#include "registry/probes/probe_events_impl.h"
#include "registry/settings.h"

namespace patchbay {

namespace {

// The errors about a place, of which the symbol table knows more.
bool is_about_symbol(std::string_view text) {
  return text == "Invalid probed address or symbol" || text == "Failed to register probe event" ||
         text == "The symbol is not unique";
}

// Kinds whose probes can stand together in one event: f and t are one.
bool may_share(ProbeKind a, ProbeKind b) {
  auto is_fprobe = [](ProbeKind kind) {
    return kind == ProbeKind::kFprobe || kind == ProbeKind::kTracepoint;
  };
  return a != ProbeKind::kEprobe && (a == b || (is_fprobe(a) && is_fprobe(b)));
}

bool same_arguments(const ProbeDefinition& a, const ProbeDefinition& b) {
  return std::equal(a.arguments.begin(), a.arguments.end(), b.arguments.begin(), b.arguments.end(),
                    [](const auto& x, const auto& y) { return x.text == y.text; });
}

}  // namespace

bool same_fetch(const FetchProgram& a, const FetchProgram& b) {
  const size_t bytes = sizeof(FetchProgram) + a.nr_insns * sizeof(FetchInsn);
  return a.nr_insns == b.nr_insns && std::memcmp(&a, &b, bytes) == 0;
}

bool is_enabled_anywhere(Registry& registry, const LiveEvent* live) {
  std::vector<TraceArray*> arrays = registry.arrays();
  arrays.push_back(&registry.top());
  return std::any_of(arrays.begin(), arrays.end(), [&](const TraceArray* array) {
    const EventFile* file = registry.file(*array, live);
    return file && (file->enabled || file->soft_users);
  });
}

std::string_view location_of(ProbeKind kind) {
  switch (kind) {
    case ProbeKind::kKprobe:
      return "trace_kprobe";
    case ProbeKind::kUprobe:
      return "trace_uprobe";
    case ProbeKind::kFprobe:
    case ProbeKind::kTracepoint:
      return "trace_fprobe";
    case ProbeKind::kEprobe:
      return "event_probe";
  }
  return "";
}

size_t position_of_word(std::string_view command, size_t word) {
  size_t at = 0;
  for (; word > 0; word--) {
    at = command.find(' ', at);
    if (at == command.npos) return command.size() + 1;  // behind the last one, as the kernel has it
    at++;
  }
  return at;
}

ProbeEvents::ProbeEvents(Registry& registry, Patcher& patcher, ProbeSites& sites)
    : impl_(std::make_unique<Impl>(*this, registry, patcher, sites)) {}
ProbeEvents::~ProbeEvents() = default;

ProbeEventOf* ProbeEvents::Impl::event_of(const LiveEvent* live) const {
  auto found = events.find(live);
  return found == events.end() ? nullptr : found->second.get();
}

bool ProbeEvents::Impl::is_of(ProbeFile file, const Probe& probe) const {
  const ProbeKind kind = probe.definition.kind;
  return file == ProbeFile::kDynamicEvents ||
         kind == (file == ProbeFile::kKprobeEvents ? ProbeKind::kKprobe : ProbeKind::kUprobe);
}

// --- errors

Status ProbeEvents::Impl::refuse(std::string_view location, const std::string& command,
                                 std::string_view text, size_t position, int error,
                                 const std::string& reason) {
  // The kernel's text, and what it leaves open behind it.
  std::string logged(text);
  if (!reason.empty()) logged += ": " + reason;
  std::replace(logged.begin(), logged.end(), '\n', ' ');
  registry.top().errors.add(location, logged, command, position);
  std::string sentence = command + "\n" + std::string(position, ' ') + "^\n" + std::string(text);
  if (!reason.empty()) sentence += ": " + reason;
  return user_error(error, sentence);
}

Status ProbeEvents::Impl::refuse(const Probe& probe, std::string_view text, size_t position,
                                 int error, const std::string& reason) {
  return refuse(location_of(probe.definition.kind), probe.command, text, position, error, reason);
}

Status ProbeEvents::Impl::refuse(const ProbeError& error, const std::string& command,
                                 const std::string& about_symbol) {
  std::string reason = error.help;
  if (reason.empty() && is_about_symbol(error.text)) reason = about_symbol;
  if (!error.is_logged)
    return user_error(
        error.error,
        command + ": " + (reason.empty() ? "this is no definition for this file" : reason));
  Status first = refuse(error.location, command, error.text, error.position, error.error, reason);
  if (error.second_text.empty()) return first;
  registry.top().errors.add(error.location, error.second_text, command, error.second_position);
  return first;
}

// --- a line

Status ProbeEvents::write_line(ProbeFile file, std::string_view line) {
  if (!is_probe_removal(line)) return impl_->define(file, line);
  ProbeRemovalParse parsed = parse_probe_removal(line, file);
  if (parsed.error) return impl_->refuse(*parsed.error, patchbay::join(split_words(line), " "), "");
  return remove(*parsed.removal, file);
}

// The kernel counts one word for each place.
Status ProbeEvents::Impl::check_reference_counter(const ProbeDefinition& wanted) const {
  if (wanted.kind != ProbeKind::kUprobe) return {};
  for (const Probe* other : probes) {
    const ProbeDefinition& there = other->definition;
    if (there.kind == wanted.kind && there.symbol == wanted.symbol &&
        there.offset == wanted.offset && there.reference_counter != wanted.reference_counter)
      return user_error(EINVAL, "Another probe at " + wanted.place() +
                                    " has another reference counter, or none.");
  }
  return {};
}

[[gnu::cold]] Status ProbeEvents::Impl::define(ProbeFile file, std::string_view line) {
  owner.refresh();
  RegistryWorld world(registry);
  ProbeParse parsed = parse_probe_event(line, file, world);
  auto probe = std::make_unique<Probe>();
  probe->command = patchbay::join(split_words(line), " ");
  if (parsed.error) return refuse(*parsed.error, probe->command, world.reason());
  probe->definition = std::move(*parsed.definition);
  const ProbeDefinition& definition = probe->definition;
  PB_TRY(check_reference_counter(definition));
  LiveEvent* found = registry.find_event(definition.group, definition.event);
  if (found) PB_TRY(check_new(*probe, found));

  Spots spots;
  if (is_event_probe(*probe)) {
    if (LiveEvent* source = find_source(definition)) PB_TRY(use_source(probe.get(), source));
  } else {
    Refusal refusal;
    if (!find_spots(*probe, &spots, &refusal)) return refuse_place(*probe, refusal);
    PB_TRY(take_counter(probe.get()));
  }
  EventCall call = make_probe_event_call(&probe->definition);
  const LiveEvent* source = probe->source;
  if (source || !is_event_probe(*probe))
    PB_TRY(compile(probe.get(), call, source ? &source->call : nullptr,
                   spots.empty() ? nullptr : spots.front().get()));
  PB_TRY(registry.objects().describe());
  Probe* added = probe.get();
  PB_TRY(found ? append(std::move(probe), event_of(found))
               : make_live(std::move(probe), std::move(call)));
  probes.push_back(added);
  if (!is_event_probe(*added)) {
    join(added, std::move(spots));
    return {};
  }
  nr_event_probes++;
  attach(added);
  return {};
}

// SYM-OFF that is no place is what the kernel says of every SYM-OFF.
Status ProbeEvents::Impl::refuse_place(const Probe& probe, const Refusal& refusal) {
  const size_t position = position_of_word(probe.command, 1);
  const ProbeDefinition& definition = probe.definition;
  if (definition.kind == ProbeKind::kKprobe && int64_t(definition.offset) < 0)
    return refuse(probe, "Invalid probed address or symbol", position, EINVAL, refusal.reason);
  if (refusal.not_a_boundary)
    return refuse(probe, "Probe point is not an instruction boundary", position, EILSEQ,
                  refusal.reason);
  return refuse(probe, "Failed to register probe event", position, EINVAL, refusal.reason);
}

// The name is taken: by whom, and may this one stand beside it?
Status ProbeEvents::Impl::check_new(const Probe& probe, LiveEvent* found) {
  const ProbeDefinition& definition = probe.definition;
  const ProbeEventOf* event = event_of(found);
  if (!event || !may_share(event->kind, definition.kind))
    return refuse(probe, "Given group/event name is already used by another event", 0, EEXIST, "");
  if (event->kind != definition.kind || event->on_return != definition.on_return)
    return refuse(probe, "Probe type is different from existing probe", 0, EEXIST, "");
  const ProbeDefinition& first = event->probes.front()->definition;
  if (auto different = different_argument(first, definition))
    return refuse(probe, "Argument type or name is different from existing probe",
                  position_of_word(probe.command, *different + 2), EEXIST, "");
  for (const auto& other : event->probes)
    if (other->definition.same_place(definition) && same_arguments(other->definition, definition))
      return refuse(probe, "There is already the exact same probe event", 0, EEXIST, "");
  return {};
}

Status ProbeEvents::Impl::take_counter(Probe* probe) {
  probe->counts.max_active = probe->definition.max_active.value_or(0);
  probe->counts.hits = new_hit_counter();
  // What was parked first is least likely to be on its way somewhere still; if it is, its hit goes
  // to the new owner.
  if (!probe->counts.hits && next_parked_counter < parked.size())
    probe->counts.hits = parked[next_parked_counter++]->counts.hits;
  if (!probe->counts.hits)
    return refuse(*probe, "Failed to register probe event", 0, ENOMEM,
                  "there is no counter left for its hits");
  probe->hits_before = read_hit_counter(probe->counts.hits);
  return {};
}

// Behind all synthetic and function events that are there now. An event of ours counts by its own
// id.
uint32_t ProbeEvents::Impl::next_rank() {
  if (ranked_generation != registry.generation()) {
    ranked_generation = registry.generation();
    for (const char* system : {"synthetic", "functions"})
      for (const LiveEvent* live : registry.events_of(registry.top(), system))
        newest_other = std::max<uint32_t>(newest_other, live->call.id);
  }
  return std::max(newest_other, probes.empty() ? 0 : probes.back()->rank);
}

Status ProbeEvents::Impl::make_live(std::unique_ptr<Probe> probe, EventCall call) {
  auto live = std::make_unique<LiveEvent>();
  auto event = std::make_unique<ProbeEventOf>();
  event->kind = probe->definition.kind;
  event->on_return = probe->definition.on_return;
  live->call = std::move(call);
  live->source = &owner;
  live->data = event.get();
  live->fetch = probe->fetch.get();
  live->max_size = probe->fetch ? probe->fetch->max_size : 0;
  live->from_record = is_event_probe(*probe);
  live->source_filter = probe->filter.get();
  PB_ASSIGN(auto added, registry.add_event(std::move(live)));
  event->live = added;
  probe->event = event.get();
  probe->rank = event->live->call.id;
  event->probes.push_back(std::move(probe));
  events[added] = std::move(event);
  return {};
}

// One record of the event has one layout, so all its event probes read the same places of their
// sources' records.
Status ProbeEvents::Impl::append(std::unique_ptr<Probe> probe, ProbeEventOf* event) {
  LiveEvent* live = event->live;
  if (is_event_probe(*probe) && probe->fetch && live->fetch &&
      !same_fetch(*probe->fetch, *live->fetch))
    return refuse(*probe, "Failed to register probe event", position_of_word(probe->command, 1),
                  EINVAL, "its fields lie elsewhere than those of the other event");
  probe->event = event;
  probe->rank = next_rank();
  const FetchProgram* fetch = probe->fetch.get();
  event->probes.push_back(std::move(probe));
  if (fetch) use_fetch(live, fetch);
  return {};
}

// The registry makes a program of an event when it is enabled.
void ProbeEvents::Impl::republish(LiveEvent* live) {
  std::vector<TraceArray*> arrays = registry.arrays();
  arrays.push_back(&registry.top());
  for (TraceArray* array : arrays) {
    if (!registry.is_enabled(*array, live)) continue;
    for (bool on : {false, true})
      if (Status status = registry.set_enabled(*array, std::span(&live, 1), on); !status.ok())
        registry.top().errors.add("probe events", status.error().message(), live->call.name, 0);
  }
}

void ProbeEvents::Impl::use_fetch(LiveEvent* live, const FetchProgram* fetch) {
  if (live->fetch && fetch->max_size <= live->max_size) return;
  if (!live->fetch || live->from_record) live->fetch = fetch;
  live->max_size = fetch->max_size;
  republish(live);
}

// --- removal

Status ProbeEvents::Impl::check_removable(const Probe& probe) const {
  const ProbeEventOf& event = *probe.event;
  if (event.probes.size() > 1 || !registry.in_use(event.live)) return {};
  return user_error(EBUSY, "The event " + event.live->call.system + ":" + event.live->call.name +
                               " is enabled, or another one uses it; disable it first.");
}

// A place of several goes at any time; the last one takes its event along.
Status ProbeEvents::Impl::remove_one(Probe* probe, std::vector<TraceArray*>* seen_in) {
  if (seen_in) PB_TRY(check_removable(*probe));
  ProbeEventOf* event = probe->event;
  detach(probe);
  drop_spots(probe, nullptr);
  if (event->probes.size() == 1) {
    std::vector<TraceArray*> arrays = registry.arrays();
    arrays.push_back(&registry.top());
    for (TraceArray* array : arrays) {
      const EventFile* file = registry.file(*array, event->live);
      if (seen_in && file && file->newest) seen_in->push_back(array);
    }
    // A forked child that is late may still record some.
    PB_TRY(registry.remove_event(event->live, true, !seen_in || has_forked()));
  }
  std::erase(probes, probe);
  if (is_event_probe(*probe)) nr_event_probes--;
  auto own = std::find_if(event->probes.begin(), event->probes.end(),
                          [probe](const auto& one) { return one.get() == probe; });
  (*own)->event = nullptr;
  (*own)->definition = {};
  release(&(*own)->command);
  parked.push_back(std::move(*own));
  event->probes.erase(own);
  if (event->probes.empty()) events.erase(event->live);
  return {};
}

// What they recorded cannot be decoded any more.
void ProbeEvents::Impl::clear_buffers(std::vector<TraceArray*> arrays) {
  std::sort(arrays.begin(), arrays.end());
  arrays.erase(std::unique(arrays.begin(), arrays.end()), arrays.end());
  for (TraceArray* array : arrays) registry.settings().clear(*array);
}

Status ProbeEvents::remove(const ProbeRemoval& removal, ProbeFile file) {
  std::vector<TraceArray*> seen_in;
  std::vector<Probe*> wanted;
  for (Probe* probe : impl_->probes)
    if (impl_->is_of(file, *probe) && matches(removal, probe->definition)) wanted.push_back(probe);
  Status status;
  for (Probe* probe : wanted)
    if (status = impl_->remove_one(probe, &seen_in); !status.ok()) break;
  impl_->clear_buffers(std::move(seen_in));
  if (!wanted.empty()) return status;
  return user_error(ENOENT, "There is no such event" +
                                (removal.event.empty() ? " in the group " + removal.group
                                                       : ": " + removal.event) +
                                (removal.place.empty() ? "." : " at " + removal.place + "."));
}

bool ProbeEvents::remove_forced(LiveEvent* live) {
  while (ProbeEventOf* event = impl_->event_of(live))
    if (!impl_->remove_one(event->probes.back().get(), nullptr).ok()) return false;
  return true;
}

Status ProbeEvents::check_clear(ProbeFile file) const {
  for (const Probe* probe : impl_->probes) {
    if (!impl_->is_of(file, *probe)) continue;
    const LiveEvent* live = probe->event->live;
    if (!impl_->registry.in_use(live)) continue;
    // Those that use it are ours, and go as well.
    uint32_t ours = 0;
    for (const Probe* other : impl_->probes) ours += other->source == live;
    const bool only_ours = live->references && live->references == ours;
    if (only_ours && !is_enabled_anywhere(impl_->registry, live)) continue;
    return user_error(EBUSY, "The event " + live->call.system + ":" + live->call.name +
                                 " is enabled; disable it first.");
  }
  return {};
}

Status ProbeEvents::clear(ProbeFile file) {
  PB_TRY(check_clear(file));
  std::vector<TraceArray*> seen_in;
  std::vector<Probe*> all = impl_->probes;
  std::reverse(all.begin(), all.end());  // event probes before what they are attached to
  Status status;
  for (Probe* probe : all) {
    if (!impl_->is_of(file, *probe)) continue;
    if (Status one = impl_->remove_one(probe, &seen_in); !one.ok() && status.ok()) status = one;
  }
  impl_->clear_buffers(std::move(seen_in));
  return status;
}

}  // namespace patchbay
