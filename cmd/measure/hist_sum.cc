// SPDX-License-Identifier: MIT
#include "cmd/measure/hist_sum.h"

#include <algorithm>
#include <string>
#include <unordered_map>

#include "hist/text/hist_values.h"

namespace patchbay::cmd {
namespace {

bool same_column(const HistColumn& a, const HistColumn& b) {
  return a.name == b.name && a.form == b.form && a.is_signed == b.is_signed &&
         a.is_hidden == b.is_hidden && a.size == b.size && a.buckets == b.buckets;
}

// The same in each process.
std::string name_id(const HistName& name) {
  std::string id;
  abi::put_table_text(&id, name.object);
  abi::put_table_number(&id, name.object.empty() ? name.number : name.place);
  return id + name.name;
}

class HistSum {
 public:
  explicit HistSum(const HistImage& first) : sum_(first) {
    for (uint32_t i = 0; i < sum_.names.size(); i++) by_name_.emplace(name_id(sum_.names[i]), i);
    for (uint32_t i = 0; i < sum_.rows.size(); i++) by_key_.emplace(sum_.rows[i].key, i);
  }
  void add(const HistImage& image);
  HistImage take() { return std::move(sum_); }

 private:
  std::vector<uint32_t> add_names(const std::vector<HistName>& names);
  std::string key_here(const HistImage& image, const std::string& key,
                       const std::vector<uint32_t>& names) const;
  void add_row(HistRow row);
  void add_reached(HistRow* sum, HistReached reached) const;

  HistImage sum_;
  std::unordered_map<std::string, uint32_t> by_name_, by_key_;
};

// What their numbers are here.
std::vector<uint32_t> HistSum::add_names(const std::vector<HistName>& names) {
  std::vector<uint32_t> here;
  for (const HistName& name : names) {
    const auto [known, is_new] = by_name_.try_emplace(name_id(name), uint32_t(sum_.names.size()));
    if (is_new)
      sum_.names.push_back(name);
    else
      sum_.names[known->second].is_several |=
          name.is_several || sum_.names[known->second].number != name.number;
    here.push_back(known->second);
  }
  return here;
}

std::string HistSum::key_here(const HistImage& image, const std::string& key,
                              const std::vector<uint32_t>& names) const {
  std::string here;
  const auto parts = image.parts_of(key);
  for (size_t i = 0; i < image.keys.size(); i++) {
    const HistColumn& column = image.keys[i];
    if (column.form == HistForm::kText) {
      put_hist_key_text(&here, parts[i].text, parts[i].is_cut);
    } else if (column.form == HistForm::kStack) {
      abi::put_table_number(&here, parts[i].frames.size());
      for (const uint32_t frame : parts[i].frames) abi::put_table_number(&here, names[frame]);
    } else {
      abi::put_table_number(&here, column.has_names() ? names[parts[i].number] : parts[i].number);
    }
  }
  return here;
}

void HistSum::add_reached(HistRow* sum, HistReached reached) const {
  if (sum_.tracks[reached.track].is_max)
    for (HistReached& own : sum->reached) {
      if (own.track != reached.track) continue;
      if (own.value < reached.value) own = std::move(reached);
      return;
    }
  sum->reached.push_back(std::move(reached));
}

void HistSum::add_row(HistRow row) {
  const auto [known, is_new] = by_key_.try_emplace(row.key, uint32_t(sum_.rows.size()));
  if (is_new) return sum_.rows.push_back(std::move(row));
  HistRow& sum = sum_.rows[known->second];
  for (size_t i = 0; i < sum_.values.size(); i++) sum.values[i] += row.values[i];
  for (size_t i = 0; i < sum.ranges.size(); i++) add_ranges(&sum.ranges[i], row.ranges[i]);
  for (HistReached& reached : row.reached) add_reached(&sum, std::move(reached));
}

void HistSum::add(const HistImage& image) {
  const std::vector<uint32_t> names = add_names(image.names);
  for (const HistRow& row : image.rows) {
    HistRow own = row;
    own.key = key_here(image, row.key, names);
    add_row(std::move(own));
  }
  for (const HistShot& shot : image.shots)
    sum_.shots.push_back({shot.track, shot.value, key_here(image, shot.key, names)});
  sum_.hits += image.hits;
  sum_.dropped += image.dropped;
}

}  // namespace

bool same_columns(const std::vector<HistColumn>& a, const std::vector<HistColumn>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), same_column);
}

bool same_columns(const HistImage& a, const HistImage& b) {
  return same_columns(a.keys, b.keys) && same_columns(a.values, b.values) &&
         same_columns(a.saved, b.saved) && a.tracks.size() == b.tracks.size();
}

HistImagePtr hist_sum(const std::vector<HistImagePtr>& images) {
  HistImagePtr first;
  std::unique_ptr<HistSum> sum;
  for (const HistImagePtr& image : images) {
    if (!image || (first && !same_columns(*first, *image))) continue;
    if (!first) {
      first = image;
      continue;
    }
    if (!sum) sum = std::make_unique<HistSum>(*first);
    sum->add(*image);
  }
  return sum ? std::make_shared<const HistImage>(sum->take()) : first;
}

}  // namespace patchbay::cmd
