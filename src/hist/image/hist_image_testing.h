// SPDX-License-Identifier: MIT
// Images of histograms made by hand, for tests of what is made of them.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "hist/image/hist_image.h"
#include "hist/quantile_buckets.h"

namespace patchbay::testing {

inline HistColumn hist_column(std::string name, HistForm form = HistForm::kNumber,
                              bool is_signed = false) {
  static const char* const kModifiers[] = {
      "",        "hex",  "",        "",        "sym",   "sym-offset", "execname",
      "syscall", "log2", "buckets", "percent", "graph", "quantiles",  "counters"};
  HistColumn column;
  column.name = std::move(name);
  column.modifier = kModifiers[size_t(form)];
  column.form = form;
  column.is_signed = is_signed;
  column.size = 8;
  column.buckets = form == HistForm::kBucket ? 5 : 0;
  return column;
}

// Without rows; hitcount stands before the values.
inline HistImage hist_image(std::vector<HistColumn> keys, std::vector<HistColumn> values = {}) {
  HistImage image;
  image.definition = "hist:keys=x";
  image.keys = std::move(keys);
  image.values = {hist_column("hitcount")};
  image.values.insert(image.values.end(), values.begin(), values.end());
  return image;
}

inline std::string text_key(std::string_view text, bool is_cut = false) {
  std::string key;
  put_hist_key_text(&key, text, is_cut);
  return key;
}
inline std::string number_key(uint64_t number) {
  std::string key;
  abi::put_table_number(&key, number);
  return key;
}
// A name is put into the image: its number is the key.
inline std::string name_key(HistImage* image, HistName name) {
  image->names.push_back(std::move(name));
  return number_key(image->names.size() - 1);
}

inline HistRanges ranges_of(const std::vector<uint64_t>& values, bool is_signed = false) {
  std::map<int32_t, uint64_t> ranges;
  for (const uint64_t value : values)
    ranges[is_signed && int64_t(value) < 0 ? -int32_t(quantile_bucket(0 - value))
                                           : int32_t(quantile_bucket(value))]++;
  return {ranges.begin(), ranges.end()};
}

// `values`: what hitcount and the others are. `ranges`: of all values that count them.
inline HistRow& add_row(HistImage* image, std::string key, std::vector<uint64_t> values,
                        const HistRanges& ranges = {}) {
  HistRow& row = image->rows.emplace_back();
  row.key = std::move(key);
  for (size_t i = 0; i < values.size(); i++) row.values[i] = values[i];
  if (image->has_ranges()) row.ranges.resize(image->values.size());
  for (size_t i = 0; i < row.ranges.size(); i++)
    if (image->values[i].has_ranges()) row.ranges[i] = ranges;
  image->hits += values.empty() ? 0 : values[0];
  return row;
}

// What traced programs may have in a text: it is nothing but a text.
inline std::vector<std::string> hostile_texts() {
  return {"x } hitcount:        777\n{ s: evil",
          "a\", \"hits\": 9}",
          "}\n\nTotals:\n    Hits: 5\n    Entries: 1\n",
          "\n# trigger info: hist:keys=n [active]\n",
          std::string("\0\0", 2),
          std::string("a\0b", 3),
          "",
          " ",
          "trailing   ",
          "\xff\xfe invalid",
          "\x1b[2J",
          std::string(255, 'y'),
          "s: x, n: 7 } hitcount: 1  lat.counters: sum=9,3=1",
          "back\\slash \\x00"};
}

}  // namespace patchbay::testing
