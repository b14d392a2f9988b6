// SPDX-License-Identifier: MIT
#include "hist/text/hist_values.h"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <utility>
#include <vector>

#include "base/text.h"
#include "hist/quantile_buckets.h"
#include "output/text_put.h"

namespace patchbay {

namespace {

constexpr uint32_t kBarWidth = 20;
constexpr uint64_t kWhole = 10000;  // 100.00 %

// Hundredths of a percent; none: the share of nothing.
std::optional<uint64_t> share_of(uint64_t value, uint64_t total) {
  if (total == 0) return value ? std::optional<uint64_t>() : 0;
  if (value < ~uint64_t{0} / kWhole) return value * kWhole / total;
  total /= kWhole;
  return total ? std::optional<uint64_t>(value / total) : std::nullopt;
}

std::string note(std::string_view what, std::string_view name, std::string_view text) {
  return "# " + std::string(what) + " of " + std::string(name) + ": " + std::string(text) + "\n#\n";
}

}  // namespace

uint64_t quantile_of(HistCounts counters, uint64_t total, uint64_t per_mille) {
  const uint64_t rank = std::max<uint64_t>((total * per_mille + 999) / 1000, 1);
  uint64_t seen = 0;
  for (size_t i = counters.size(); i-- > kQuantileBuckets;) {
    seen += counters[i];
    if (seen >= rank) return 0 - quantile_range(uint32_t(i - kQuantileBuckets)).middle();
  }
  for (uint32_t bucket = 0; bucket < kQuantileBuckets; bucket++) {
    seen += counters[bucket];
    if (seen >= rank) return quantile_range(bucket).middle();
  }
  return 0;
}

void put_hist_number(std::string* out, uint64_t value, bool is_signed) {
  const bool is_negative = is_signed && int64_t(value) < 0;
  const std::string digits = std::to_string(is_negative ? 0 - value : value);
  const auto length = int(digits.size()) + is_negative;
  out->append(size_t(std::max(kHistNumberWidth - length, 0)), ' ');
  if (is_negative) *out += '-';
  *out += digits;
}

std::optional<uint64_t> parse_hist_number(std::string_view text, int base) {
  const bool is_negative = text.starts_with('-');
  if (is_negative) text.remove_prefix(1);
  uint64_t value = 0;
  if (!to_number(text, &value, base)) return std::nullopt;
  return is_negative ? 0 - value : value;
}

void put_hist_percent(std::string* out, uint64_t value, uint64_t total) {
  const std::optional<uint64_t> share = share_of(value, total);
  if (!share) return void(*out += " (%):[ERROR]");
  *out += " (%): ";
  put_padded(out, *share / 100, 3, ' ');
  *out += '.';
  put_padded(out, *share % 100, 2, '0');
}

void put_hist_graph(std::string* out, uint64_t value, uint64_t most) {
  *out += ": ";
  const std::optional<uint64_t> share = share_of(value, most);
  if (!share) return void(out->append(13, ' ').append("[ERROR]"));
  const size_t length = std::min<size_t>(*share * kBarWidth / kWhole, kBarWidth);
  out->append(length, '#').append(kBarWidth - length, ' ');
}

void put_hist_quantiles(std::string* out, std::string_view name, HistCounts counters) {
  const bool is_signed = counters.size() > kQuantileBuckets;
  constexpr std::pair<const char*, uint64_t> kShown[] = {
      {".p50: ", 500}, {".p90: ", 900}, {".p99: ", 990}, {".p99.9: ", 999}, {".max: ", 1000}};
  uint64_t total = 0;
  for (const uint64_t hits : counters) total += hits;
  for (const auto& [label, per_mille] : kShown) {
    *out += per_mille == 500 ? " " : "  ";
    *out += name;
    *out += label;
    const uint64_t value = quantile_of(counters, total, per_mille);
    put_hist_number(out, value, is_signed);
  }
}

void put_hist_counters(std::string* out, std::string_view name, uint64_t sum, HistCounts counters) {
  *out += ' ';
  *out += name;
  *out += ".counters: sum=";
  counters.size() > kQuantileBuckets ? put_number(out, int64_t(sum)) : put_number(out, sum);
  for (size_t i = counters.size(); i-- > kQuantileBuckets;) {
    if (counters[i] == 0) continue;
    *out += ",-";
    put_number(out, i - kQuantileBuckets);
    *out += '=';
    put_number(out, counters[i]);
  }
  for (uint32_t bucket = 0; bucket < kQuantileBuckets; bucket++) {
    if (counters[bucket] == 0) continue;
    *out += ',';
    put_number(out, bucket);
    *out += '=';
    put_number(out, counters[bucket]);
  }
}

std::optional<HistCounters> HistCounters::parse(std::string_view text) {
  constexpr std::string_view kSum = "sum=";
  HistCounters made;
  if (!text.starts_with(kSum) || text.ends_with(',')) return std::nullopt;
  text.remove_prefix(kSum.size());
  const auto sum = parse_hist_number(cut_at(&text, ','));
  if (!sum) return std::nullopt;
  made.sum = *sum;
  while (!text.empty()) {
    std::string_view hits = cut_at(&text, ',');
    std::pair<int32_t, uint64_t> one;
    if (!to_number(cut_at(&hits, '='), &one.first) || !to_number(hits, &one.second))
      return std::nullopt;
    const bool is_next = made.ranges.empty() || made.ranges.back().first < one.first;
    const bool is_range = std::abs(int64_t{one.first}) < kQuantileBuckets;
    if (!is_range || !is_next) return std::nullopt;
    made.ranges.push_back(one);
  }
  return made;
}

void HistCounters::add(const HistCounters& other) {
  sum += other.sum;
  const size_t middle = ranges.size();
  const auto is_before = [](const auto& a, const auto& b) { return a.first < b.first; };
  ranges.insert(ranges.end(), other.ranges.begin(), other.ranges.end());
  std::inplace_merge(ranges.begin(), ranges.begin() + ptrdiff_t(middle), ranges.end(), is_before);
  size_t kept = 0;
  for (size_t i = 0; i < ranges.size(); i++) {
    if (kept > 0 && ranges[kept - 1].first == ranges[i].first)
      ranges[kept - 1].second += ranges[i].second;
    else
      ranges[kept++] = ranges[i];
  }
  ranges.resize(kept);
}

std::vector<uint64_t> HistCounters::counters() const {
  std::vector<uint64_t> all(quantile_counters(has_negative()));
  for (const auto& [bucket, hits] : ranges)
    all[bucket < 0 ? kQuantileBuckets + uint32_t(-bucket) : uint32_t(bucket)] = hits;
  return all;
}

std::string hist_quantile_note(std::string_view name) {
  return note("quantiles", name, "nearest rank, not more than 1.6 % off");
}

std::string hist_counter_note(std::string_view name) {
  return note("counters", name, "its sum, and RANGE=HITS for each range of .quantiles");
}

void put_hist_totals(std::string* out, const HistTotals& totals) {
  *out += "\nTotals:\n    Hits: ";
  put_number(out, totals.hits);
  *out += "\n    Entries: ";
  put_number(out, totals.entries);
  *out += "\n    Dropped: ";
  put_number(out, totals.dropped);
  *out += '\n';
}

}  // namespace patchbay
