// SPDX-License-Identifier: MIT
//
// 131,072 rows are to be sorted between two blinks, so what is compared is laid out first: two
// words for each row, that compare as unsigned numbers whatever they stand for.
//
//   unsigned   as it is            signed    the sign bit turned over
//   text       8 bytes behind what all texts begin with, the first on top; equal ones are compared
//              as texts
//   symbol     its address; equal ones are compared by name
//   descending all bits turned over
#include <algorithm>
#include <cstring>

#include "hist/image/hist_image.h"

namespace patchbay {

namespace {

struct SortColumn {
  HistForm form = HistForm::kNumber;
  bool is_signed = false, descending = false;
  size_t common = 0;                    // bytes that all texts begin with
  std::vector<std::string_view> texts;  // of texts and symbols, by row
};

struct SortRow {
  uint64_t words[abi::kMostTableSorts] = {};
  uint32_t index = 0;
};

bool has_texts(HistForm form) {
  return form == HistForm::kText || form == HistForm::kSymbol || form == HistForm::kSymbolOffset;
}

size_t common_start(const std::vector<std::string_view>& texts) {
  size_t common = texts.empty() ? 0 : texts[0].size();
  for (const std::string_view text : texts) {
    size_t same = 0;
    while (same < std::min(common, text.size()) && text[same] == texts[0][same]) same++;
    common = same;
  }
  return common;
}

uint64_t first_bytes(std::string_view text) {
  uint64_t word = 0;
  for (size_t i = 0; i < std::min<size_t>(text.size(), 8); i++)
    word |= uint64_t(uint8_t(text[i])) << (56 - 8 * i);
  return word;
}

// By a value, as an unsigned number.
void lay_out_value(const HistImage& image, uint32_t value, size_t level,
                   std::vector<SortRow>* rows) {
  for (SortRow& row : *rows) row.words[level] = image.rows[row.index].values[value];
}

void lay_out_key(const HistImage& image, size_t key, size_t level, std::vector<SortRow>* rows,
                 SortColumn* column) {
  for (SortRow& row : *rows) {
    const HistKeyPart part = image.parts_of(image.rows[row.index].key)[key];
    uint64_t word = column->form == HistForm::kStack ? 0 : part.number;
    std::string_view text = part.text;
    if (image.keys[key].has_names() && column->form != HistForm::kStack) {
      word = image.names[part.number].number;
      text = image.names[part.number].name;
    }
    if (has_texts(column->form)) column->texts.push_back(text);
    row.words[level] = column->is_signed ? word ^ uint64_t { 1 } << 63 : word;
  }
  if (column->form != HistForm::kText) return;
  column->common = common_start(column->texts);
  for (SortRow& row : *rows)
    row.words[level] = first_bytes(column->texts[row.index].substr(column->common));
}

}  // namespace

std::vector<uint32_t> sort_hist_rows(const HistImage& image) {
  if (image.rows.empty()) return {};  // there may be no columns, either
  std::vector<SortRow> rows(image.rows.size());
  for (uint32_t i = 0; i < rows.size(); i++) rows[i].index = i;
  std::vector<HistOrder> orders = image.orders;
  if (orders.empty()) orders.emplace_back();
  std::vector<SortColumn> columns;
  for (const HistOrder& order : orders) {
    SortColumn& column = columns.emplace_back();
    column.descending = order.descending;
    const size_t level = columns.size() - 1;
    if (order.column < image.values.size()) {
      lay_out_value(image, order.column, level, &rows);
    } else {
      const size_t key = order.column - image.values.size();
      column.form = image.keys[key].form;
      column.is_signed = image.keys[key].is_signed && column.form != HistForm::kLog2 &&
                         column.form != HistForm::kBucket;
      lay_out_key(image, key, level, &rows, &column);
    }
    if (order.descending)
      for (SortRow& row : rows) row.words[level] = ~row.words[level];
  }
  std::sort(rows.begin(), rows.end(), [&](const SortRow& a, const SortRow& b) {
    for (size_t level = 0; level < columns.size(); level++) {
      if (a.words[level] != b.words[level]) return a.words[level] < b.words[level];
      const SortColumn& column = columns[level];
      if (column.texts.empty()) continue;
      const int order = column.texts[a.index].compare(column.texts[b.index]);
      if (order != 0) return (order < 0) != column.descending;
    }
    return a.index < b.index;
  });
  std::vector<uint32_t> order;
  order.reserve(rows.size());
  for (const SortRow& row : rows) order.push_back(row.index);
  return order;
}

}  // namespace patchbay
