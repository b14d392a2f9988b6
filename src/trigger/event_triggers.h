// SPDX-License-Identifier: MIT
//
// The triggers of events: events/SYS/EVENT/trigger (docs/files.md, "Triggers").
//
//   write ── parse_trigger ─┬─ traceon, stacktrace, enable_event …   EventTriggers
//                           └─ hist:…                                HistTriggers
//     ── a new TriggerProgram for (instance, event) ── Registry::set_triggers
//
// An event with a trigger is held in soft mode (Registry::hold_soft), its target of enable_event
// and disable_event as well.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "probe/triggers/trigger_hot.h"
#include "registry/registry.h"

namespace patchbay {

class HistTriggers;
struct HitCallback;  // probe/callbacks/callback_hot.h
class SyntheticEvents;

class EventTriggers {
 public:
  EventTriggers(Registry& registry, SyntheticEvents& synthetic);
  ~EventTriggers();

  HistTriggers& hists();
  // The agent leaves the process, and no event has a trigger any more: mirrors go.
  void leave();

  // One command: `traceoff:3 if pid > 1`, `!hist:keys=…`. The kernel's errno; what has a caret is
  // in the instance's error_log.
  Status write(TraceArray& array, LiveEvent* event, std::string_view command);
  // The file was opened with O_TRUNC: hist triggers go, others stay.
  Status truncate(TraceArray& array, LiveEvent* event);
  // What the file shows: the plain ones, newest first, then the hists; or the available ones.
  std::string show(const TraceArray& array, const LiveEvent* event) const;
  // The same, but nothing when there is none: whole lines.
  std::string list(const TraceArray& array, const LiveEvent* event) const;

  bool is_mirrored(const TraceArray& array, const LiveEvent* event) const;

  // Subscriptions: `callback` is given each record that passes the filter ("": each), behind the
  // record. They hold the event as any trigger does, but are in no file. EINVAL: the filter.
  Status subscribe(TraceArray& array, LiveEvent* event, HitCallback* callback,
                   std::string_view filter);
  // Nothing, when the event or the instance has gone, or it was none.
  void unsubscribe(const HitCallback* callback);

  // What traced threads have asked for (snapshot). For the control thread, as
  // FunctionCommands::run_asked().
  void run_asked();
  // The instance goes, or the event (by force).
  void array_goes(TraceArray& array);
  void event_goes(LiveEvent* event);

  // The list of the event in the instance has changed: made anew from the plain triggers and the
  // hists, and published. For HistTriggers.
  Status publish(TraceArray& array, LiveEvent* event);
  // Pauses or continues all hists of the event: enable_hist, disable_hist (a hit stores one word).
  uint32_t* hist_switch(TraceArray& array, LiveEvent* event);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace patchbay
