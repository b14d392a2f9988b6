// SPDX-License-Identifier: MIT
//
// The hist triggers of all events and instances: their lives, names, variables (docs/files.md,
// "Histograms").
//
//   "hist:keys=…"   hist_parse ── hist_build ── HistData ── compile_hist ──> HistProgram, HistTable
//      in the list of its event ── EventTriggers::publish ──> hits run it
//   "!hist:keys=…"  compared with those of the event; EBUSY while others refer to its variables
//
// Histograms of one name share the table of the first; its definition lives until the last of them
// is gone. Where a parameter needs a field of another event, an auxiliary histogram is made there.
// It goes when no histogram refers to it any more, and with a command that failed.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "hist/definition/hist_data.h"
#include "probe/triggers/trigger_hot.h"
#include "registry/registry.h"

namespace patchbay {

class EventTriggers;
class SyntheticEvents;

class HistTriggers {
 public:
  HistTriggers(Registry& registry, SyntheticEvents& synthetic, EventTriggers& triggers);
  ~HistTriggers();

  // `command` begins with "hist" (or "!hist"). Errors with a caret go to error_log, location
  // hist:SYSTEM:EVENT.
  Status write(TraceArray& array, LiveEvent* event, std::string_view command);
  // O_TRUNC. If others refer to variables of one of them, all stay: no error, as in the kernel.
  Status remove_all(TraceArray& array, LiveEvent* event);
  // What traced threads have asked for: snapshot(). For the control thread.
  void run_asked();
  void array_goes(TraceArray& array);
  void event_goes(LiveEvent* event);

  // In the order of the `trigger` and `hist` files: the oldest first.
  std::vector<HistData*> of(const TraceArray& array, const LiveEvent* event) const;
  // What the trigger file shows of one, without " [active]".
  static std::string definition_text(const HistData& hist);
  // " [paused]" instead: by `pause`, or by a hit of disable_hist.
  static bool is_paused(const HistData& hist);
  // The triggers for TriggerProgram; the paused ones are in it (HistProgram.paused).
  std::vector<Trigger> programs(const TraceArray& array, const LiveEvent* event) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace patchbay
