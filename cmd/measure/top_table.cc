// SPDX-License-Identifier: MIT
#include "cmd/measure/top_table.h"

#include <fnmatch.h>

#include <algorithm>
#include <cstdio>

#include "cmd/common/commands.h"
#include "cmd/report/graph_source.h"
#include "output/trace_line.h"
#include "tracer/profile_image.h"

namespace patchbay::cmd {
namespace {

uint64_t average(const TopCounts& counts) {
  return counts.calls ? counts.time_ns / counts.calls : 0;
}

bool goes_before(const TopRow& a, const TopRow& b, const TopView& view) {
  const TopCounts &x = view.by_recent ? a.recent : a.all, &y = view.by_recent ? b.recent : b.all;
  uint64_t left = 0, right = 0;
  if (view.sort == TopSort::kCalls) left = x.calls, right = y.calls;
  if (view.sort == TopSort::kTime) left = x.time_ns, right = y.time_ns;
  if (view.sort == TopSort::kAverage) left = average(x), right = average(y);
  // Without times: by calls.
  if (left == right && view.sort != TopSort::kName) left = x.calls, right = y.calls;
  if (left != right) return left > right;
  return a.name != b.name ? a.name < b.name : a.place < b.place;
}

bool is_shown(const TopView& view, const std::string& name) {
  return view.filter.empty() || name.find(view.filter) != name.npos ||
         ::fnmatch(view.filter.c_str(), name.c_str(), 0) == 0;
}

}  // namespace

void TopTable::begin_recent() {
  before_ = now_;
  before_ns_ = now_ns_;
}

void TopTable::begin_look(uint64_t now_ns) {
  now_.clear();
  now_ns_ = now_ns;
}

void TopTable::look(uint64_t now_ns, std::string_view image) {
  begin_look(now_ns);
  add(image);
  subtract_base();
}

void TopTable::look_at(uint64_t now_ns, const std::vector<const TopTable*>& tables) {
  begin_look(now_ns);
  for (const TopTable* table : tables)
    for (const auto& [name, counts] : table->now_) {
      TopCounts& sum = now_[name];
      sum.calls += counts.calls;
      sum.time_ns += counts.time_ns;
    }
}

// Functions that were not called since are not shown. Counts below the base were set to 0 by
// somebody else: they begin there, also when they are above it again.
void TopTable::subtract_base() {
  std::erase_if(base_, [this](const auto& entry) {
    const auto& [name, base] = entry;
    const auto row = now_.find(name);
    if (row == now_.end() || row->second.calls < base.calls || row->second.time_ns < base.time_ns)
      return true;
    row->second.calls -= base.calls;
    row->second.time_ns -= base.time_ns;
    if (row->second.calls == 0) now_.erase(row);
    return false;
  });
}

// Bytes that are no profile have no function.
void TopTable::add(std::string_view image) {
  Result<std::vector<ProfiledFunction>> functions = parse_profile(image);
  if (!functions.ok()) return;
  for (const ProfiledFunction& one : *functions) {
    Function shown;
    append_escaped(&shown.name, one.name);
    append_escaped(&shown.place, one.place_text());
    TopCounts& sum = now_[std::move(shown)];
    sum.calls += one.calls;
    sum.time_ns += one.time_ns;
  }
}

void TopTable::reset(uint64_t now_ns, std::string_view image) {
  now_.clear();
  before_.clear();
  add(image);
  base_ = std::move(now_);
  now_.clear();
  now_ns_ = before_ns_ = now_ns;
}

void TopTable::restart(uint64_t now_ns) {
  for (const auto& [name, counts] : now_) {
    TopCounts& base = base_[name];
    base.calls += counts.calls;
    base.time_ns += counts.time_ns;
  }
  now_.clear();
  before_.clear();
  now_ns_ = before_ns_ = now_ns;
}

double TopTable::recent_seconds() const { return double(now_ns_ - before_ns_) / 1e9; }

TopCounts TopTable::all() const {
  TopCounts sum;
  for (const auto& [name, counts] : now_) {
    sum.calls += counts.calls;
    sum.time_ns += counts.time_ns;
  }
  return sum;
}

TopCounts TopTable::recent() const {
  TopCounts sum;
  for (const TopRow& row : rows({})) {
    sum.calls += row.recent.calls;
    sum.time_ns += row.recent.time_ns;
  }
  return sum;
}

// Counts that went back were set to 0 by somebody else: all of them are recent.
std::vector<TopRow> TopTable::rows(const TopView& view) const {
  std::vector<TopRow> rows;
  std::map<std::string, size_t> nr_of_name;
  for (const auto& [function, counts] : now_) {
    nr_of_name[function.name]++;
    if (!is_shown(view, function.name)) continue;
    TopRow& row = rows.emplace_back(TopRow{function.name, function.place, true, counts, counts});
    auto old = before_.find(function);
    if (old == before_.end() || old->second.calls > counts.calls ||
        old->second.time_ns > counts.time_ns)
      continue;
    row.recent.calls -= old->second.calls;
    row.recent.time_ns -= old->second.time_ns;
  }
  for (TopRow& row : rows) row.is_unique = nr_of_name[row.name] == 1;
  std::sort(rows.begin(), rows.end(),
            [&](const TopRow& a, const TopRow& b) { return goes_before(a, b, view); });
  return rows;
}

std::string top_head(const TopView& view) {
  return std::string("      CALLS    CALLS/s     ") + (view.self_time ? " SELF" : " TIME") +
         "      %TIME     AVG      FUNCTION\n";
}

std::string top_text(const TopTable& table, const TopView& view, size_t first, size_t rows,
                     size_t columns) {
  std::vector<TopRow> all = table.rows(view);
  double seconds = table.recent_seconds();
  std::string text;
  for (size_t i = first; i < all.size() && i - first < rows; i++) {
    const TopRow& row = all[i];
    char line[96];
    std::snprintf(line, sizeof line, "%11llu %10.0f  %s %6.1f%%  %s  ",
                  static_cast<unsigned long long>(row.all.calls),
                  seconds > 0 ? double(row.recent.calls) / seconds : 0.0,
                  time_text(row.all.time_ns).c_str(),
                  seconds > 0 ? double(row.recent.time_ns) / seconds / 1e7 : 0.0,
                  time_text(average(row.all)).c_str());
    std::string whole = line + row.name + (row.is_unique ? "" : " [" + row.place + "]");
    size_t end = std::min(whole.size(), columns);
    while (end < whole.size() && (static_cast<unsigned char>(whole[end]) & 0xc0) == 0x80) end--;
    text += whole.substr(0, end) + "\n";
  }
  return text;
}

std::string top_rows_json(const TopTable& table, const TopView& view, size_t rows) {
  std::string json = "[";
  for (const TopRow& row : table.rows(view)) {
    if (rows-- == 0) break;
    json += json.size() > 1 ? ", " : "";
    json += "{\"function\": " + json_quote(row.name) + ", \"place\": " + json_quote(row.place) +
            ", \"calls\": " + std::to_string(row.all.calls) +
            ", \"time_ns\": " + std::to_string(row.all.time_ns) +
            ", \"average_ns\": " + std::to_string(average(row.all)) +
            ", \"recent_calls\": " + std::to_string(row.recent.calls) +
            ", \"recent_time_ns\": " + std::to_string(row.recent.time_ns) + "}";
  }
  return json + "]";
}

}  // namespace patchbay::cmd
