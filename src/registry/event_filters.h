// SPDX-License-Identifier: MIT
//
// Filters of events and systems (docs/files.md, "Filters"). Registry::filters() hands it out. Under
// the agent's lock. Errors stand in the error_log of the instance.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "filter/filter.h"
#include "registry/registry.h"

namespace patchbay {

class EventFilters {
 public:
  explicit EventFilters(Registry::Impl& core) : core_(core) {}

  Status set(TraceArray& array, LiveEvent* event, std::string_view text);  // "0" clears
  std::string show(const TraceArray& array, const LiveEvent* event) const;
  // Events that the expression does not fit keep the filter that they have.
  Status set_system(TraceArray& array, std::string_view system, std::string_view text);
  // A filter over the event's records that its caller runs: of triggers, and of event probes, whose
  // errors stand in the top instance's log.
  Result<FilterProgramPtr> make(TraceArray& array, LiveEvent* event, std::string_view text);

  // The file goes. Its filter is kept, since a thread may still be in it.
  void park(EventFile* file);

 private:
  FilterContext context(const LiveEvent& event);
  bool find_function(std::string_view name, uint64_t address, uint64_t* start, uint64_t* end);

  Registry::Impl& core_;
  std::vector<FilterProgramPtr> parked_;
};

}  // namespace patchbay
