// SPDX-License-Identifier: MIT
//
// Probe events: the lines of kprobe_events, uprobe_events and dynamic_events as LiveEvents of the
// registry. Under the agent's lock, like the registry.
//
// Several definitions of one name make one event with several places (multi-probe). A place whose
// object is not loaded (LIB:SYM, PATH:OFFSET) waits for it. Event probes (e:, t:) have no place:
// their programs are put among those of the event that they are attached to (LiveEvent.programs,
// EventProgram.from_record), and its source is told.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "event/probe_event.h"
#include "patch/patcher.h"
#include "registry/live_event.h"
#include "registry/registry.h"
#include "registry/sites/probe_sites.h"

namespace patchbay {

class ProbeEvents : public EventSource {
 public:
  ProbeEvents(Registry& registry, Patcher& patcher, ProbeSites& sites);
  ~ProbeEvents() override;

  // --- kprobe_events, uprobe_events, dynamic_events. Errors go into the top instance's error_log.
  Status write_line(ProbeFile file, std::string_view line);  // a definition or a removal
  // O_TRUNC: all of the file's kind. EBUSY when one is in use: then none is removed.
  Status clear(ProbeFile file);
  Status check_clear(ProbeFile file) const;  // what clear() would answer
  std::string show(ProbeFile file) const;
  // The definitions in their order, each with its rank among all events of the process: an event
  // with a lower id was defined before it, one with a higher id behind it.
  struct Line {
    uint32_t rank;
    std::string text;
  };
  std::vector<Line> lines(ProbeFile file) const;
  // For a removal that other kinds take part in (`-:NAME` in dynamic_events). ENOENT, EBUSY.
  Status remove(const ProbeRemoval& removal, ProbeFile file);

  // The object of the program that defined this event goes: so does the event, in use or not. Its
  // records stay, and stay readable. False: it is not ours.
  bool remove_forced(LiveEvent* live);

  // --- kprobe_profile, uprobe_profile, kprobes/list, kprobes/enabled, kprobes/blacklist
  std::string kprobe_profile() const;
  std::string uprobe_profile() const;
  std::string list() const;
  std::string blacklist();  // functions that refuse every probe, with the reason
  bool armed() const;
  Status set_armed(bool armed);
  // kprobes/optimization: whether probes that are defined from now on may become jumps.
  bool optimization() const;
  void set_optimization(bool on);

  // Objects came or went: arms places that waited, forgets those that are gone.
  void refresh();
  bool wants_objects() const;  // what comes may have a place that is wanted

  // Whether an event probe may be attached to this one, which is ours.
  bool takes_event_probes(const LiveEvent* live) const;

  Status update(std::span<LiveEvent* const> changed) override;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace patchbay
