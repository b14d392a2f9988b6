// SPDX-License-Identifier: MIT
#include "hist/text/hist_values.h"

#include <algorithm>
#include <cstdlib>
#include <optional>

#include "base/text.h"
#include "hist/quantile_buckets.h"
#include "output/syscall_names.h"
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

uint64_t hits_in(const HistRanges& ranges) {
  uint64_t total = 0;
  for (const auto& [range, hits] : ranges) total += hits;
  return total;
}

uint64_t quantile_of(const HistRanges& ranges, uint64_t total, uint64_t per_mille) {
  const uint64_t rank = std::max<uint64_t>((total * per_mille + 999) / 1000, 1);
  uint64_t seen = 0;
  for (const auto& [range, hits] : ranges) {
    seen += hits;
    if (seen < rank) continue;
    const uint64_t middle = quantile_range(uint32_t(std::abs(range))).middle();
    return range < 0 ? 0 - middle : middle;
  }
  return 0;
}

void add_ranges(HistRanges* sum, const HistRanges& other) {
  const auto is_before = [](const auto& a, const auto& b) { return a.first < b.first; };
  const auto middle = ptrdiff_t(sum->size());
  sum->insert(sum->end(), other.begin(), other.end());
  std::inplace_merge(sum->begin(), sum->begin() + middle, sum->end(), is_before);
  size_t kept = 0;
  for (const auto& one : *sum) {
    if (kept > 0 && (*sum)[kept - 1].first == one.first)
      (*sum)[kept - 1].second += one.second;
    else
      (*sum)[kept++] = one;
  }
  sum->resize(kept);
}

void put_hist_number(std::string* out, uint64_t value, bool is_signed) {
  if (!is_signed || int64_t(value) >= 0) return put_padded(out, value, kHistNumberWidth, ' ');
  const std::string digits = "-" + std::to_string(0 - value);
  out->append(kHistNumberWidth - std::min<size_t>(digits.size(), kHistNumberWidth), ' ');
  *out += digits;
}

std::string hist_share(uint64_t value, uint64_t total) {
  const std::optional<uint64_t> share = share_of(value, total);
  if (!share) return "";
  std::string text = std::to_string(*share / 100) + ".";
  put_padded(&text, *share % 100, 2, '0');
  return text;
}

std::string hist_bar(uint64_t value, uint64_t most) {
  const std::optional<uint64_t> share = share_of(value, most);
  return std::string(share ? std::min<size_t>(*share * kBarWidth / kWhole, kBarWidth) : 0, '#');
}

void put_hist_percent(std::string* out, uint64_t value, uint64_t total) {
  const std::string share = hist_share(value, total);
  if (share.empty()) return void(*out += " (%):[ERROR]");
  *out += " (%): ";
  out->append(6 - std::min<size_t>(share.size(), 6), ' ');
  *out += share;
}

void put_hist_graph(std::string* out, uint64_t value, uint64_t most) {
  *out += ": ";
  if (!share_of(value, most)) return void(out->append(13, ' ').append("[ERROR]"));
  const std::string bar = hist_bar(value, most);
  out->append(bar).append(kBarWidth - bar.size(), ' ');
}

void put_hist_quantiles(std::string* out, std::string_view name, const HistRanges& ranges,
                        bool is_signed) {
  const uint64_t total = hits_in(ranges);
  for (const HistQuantile& one : kHistQuantilesShown) {
    *out += one.per_mille == 500 ? " " : "  ";
    out->append(name).append(".").append(one.name).append(": ");
    put_hist_number(out, quantile_of(ranges, total, one.per_mille), is_signed);
  }
}

void put_hist_counters(std::string* out, std::string_view name, uint64_t sum,
                       const HistRanges& ranges, bool is_signed) {
  out->append(" ").append(name).append(".counters: sum=");
  is_signed ? put_number(out, int64_t(sum)) : put_number(out, sum);
  for (const auto& [range, hits] : ranges) {
    *out += ',';
    put_number(out, range);
    *out += '=';
    put_number(out, hits);
  }
}

std::string hist_syscall_text(uint64_t number) {
  const std::string_view call = syscall_name(number);
  return call.empty() ? "unknown_syscall" : "sys_" + std::string(call);
}

std::string hist_address_text(const HistName& name, bool with_offset) {
  if (!name.is_known) return hex_number(name.number);
  if (!with_offset) return name.name;
  return name.name + "+" + hex_number(name.offset) + (name.size ? "/" + hex_number(name.size) : "");
}

std::vector<HistValueSums> sums_of_values(const HistImage& image) {
  std::vector<HistValueSums> sums(image.values.size());
  for (size_t i = 0; i < sums.size(); i++) {
    const HistForm form = image.values[i].form;
    if (form != HistForm::kPercent && form != HistForm::kGraph) continue;
    for (const HistRow& row : image.rows) {
      sums[i].total += row.values[i];
      sums[i].most = std::max(sums[i].most, row.values[i]);
    }
  }
  return sums;
}

std::string hist_quantile_note(std::string_view name) {
  return note("quantiles", name, "nearest rank, not more than 1.6 % off");
}

std::string hist_counter_note(std::string_view name) {
  return note("counters", name, "its sum, and RANGE=HITS for each range of .quantiles");
}

}  // namespace patchbay
