// SPDX-License-Identifier: MIT
//
// Synthetic events: the lines of synthetic_events (and `s:` of dynamic_events) as LiveEvents of the
// registry (docs/files.md, "Synthetic events"). Under the agent's lock.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "registry/live_event.h"
#include "registry/registry.h"

namespace patchbay {

struct EventFileHandle;  // probe/triggers/synthetic_hot.h

// The object of the program whose event it is.
struct EventOwner {
  const void* object = nullptr;  // what names it; null: nobody
  std::string module;            // its name, for :mod:
};

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
  // "NAME FIELDS" or "!NAME" as a command of the program (patchbay/trace_events.h).
  Status run_command(std::string_view command, const EventOwner& owner);
  // The object goes: its events go, in use or not. If it comes back, what was on is on again.
  void remove_owned(const void* owner);
  // Its owner ends the event, in use or not. Open files of it answer ENODEV from then on. Its
  // records stay readable. An event that is made again begins switched off. False: it is not ours.
  bool remove_forced(LiveEvent* live);
  Status clear();                    // EBUSY when one is in use: nothing is removed then
  std::string show() const;          // synthetic_events
  std::string show_dynamic() const;  // dynamic_events
  bool has(std::string_view name) const;

  // From now on, or no longer, `file->target` is what this instance alone wants of the event. The
  // caller sees to it that both stay for as long; if the event goes by force, `file` says so.
  void follow(EventFileHandle* file, TraceArray& array, LiveEvent* live);
  void unfollow(EventFileHandle* file, LiveEvent* live);

  // Nothing is patched for them. Histograms and the API, which make their records, hit the
  // SyntheticTarget (probe/triggers/hist_hot.h) that LiveEvent.data is from the beginning.
  Status update(std::span<LiveEvent* const> changed) override;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace patchbay
