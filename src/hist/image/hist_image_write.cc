// SPDX-License-Identifier: MIT
#include "hist/image/hist_image.h"

namespace patchbay {

namespace {

using abi::put_table_number;
using abi::put_table_text;

void put_columns(std::string* out, const std::vector<HistColumn>& columns) {
  put_table_number(out, columns.size());
  for (const HistColumn& column : columns) {
    put_table_number(out, uint64_t(column.form));
    put_table_number(out, (column.is_signed ? abi::kColumnSigned : 0) |
                              (column.is_hidden ? abi::kColumnHidden : 0) |
                              (column.is_generic ? abi::kColumnGeneric : 0));
    put_table_number(out, column.size);
    put_table_number(out, column.buckets);
    put_table_text(out, column.name);
    put_table_text(out, column.modifier);
  }
}

void put_head(std::string* out, const HistImage& image) {
  put_table_text(out, image.definition);
  put_table_number(out, image.is_paused ? abi::kTablePaused : 0);
  put_columns(out, image.keys);
  put_columns(out, image.values);
  put_table_number(out, image.tracks.size());
  for (const HistTrack& track : image.tracks) {
    put_table_number(
        out, (track.is_max ? abi::kTrackMax : 0) | (track.is_snapshot ? abi::kTrackSnapshot : 0));
    put_table_text(out, track.variable);
  }
  put_columns(out, image.saved);
  put_table_number(out, image.orders.size());
  for (const HistOrder& order : image.orders) {
    put_table_number(out, order.column);
    put_table_number(out, order.descending);
  }
}

void put_names(std::string* out, const std::vector<HistName>& names) {
  put_table_number(out, names.size());
  for (const HistName& name : names) {
    put_table_number(out, name.is_known ? abi::kNameKnown : 0);
    for (const uint64_t number : {name.number, name.offset, name.size, name.place})
      put_table_number(out, number);
    put_table_text(out, std::string_view(name.name).substr(0, abi::kMostTableText));
    put_table_text(out, std::string_view(name.object).substr(0, abi::kMostTableText));
  }
}

void put_row(std::string* out, const HistImage& image, const HistRow& row) {
  put_table_text(out, row.key);
  for (size_t i = 0; i < image.values.size(); i++) put_table_number(out, row.values[i]);
  for (size_t i = 0; i < image.values.size(); i++) {
    if (!image.values[i].has_ranges()) continue;
    put_table_number(out, row.ranges[i].size());
    for (const auto& [range, hits] : row.ranges[i]) {
      put_table_number(out, abi::zigzag(range));
      put_table_number(out, hits);
    }
  }
  put_table_number(out, row.reached.size());
  for (const HistReached& reached : row.reached) {
    put_table_number(out, reached.track);
    put_table_number(out, reached.value);
    for (size_t i = 0; i < image.saved.size(); i++)
      image.saved[i].form == HistForm::kText ? put_table_text(out, reached.saved[i].text)
                                             : put_table_number(out, reached.saved[i].number);
  }
}

}  // namespace

void put_hist_key_text(std::string* key, std::string_view text, bool is_cut) {
  put_table_number(key, 2 * text.size() + is_cut);
  key->append(text);
}

std::string hist_image_bytes(const HistImage& image) {
  std::string body;
  put_head(&body, image);
  put_names(&body, image.names);
  put_table_number(&body, image.rows.size());
  for (const HistRow& row : image.rows) put_row(&body, image, row);
  put_table_number(&body, image.shots.size());
  for (const HistShot& shot : image.shots) {
    put_table_number(&body, shot.track);
    put_table_number(&body, shot.value);
    put_table_text(&body, shot.key);
  }
  put_table_number(&body, image.hits);
  put_table_number(&body, image.dropped);
  return abi::table_image(abi::kHistMagic, body);
}

}  // namespace patchbay
