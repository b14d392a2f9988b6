// SPDX-License-Identifier: MIT
//
// Probes on events (e:, t:). They have no place in the program: each of their programs stands among
// those of the event that they are attached to, which runs them with its record in hand.
//
//   e:eprobes/x sched.sched_switch …                       LiveEvent sched:sched_switch
//     enabled -> Registry -> update_attached()  -------->    .programs += programs of eprobes:x
//                                                            .source->update()
//
// A source can go away with its library; then the probe waits for one of this name to come back.
#include <algorithm>

#include "registry/event_filters.h"
#include "registry/probes/probe_events_impl.h"

namespace patchbay {

namespace {

using Programs = std::vector<const EventProgram*>;

void replace(LiveEvent* source, const Programs& old_ones, const Programs& new_ones) {
  for (const EventProgram* program : old_ones) {
    auto found = std::find(source->programs.begin(), source->programs.end(), program);
    if (found != source->programs.end()) source->programs.erase(found);
  }
  source->programs.insert(source->programs.end(), new_ones.begin(), new_ones.end());
}

// What one probe had in its source and what it has there now.
struct Step {
  Probe* probe;
  Programs before;
};

struct Batch {
  EventSource* source;
  std::vector<LiveEvent*> events;
};

std::vector<Batch> batches_of(const std::vector<Step>& steps) {
  std::vector<Batch> batches;
  for (const Step& step : steps) {
    LiveEvent* live = step.probe->source;
    auto found = std::find_if(batches.begin(), batches.end(),
                              [&](const Batch& batch) { return batch.source == live->source; });
    if (found == batches.end()) found = batches.insert(batches.end(), {live->source, {}});
    auto& events = found->events;
    if (std::find(events.begin(), events.end(), live) == events.end()) events.push_back(live);
  }
  return batches;
}

}  // namespace

bool ProbeEvents::Impl::is_event_probe(const Probe& probe) const {
  const ProbeKind kind = probe.definition.kind;
  return kind == ProbeKind::kEprobe || kind == ProbeKind::kTracepoint;
}

bool ProbeEvents::takes_event_probes(const LiveEvent* live) const {
  const ProbeEventOf* event = impl_->event_of(live);
  return event && event->kind == ProbeKind::kFprobe;
}

LiveEvent* ProbeEvents::Impl::find_source(const ProbeDefinition& definition) {
  return definition.kind == ProbeKind::kTracepoint
             ? find_tracepoint_event(registry, definition.symbol)
             : find_probe_source(registry, definition.source_group, definition.source_event);
}

// From now on the source may not be removed.
Status ProbeEvents::Impl::use_source(Probe* probe, LiveEvent* source) {
  if (!probe->definition.filter.empty()) {
    PB_ASSIGN(auto filter,
              registry.filters().make(registry.top(), source, probe->definition.filter));
    if (probe->filter) parked_filters.push_back(std::move(probe->filter));
    probe->filter = std::move(filter);
  }
  probe->source = source;
  return {};
}

void ProbeEvents::Impl::attach(Probe* probe) {
  if (!probe->source) return;
  probe->source->references++;
  LiveEvent* live = probe->event->live;
  if (live->programs.empty()) return;
  if (Status status = update_attached(std::span(&live, 1)); !status.ok())
    note(*probe, status.error().message());
}

void ProbeEvents::Impl::detach(Probe* probe) {
  LiveEvent* source = probe->source;
  if (!source) return;
  drop_user(&source->references);
  const Programs had = std::exchange(probe->attached, {});
  replace(source, had, {});
  const bool is_there = registry.find_event_by_id(source->call.id) == source;
  if (!had.empty() && is_there) (void)source->source->update(std::span(&source, 1));
  probe->source = nullptr;
}

Status ProbeEvents::Impl::update_attached(std::span<LiveEvent* const> changed) {
  std::vector<Step> steps;
  for (const LiveEvent* live : changed) {
    for (const auto& probe : event_of(live)->probes) {
      LiveEvent* source = probe->source;
      // One that is gone is found out at the next look.
      if (!source || registry.find_event_by_id(source->call.id) != source) continue;
      steps.push_back({probe.get(), probe->attached});
      replace(source, probe->attached, live->programs);
      probe->attached = live->programs;
    }
  }
  const std::vector<Batch> batches = batches_of(steps);
  for (size_t i = 0; i < batches.size(); i++) {
    Status status = batches[i].source->update(batches[i].events);
    if (status.ok()) continue;
    for (Step& step : steps) {
      replace(step.probe->source, step.probe->attached, step.before);
      step.probe->attached = step.before;
    }
    for (const Batch& done : std::span(batches).first(i)) (void)done.source->update(done.events);
    return status;
  }
  return {};
}

// --- sources come and go

void ProbeEvents::Impl::look_for_sources() {
  if (seen_generation == registry.generation()) return;
  seen_generation = registry.generation();
  for (Probe* probe : std::vector<Probe*>(probes)) {
    if (!is_event_probe(*probe)) continue;
    if (probe->source && registry.find_event_by_id(probe->source->call.id) != probe->source) {
      probe->source = nullptr;  // nobody looks at its programs any more
      probe->attached.clear();
    }
    if (probe->source) continue;
    if (LiveEvent* source = find_source(probe->definition)) adopt_source(probe, source);
  }
}

// Compiled again: the fields may lie elsewhere in the records of this source.
void ProbeEvents::Impl::adopt_source(Probe* probe, LiveEvent* source) {
  LiveEvent* live = probe->event->live;
  if (!use_source(probe, source).ok()) return;
  probe->source = nullptr;
  const FetchProgram* before = live->fetch;
  if (!compile(probe, live->call, &source->call, nullptr).ok()) return;
  if (probe->event->probes.size() > 1 && before && !same_fetch(*before, *probe->fetch))
    return note(*probe, "its fields lie elsewhere than those of the other event");
  probe->source = source;
  source->references++;
  live->fetch = probe->fetch.get();
  live->max_size = probe->fetch->max_size;
  live->source_filter = probe->filter.get();
  republish(live);
}

}  // namespace patchbay
