// SPDX-License-Identifier: MIT
//
// Function events: the lines of function_events as LiveEvents of the registry, and the patched
// function entries that make their records. Under the agent's lock, like the registry.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "event/call_arguments.h"
#include "patch/patcher.h"
#include "registry/live_event.h"
#include "registry/registry.h"
#include "registry/sites/probe_sites.h"

namespace patchbay {

class FunctionEvents : public EventSource {
 public:
  FunctionEvents(Registry& registry, Patcher& patcher, ProbeSites& sites);
  ~FunctionEvents() override;

  // --- file function_events
  Status clear();        // open with O_TRUNC: EBUSY when one is enabled
  void forget_errors();  // open for write without O_TRUNC
  // One definition, or a removal: `!NAME`, `-:functions/NAME`, by the event's or the function's
  // name. What is wrong with a definition also goes into the top instance's error_log.
  Status write_line(std::string_view line);
  // The event goes, in use or not. False: it is not ours.
  bool remove_forced(const LiveEvent* live);
  // Canonical lines, then stored error entries. Behind a line whose library is not loaded stands a
  // comment that says so.
  std::string show() const;
  // For dynamic_events: the canonical lines, each behind the event's id.
  std::vector<std::pair<uint32_t, std::string>> lines() const;
  bool has(std::string_view name) const;  // `!NAME` would mean one of ours

  // Objects came or went: events of functions in them are there, or wait.
  void refresh();
  bool wants_objects() const;  // some event is defined
  // Definitions that have waited for their library all the time: "plug2 waits for the library p1".
  std::vector<std::string> never_placed() const;

  // --- available_filter_functions, debug/refused_functions
  std::string available_functions();
  std::string refused_functions();

  // The prototype of the event of the function that begins at `address` (the first one, if there
  // are several); null: there is none. Valid until an event comes or goes.
  const CallArguments* arguments_of(uint64_t address) const;

  Status update(std::span<LiveEvent* const> changed) override;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace patchbay
