// SPDX-License-Identifier: MIT
//
// Synthetic events: the lines of synthetic_events (and `s:` of dynamic_events) as LiveEvents of the
// registry (spec: ftrace.md section 5). Under the agent's lock.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "event/live_event.h"
#include "registry/registry.h"

namespace patchbay {

class SyntheticEvents : public EventSource {
 public:
  explicit SyntheticEvents(Registry& registry);
  ~SyntheticEvents() override;

  // A line of synthetic_events: "NAME FIELD; FIELD; …", "!NAME …". Errors go into the top
  // instance's error_log (location synthetic_events).
  Status write_line(std::string_view line);
  // A line of dynamic_events that begins with "s:": "s:[synthetic/]NAME FIELDS".
  Status write_dynamic_line(std::string_view line);
  Status remove(std::string_view name);  // ENOENT, EBUSY
  Status clear();                        // EBUSY when one is in use: nothing is removed then
  std::string show() const;              // synthetic_events
  std::string show_dynamic() const;      // dynamic_events
  bool has(std::string_view name) const;

  // Nothing is patched for them: what makes their records (histograms, the API) hits the
  // SyntheticTarget (probe/hist_hot.h) that LiveEvent.data is from the beginning.
  Status update(std::span<LiveEvent* const> changed) override;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace patchbay
