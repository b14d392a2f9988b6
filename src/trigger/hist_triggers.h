// SPDX-License-Identifier: MIT
//
// The hist triggers of all events and instances: their lives, names, variables (spec: ftrace.md
// section 4).
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "hist/hist_data.h"
#include "probe/trigger_hot.h"
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
  Status remove_all(TraceArray& array, LiveEvent* event);  // O_TRUNC; EBUSY
  void array_goes(TraceArray& array);
  void event_goes(LiveEvent* event);

  // In the order of the `trigger` and `hist` files: the oldest first.
  std::vector<HistData*> of(const TraceArray& array, const LiveEvent* event) const;
  // What the trigger file shows of one, without " [active]".
  static std::string definition_text(const HistData& hist);
  // The triggers for TriggerProgram; the paused ones are in it (HistProgram.paused).
  std::vector<Trigger> programs(const TraceArray& array, const LiveEvent* event) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace patchbay
