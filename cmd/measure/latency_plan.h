// SPDX-License-Identifier: MIT
//
// `patchbay latency`: times as a histogram whose value has counters. Of a function they are those
// of its whole calls, which nothing else has to be asked for:
//
//   CALL/trigger           hist:keys=BY:vals=duration,duration.counters
//
// From one event to another of the same thread (or with an equal field) they are those of a
// synthetic event:
//
//   START/trigger          hist:keys=KEY:__latency_1=common_timestamp[,__latency_2=BY]
//   END/trigger            hist:keys=KEY:__latency_3=common_timestamp-$__latency_1:
//                              onmatch(START).latency($__latency_3[,BY])
//   synthetic/latency      hist:keys=BY:vals=lat,lat.counters
//
// Where another event says what a key is called (a statement's text, a descriptor's path), whole
// calls are counted by that:
//
//   NAMED/trigger          hist:keys=KEY:__latency_2=BY
//   CALL/trigger           hist:keys=KEY:__latency_3=duration:
//                              onmatch(NAMED).latency($__latency_3,$__latency_2)
//
// Bars and quantiles are read from the same counters (hist/quantile_buckets.h), whose ranges begin
// anew at each power of two.
//
// BY is shown by its name when it is an address. What has one name in several processes is one
// distribution, so the counters are added up, and quantiles are read from the sum. Variables of one
// name have their addresses behind it: two locks are never one. Without BY, calls are counted by
// their function, `__ip`, and so two functions of one name are never one, either.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cmd/measure/hist_plan.h"
#include "hist/image/hist_image.h"

namespace patchbay::cmd {

struct LatencyRequest {
  std::string start, end;  // SYSTEM:EVENT
  std::string key;         // "FIELD" or "STARTFIELD=ENDFIELD"; empty: the thread
  std::string by;          // "FIELD", "start.FIELD", "end.FIELD"; empty: one distribution
  // An event that says what the key is called: `by` is a field of it, and `start` is a whole call.
  std::string named = {};

  // Whole calls of a function, by themselves.
  bool is_call() const { return start == end && named.empty(); }
};

struct LatencyPlan {
  HistPlan plan;                // of one histogram
  std::string value;            // the field that is a time
  std::string by;               // the field of the event that is counted; empty: none
  std::string modifier;         // how it is shown: ".hex", ".sym", ".sym-offset", or as it is
  bool is_by_function = false;  // nobody has asked for `by`: of one function it is not shown
  // What several functions of one name are called, by their addresses.
  std::map<uint64_t, std::string> namesakes = {};
};
Result<LatencyPlan> plan_latency(const LatencyRequest& request, EventFormats& events);

struct LatencyBar {
  unsigned power = 0;  // of values from 2^(power-1) to below 2^power; 0: of the value 0
  uint64_t hits = 0;
};
struct Distribution {
  std::string by;                // as it was, with whatever is in a text
  std::vector<LatencyBar> bars;  // without the empty ones, the smallest first
  uint64_t hits = 0, sum = 0;
  uint64_t p50 = 0, p90 = 0, p99 = 0, p999 = 0, max = 0;
};
// Distributions with most time come first.
std::vector<Distribution> read_latency(const HistImage& image, const LatencyPlan& plan);
std::string latency_text(const std::vector<Distribution>& distributions);
// One object on a line, with nanoseconds.
std::string latency_json(const LatencyRequest& request,
                         const std::vector<Distribution>& distributions);

// 999 -> "999 ns", 1500000 -> "1.50 ms".
std::string duration_text(uint64_t ns);

}  // namespace patchbay::cmd
