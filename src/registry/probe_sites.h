// SPDX-License-Identifier: MIT
//
// The patched places of this process (function entries, instructions, USDT nops) and what each of
// them runs: the programs of all events that have a place there, in all instances that want them.
// One place has one call site, whoever asks for it: function events, probes and USDT share it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "event/live_event.h"
#include "patch/patcher.h"
#include "probe/probe_compile.h"

namespace patchbay {

// One place of one event. Its owner keeps it, unmoved, until leave().
struct ProbePlace {
  SitePlan plan;
  std::string label;                    // for debug/call_sites
  uint64_t ip = 0;                      // what the record carries; 0: plan.entry
  const FetchProgram* fetch = nullptr;  // of this place; null: LiveEvent.fetch
  ProbeCounts* counts = nullptr;        // null: not counted
  bool on_return = false;               // plan is that of the function's entry
  bool disarmed = false;                // wanted, but not now (kprobes/enabled)
};

class ProbeSites {
 public:
  explicit ProbeSites(Patcher& patcher);
  ~ProbeSites();

  // `live` has programs for these places from now on, until leave(). leave() needs an update()
  // before it that has taken the programs away, or `gone`: the object there is unloaded.
  void join(const LiveEvent* live, std::span<const ProbePlace* const> places);
  void leave(const LiveEvent* live, std::span<const ProbePlace* const> places);

  // Makes what these places run what their events' `programs` say, in one transaction. A place that
  // the patcher refuses is reported and the others go on: `refused` gets the place and the reason;
  // with refused == null nothing may be refused: then everything is as before, and the error says
  // why.
  struct Refusal {
    const ProbePlace* place;
    std::string reason;
  };
  Status update(std::span<const ProbePlace* const> places, bool single_threaded,
                std::vector<Refusal>* refused = nullptr);
  // The text at these places is gone with its object.
  void forget(std::span<const ProbePlace* const> places, bool single_threaded);

  // What stands at the place now; kRefused: nothing.
  SiteKind active_kind(const ProbePlace& place) const;
  std::string show() const;  // debug/call_sites

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace patchbay
