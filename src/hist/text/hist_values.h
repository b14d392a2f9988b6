// SPDX-License-Identifier: MIT
//
// How values stand in the file `hist`. The agent writes them so, and the tool does where it adds up
// the files of several processes (cmd/measure/hist_sum.h).
//
//   lat (%):  33.33
//   lat: ######
//   lat.p50:        499  lat.p90:        903  …            .quantiles
//   lat.counters: sum=1030,64=3,87=9                       .counters: the same, to be added up
//   r.counters: sum=-8,-5=2,2=1                            the same of numbers with a sign
//
// A pair RANGE=HITS of .counters is a range of quantile_buckets.h, by its number; -5 is that of -5.
// Empty ones are left out. What is added up by ranges has the quantiles that one table of all hits
// has.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hist/hist_table.h"

namespace patchbay {

inline constexpr int kHistNumberWidth = 10;

// The counters of one value: kQuantileBuckets of them, or twice as many of one with a sign.
using HistCounts = std::span<const uint64_t>;
// The nearest rank: the smallest value that `per_mille` of all are not above. `total`: the sum of
// the counters. Of a value with a sign it is an int64_t.
uint64_t quantile_of(HistCounts counters, uint64_t total, uint64_t per_mille);

// A number in its columns; `is_signed`: it is an int64_t.
void put_hist_number(std::string* out, uint64_t value, bool is_signed);
// Digits, a `-` before them where the number is an int64_t below 0, nothing else.
std::optional<uint64_t> parse_hist_number(std::string_view untrusted_text, int base = 10);

// Each begins with a blank and the name of the value, but for the first two, which follow it.
void put_hist_percent(std::string* out, uint64_t value, uint64_t total);
void put_hist_graph(std::string* out, uint64_t value, uint64_t most);
void put_hist_quantiles(std::string* out, std::string_view name, HistCounts counters);
void put_hist_counters(std::string* out, std::string_view name, uint64_t sum, HistCounts counters);

// What stands behind "NAME.counters: ".
struct HistCounters {
  uint64_t sum = 0;                                  // of numbers with a sign: an int64_t
  std::vector<std::pair<int32_t, uint64_t>> ranges;  // each once, in order, with its hits

  // Nothing: it is no such text.
  static std::optional<HistCounters> parse(std::string_view untrusted_text);
  void add(const HistCounters& other);
  // Some are below 0. Without one nothing says whether the numbers have a sign.
  bool has_negative() const { return !ranges.empty() && ranges.front().first < 0; }
  // As HistCounts, twice as many where some are below 0.
  std::vector<uint64_t> counters() const;
};

// Lines of a head about such values.
std::string hist_quantile_note(std::string_view name);
std::string hist_counter_note(std::string_view name);
// What stands below the entries.
void put_hist_totals(std::string* out, const HistTotals& totals);

}  // namespace patchbay
