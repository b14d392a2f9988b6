// SPDX-License-Identifier: MIT
//
// 131,072 entries are to be sorted between two blinks, so what is compared is laid out first: two
// words for each entry, that compare as unsigned numbers whatever they stand for.
//
//   unsigned   as it is            signed    the sign bit turned over
//   text       8 bytes behind what all texts begin with, the first on top; equal ones are compared
//              as texts
//   descending all bits turned over
#include "hist/text/hist_sort.h"

#include <algorithm>
#include <cstring>

#include "output/text_put.h"

namespace patchbay {

namespace {

struct SortColumn {
  bool is_value = false;
  uint32_t value = 0;   // which
  uint32_t offset = 0;  // of a key
  uint32_t size = 0;    // of a text
  bool is_text = false;
  size_t common = 0;  // bytes that all texts begin with
  bool is_signed = false;
  bool is_stack = false;  // all equal
  bool descending = false;
};

struct SortRow {
  uint64_t words[2];
  uint32_t index;
};

SortColumn column_of(const HistData& hist, const HistSort& sort) {
  SortColumn column;
  column.descending = sort.descending;
  if (sort.field < hist.values.size()) {
    column.is_value = true;
    column.value = sort.field;
    return column;
  }
  const HistField& key = *hist.keys[sort.field - hist.values.size()];
  column.offset = key.key_offset;
  column.size = std::min(key.size, kMaxHistText);
  column.is_text = key.flags & kHistString;
  column.is_stack = key.flags & kHistStacktrace;
  column.is_signed = key.is_signed && !(key.flags & (kHistLog2 | kHistBucket));
  return column;
}

// With the NULs that fill its room.
std::string_view text_of(const HistEntry& entry, const SortColumn& column) {
  return {reinterpret_cast<const char*>(entry.key + column.offset), column.size};
}

size_t common_start(const std::vector<HistEntry>& entries, const SortColumn& column) {
  const std::string_view first = text_of(entries[0], column);
  size_t common = first.size();
  for (const HistEntry& entry : entries) {
    const std::string_view text = text_of(entry, column);
    size_t same = 0;
    while (same < common && text[same] == first[same]) same++;
    common = same;
  }
  return common;
}

uint64_t word_of(const HistEntry& entry, const SortColumn& column) {
  uint64_t word = 0;
  if (column.is_value) {
    word = entry.values[column.value];
  } else if (column.is_text) {
    const std::string_view text = text_of(entry, column).substr(column.common, 8);
    for (size_t i = 0; i < text.size(); i++) word |= uint64_t(uint8_t(text[i])) << (56 - 8 * i);
  } else if (!column.is_stack) {
    word = load<uint64_t>(entry.key + column.offset);
    if (column.is_signed) word ^= uint64_t{1} << 63;
  }
  return column.descending ? ~word : word;
}

}  // namespace

std::vector<uint32_t> sort_hist_entries(const HistData& hist,
                                        const std::vector<HistEntry>& entries) {
  std::vector<SortColumn> columns;
  for (const HistSort& sort : hist.sorts)
    if (columns.size() < kMaxHistSortKeys) columns.push_back(column_of(hist, sort));
  if (columns.empty()) columns.push_back(column_of(hist, HistSort{}));
  for (SortColumn& column : columns)
    if (column.is_text && !entries.empty()) column.common = common_start(entries, column);

  std::vector<SortRow> rows(entries.size());
  for (uint32_t i = 0; i < rows.size(); i++) {
    rows[i] = {{0, 0}, i};
    for (size_t level = 0; level < columns.size(); level++)
      rows[i].words[level] = word_of(entries[i], columns[level]);
  }
  auto is_before = [&](const SortRow& a, const SortRow& b) {
    for (size_t level = 0; level < columns.size(); level++) {
      if (a.words[level] != b.words[level]) return a.words[level] < b.words[level];
      const SortColumn& column = columns[level];
      if (!column.is_text) continue;
      const int order =
          text_of(entries[a.index], column).compare(text_of(entries[b.index], column));
      if (order != 0) return (order < 0) != column.descending;
    }
    return entries[a.index].index < entries[b.index].index;
  };
  std::sort(rows.begin(), rows.end(), is_before);
  std::vector<uint32_t> order;
  order.reserve(rows.size());
  for (const SortRow& row : rows) order.push_back(row.index);
  return order;
}

}  // namespace patchbay
