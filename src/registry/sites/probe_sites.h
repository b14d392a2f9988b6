// SPDX-License-Identifier: MIT
//
// The patched places of this process (function entries, instructions, USDT nops) and what each of
// them runs: the programs of all events that have a place there, in all instances that want them.
// One place has one call site: function events, probes and USDT share it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "patch/patcher.h"
#include "probe/probe_abi.h"
#include "registry/live_event.h"

namespace patchbay {

// One place of one event. Its owner keeps it, unmoved, until leave(), and its fetch program and
// counts for good. plan.patch_address stays what it was at join(); the rest of the plan may be
// replaced while the place is not patched.
struct ProbePlace {
  SitePlan plan;
  std::string label;                         // for debug/call_sites; empty: its owner lists it
  uint64_t ip = 0;                           // what the record carries; 0: the plan's address
  const FetchProgram* fetch = nullptr;       // of this place; null: LiveEvent.fetch
  ProbeCounts* counts = nullptr;             // null: not counted
  bool on_return = false;                    // plan is that of the function's entry
  bool disarmed = false;                     // wanted, but not now (kprobes/enabled)
  bool stays = false;                        // its owner keeps it for good, with its plan as it is
  mutable struct ProbeSite* site = nullptr;  // ProbeSites' own: where it found the place
};

class ProbeSites {
 public:
  explicit ProbeSites(Patcher& patcher);
  ~ProbeSites();

  // `live` has programs for these places from now on, until leave(). leave() needs an update()
  // before it that has taken the programs away, or `gone`: the object there is unloaded.
  void join(const LiveEvent* live, std::span<const ProbePlace* const> places);
  void leave(const LiveEvent* live, std::span<const ProbePlace* const> places);

  // `look` is called before returns are hooked anywhere.
  void set_before_returns(std::function<void()> look);

  // Makes what these places run what their events' `programs` say, in one transaction. A place that
  // the patcher refuses is reported and the others go on: `refused` gets the place and the reason
  // (the next update() tries it again); with refused == null nothing may be refused: then
  // everything is as before, and the error says why. A caller that cannot live with what was
  // refused puts the old programs back and calls again. A place that cannot be restored, because
  // its text is gone, is no refusal.
  struct Refusal {
    const ProbePlace* place;
    std::string reason;
  };
  Status update(std::span<const ProbePlace* const> places, bool single_threaded,
                std::vector<Refusal>* refused = nullptr);
  // What function_graph and the profiler look for at a place (CallSite.graph and .profile), if
  // anybody has ever joined there.
  void mark(const ProbePlace& place, uint32_t graph, uint32_t profile);
  // The text at these places is gone with its object.
  void forget(std::span<const ProbePlace* const> places, bool single_threaded);
  // All places in this memory, which is not their object's any more: nothing is looked at there.
  void unmapped(uint64_t start, uint64_t end);

  // The owners of places that stay may let them go behind this. False: an event is at one.
  bool forget_plans();

  // What stands at the place now, of any event; kRefused: nothing.
  SiteKind active_kind(const ProbePlace& place) const;
  // What a thread that comes there is given; null: nobody has ever joined there.
  const CallSite* site(const ProbePlace& place) const;
  // The events that are served there now.
  struct Consumer {
    const LiveEvent* live;
    bool on_return;
  };
  std::vector<Consumer> consumers(const ProbePlace& place) const;
  // debug/call_sites. `function_label`: of a function by its address, where only tracers stand.
  std::string show(const std::function<std::string(uint64_t)>& function_label = {}) const;
  // debug/combinations: the distinct sets of consumers, and how many sites run each of them.
  std::string combinations() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace patchbay
