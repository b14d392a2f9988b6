// SPDX-License-Identifier: MIT
//
// The patched function entries of this process and the programs that each of them runs: those of
// all events that have a place there, in all instances that want them.
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

struct FunctionPlace {
  SitePlan plan;
  std::string label;  // for debug/call_sites
};

class FunctionSites {
 public:
  explicit FunctionSites(Patcher& patcher) : patcher_(patcher) {}
  ~FunctionSites();

  // `live` has programs for these places from now on, until leave().
  void join(const LiveEvent* live, std::span<const FunctionPlace> places);
  void leave(const LiveEvent* live, std::span<const FunctionPlace> places);
  // Makes what these places run what their events' `programs` say, in one transaction. On failure
  // everything is as before.
  Status update(std::span<const FunctionPlace* const> places, bool single_threaded);
  std::string show() const;

 private:
  struct FreeProgram {
    void operator()(SiteProgram* program) const;
  };
  using ProgramPtr = std::unique_ptr<SiteProgram, FreeProgram>;
  // Nodes never move or go: a thread may be in the stub.
  struct Site {
    CallSite site{};
    SitePlan plan;
    std::string label;
    std::vector<const LiveEvent*> events;
    std::vector<ProgramPtr> programs;      // all that were ever published; used again when equal
    const SiteProgram* program = nullptr;  // the published one
    bool patched = false;
    ProbeCode code{};  // what is patched
  };
  // One site of a transaction, before and after.
  struct Step {
    Site* site;
    const SiteProgram* old_program;
    const SiteProgram* new_program;
    ProbeCode old_code, new_code;
    bool was_patched;
  };
  Result<const SiteProgram*> wanted_program(Site* site);
  ProbeCode code_for(const Site& site, const SiteProgram* program) const;
  Result<std::vector<Step>> plan_steps(std::span<const FunctionPlace* const> places);
  Status patch(std::span<const Step> steps, bool back, bool single_threaded);
  static void publish(Site* site, const SiteProgram* program);

  Patcher& patcher_;
  std::map<uint64_t, Site> sites_;  // by patch address
};

}  // namespace patchbay
