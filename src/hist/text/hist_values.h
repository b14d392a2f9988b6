// SPDX-License-Identifier: MIT
//
// How values stand in a text of a histogram.
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
#include <string>
#include <string_view>
#include <vector>

#include "hist/image/hist_image.h"

namespace patchbay {

inline constexpr int kHistNumberWidth = 10;

// How often all of them were there together.
uint64_t hits_in(const HistRanges& ranges);
// The nearest rank: the smallest value that `per_mille` of all are not above. `total`: hits_in().
// Below 0 it is an int64_t.
uint64_t quantile_of(const HistRanges& ranges, uint64_t total, uint64_t per_mille);
void add_ranges(HistRanges* sum, const HistRanges& other);

// A number in its columns; `is_signed`: it is an int64_t.
void put_hist_number(std::string* out, uint64_t value, bool is_signed);

// Each begins with a blank and the name of the value, but for the first two, which follow it.
void put_hist_percent(std::string* out, uint64_t value, uint64_t total);
void put_hist_graph(std::string* out, uint64_t value, uint64_t most);
// The share and the bar alone: "33.33", "######"; empty: the share of nothing.
std::string hist_share(uint64_t value, uint64_t total);
std::string hist_bar(uint64_t value, uint64_t most);
// p50, p90, p99, p99.9, max.
struct HistQuantile {
  const char* name;
  uint64_t per_mille;
};
inline constexpr HistQuantile kHistQuantilesShown[] = {
    {"p50", 500}, {"p90", 900}, {"p99", 990}, {"p99.9", 999}, {"max", 1000}};
void put_hist_quantiles(std::string* out, std::string_view name, const HistRanges& ranges,
                        bool is_signed);
void put_hist_counters(std::string* out, std::string_view name, uint64_t sum,
                       const HistRanges& ranges, bool is_signed);

// "sys_read", "unknown_syscall".
std::string hist_syscall_text(uint64_t number);
// "name", "name+0x10/0x80", or "0x1234" when nothing is known there.
std::string hist_address_text(const HistName& name, bool with_offset);

// Of all rows, for .percent and .graph.
struct HistValueSums {
  uint64_t total = 0, most = 0;
};
std::vector<HistValueSums> sums_of_values(const HistImage& image);

// Lines of a head about such values.
std::string hist_quantile_note(std::string_view name);
std::string hist_counter_note(std::string_view name);

}  // namespace patchbay
