// SPDX-License-Identifier: MIT
//
// From what a hist command says to what it means (docs/files.md, "Histograms"): fields, generic
// fields, modifiers, expressions, variables of this and of other histograms, sort keys, actions.
// Checked in the kernel's order.
//
//   HistDefinition ── make_hist ──> HistData: values, variables, keys, sorts, actions as written
//                  ── make_hist_actions ──> tracked variables, variables of fields, parameters
//
// Only make_hist_actions may change something elsewhere: a parameter that is a field of the matched
// event makes a histogram there (HistWorld::add_auxiliary).
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "hist/definition/hist_data.h"
#include "hist/definition/hist_parse.h"

namespace patchbay {

// What a definition may refer to.
class HistWorld {
 public:
  virtual ~HistWorld() = default;
  // An event that the instance has; null.
  virtual LiveEvent* find_event(const TraceArray& array, std::string_view system,
                                std::string_view name) = 0;
  virtual LiveEvent* find_synthetic(std::string_view name) = 0;
  // The histograms of an event, the oldest first; of named ones that share a table the first's.
  virtual std::vector<HistData*> hists_of(const TraceArray& array, const LiveEvent* event) = 0;
  // The histograms of the instance that define variables or refer to some.
  virtual std::vector<HistData*> hists_with_variables(const TraceArray& array) = 0;
  // Makes a histogram that goes when no other refers to its variables any more. Its errors are
  // errors of the command that needs it.
  virtual Status add_auxiliary(TraceArray& array, LiveEvent* event, std::string_view text,
                               HistErrors* errors) = 0;
  // For snapshot(): EBUSY when another histogram has the instance's snapshot.
  virtual Status take_snapshot(TraceArray& array, HistData* hist) = 0;
};

// Everything but actions is resolved; they are parsed. `remove`: it will only be compared with
// what is there, so its variables may exist already.
Result<std::unique_ptr<HistData>> make_hist(HistWorld& world, TraceArray& array, LiveEvent* event,
                                            const HistDefinition& definition, bool remove,
                                            HistErrors* errors);
Status make_hist_actions(HistWorld& world, HistData* hist, HistErrors* errors);

// The same trigger: equal fields, modifiers, names of variables, sort keys, actions and, if
// `filters_count`, filters. Constants, buckets, size and clock may differ (kernel).
bool same_hist(const HistData& a, const HistData& b, bool filters_count);

}  // namespace patchbay
