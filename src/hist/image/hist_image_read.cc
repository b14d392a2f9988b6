// SPDX-License-Identifier: MIT
//
// An agent may lie: what this takes is in bounds, whatever the bytes are, and whoever shows it need
// not look again. Keys fit to their columns, numbers of names, tracks and columns are those of some
// that are there, ranges ascend.
#include <algorithm>
#include <cerrno>

#include "hist/image/hist_image.h"
#include "hist/quantile_buckets.h"

namespace patchbay {

namespace {

using abi::TableReader;

class ImageReader {
 public:
  // `memory`: how much may still be made of the file.
  ImageReader(std::string_view untrusted, size_t* memory) : in_(untrusted), memory_(memory) {}
  bool read(HistImage* image);

 private:
  template <typename Member>
  size_t count(size_t most);
  void read_columns(size_t most, std::vector<HistColumn>* columns);
  void read_head(HistImage* image);
  void read_names(HistImage* image);
  void read_ranges(HistRanges* ranges);
  void read_row(HistImage* image);
  bool fits(const HistImage& image, std::string_view key);

  TableReader in_;
  size_t* const memory_;
};

// A byte may become a member, which is larger.
template <typename Member>
size_t ImageReader::count(size_t most) {
  const size_t count = in_.count(most);
  if (count * sizeof(Member) > *memory_) return in_.fail(), 0;
  *memory_ -= count * sizeof(Member);
  return count;
}

void ImageReader::read_columns(size_t most, std::vector<HistColumn>* columns) {
  for (size_t left = count<HistColumn>(most); left-- > 0;) {
    HistColumn& column = columns->emplace_back();
    column.form = HistForm(in_.number_below(kNrHistForms));
    const uint64_t flags = in_.number();
    column.is_signed = flags & abi::kColumnSigned;
    column.is_hidden = flags & abi::kColumnHidden;
    column.is_generic = flags & abi::kColumnGeneric;
    column.size = uint32_t(in_.number());
    column.buckets = in_.number();
    column.name = in_.text();
    column.modifier = in_.text();
  }
}

void ImageReader::read_head(HistImage* image) {
  image->definition = in_.text(in_.left());
  image->is_paused = in_.number() & abi::kTablePaused;
  read_columns(abi::kMostTableColumns, &image->keys);
  read_columns(abi::kMostTableColumns, &image->values);
  for (size_t left = count<HistTrack>(abi::kMostTableTracks); left-- > 0;) {
    const uint64_t flags = in_.number();
    image->tracks.push_back({std::string(in_.text()), (flags & abi::kTrackMax) != 0,
                             (flags & abi::kTrackSnapshot) != 0});
  }
  read_columns(abi::kMostTableTracks, &image->saved);
  for (size_t left = count<HistOrder>(abi::kMostTableSorts); left-- > 0;) {
    const auto column = uint32_t(in_.number_below(image->values.size() + image->keys.size()));
    image->orders.push_back({column, in_.number() != 0});
  }
  if (image->keys.empty() || image->values.empty()) in_.fail();
}

void ImageReader::read_names(HistImage* image) {
  for (size_t left = count<HistName>(abi::kMostTableNames); in_.ok() && left-- > 0;) {
    HistName& name = image->names.emplace_back();
    name.is_known = in_.number() & abi::kNameKnown;
    for (uint64_t* const number : {&name.number, &name.offset, &name.size, &name.place})
      *number = in_.number();
    name.name = in_.text();
    name.object = in_.text();
  }
}

void ImageReader::read_ranges(HistRanges* ranges) {
  const size_t all = count<HistRanges::value_type>(2 * size_t{kQuantileBuckets});
  ranges->reserve(all);
  while (in_.ok() && ranges->size() < all) {
    const uint64_t folded = in_.number_below(2 * uint64_t{kQuantileBuckets});
    const auto range = int32_t(folded & 1 ? -int64_t(folded / 2) - 1 : int64_t(folded / 2));
    const bool is_next = ranges->empty() || ranges->back().first < range;
    if (!is_next || range <= -int32_t{kQuantileBuckets}) return in_.fail();
    ranges->emplace_back(range, in_.number());
  }
}

bool ImageReader::fits(const HistImage& image, std::string_view key) {
  TableReader in(key);
  for (const HistColumn& column : image.keys) {
    if (column.form == HistForm::kText) {
      (void)in.bytes(in.number() / 2);
    } else if (column.form == HistForm::kStack) {
      for (size_t left = in.count(in.left()); left-- > 0;) in.number_below(image.names.size());
    } else if (column.has_names()) {
      in.number_below(image.names.size());
    } else {
      in.number();
    }
  }
  return in.ok() && in.at_end();
}

void ImageReader::read_row(HistImage* image) {
  HistRow& row = image->rows.emplace_back();
  row.key = in_.text();
  if (!in_.ok() || !fits(*image, row.key)) return in_.fail();
  for (size_t i = 0; i < image->values.size(); i++) row.values[i] = in_.number();
  if (image->has_ranges()) row.ranges.resize(image->values.size());
  for (size_t i = 0; i < image->values.size(); i++)
    if (image->values[i].has_ranges()) read_ranges(&row.ranges[i]);
  for (size_t left = count<HistReached>(image->tracks.size()); left-- > 0;) {
    HistReached& reached = row.reached.emplace_back();
    reached.track = uint32_t(in_.number_below(image->tracks.size()));
    reached.value = in_.number();
    if (!in_.ok() || image->saved.size() > in_.left()) return in_.fail();
    *memory_ -= std::min(*memory_, image->saved.size() * sizeof(HistSavedValue));
    for (const HistColumn& column : image->saved) {
      HistSavedValue& kept = reached.saved.emplace_back();
      if (column.form == HistForm::kText)
        kept.text = in_.text();
      else
        kept.number = in_.number();
    }
  }
}

bool ImageReader::read(HistImage* image) {
  read_head(image);
  read_names(image);
  const size_t nr_rows = count<HistRow>(abi::kMostTableRows);
  image->rows.reserve(nr_rows);
  while (in_.ok() && image->rows.size() < nr_rows) read_row(image);
  for (size_t left = count<HistShot>(abi::kMostTableTracks); left-- > 0;) {
    HistShot& shot = image->shots.emplace_back();
    shot.track = uint32_t(in_.number_below(image->tracks.size()));
    shot.value = in_.number();
    shot.key = in_.text();
    if (!in_.ok() || !fits(*image, shot.key)) in_.fail();
  }
  image->hits = in_.number();
  image->dropped = in_.number();
  return in_.ok() && in_.at_end();
}

}  // namespace

bool HistImage::has_ranges() const {
  for (const HistColumn& value : values)
    if (value.has_ranges()) return true;
  return false;
}

std::array<HistKeyPart, abi::kMostTableColumns> HistImage::parts_of(std::string_view key) const {
  std::array<HistKeyPart, abi::kMostTableColumns> parts;
  TableReader in(key);
  for (size_t i = 0; i < keys.size(); i++) {
    HistKeyPart& part = parts[i];
    if (keys[i].form == HistForm::kStack) {
      for (size_t left = in.count(in.left()); left-- > 0;)
        part.frames.push_back(uint32_t(in.number()));
      continue;
    }
    part.number = in.number();
    if (keys[i].form != HistForm::kText) continue;
    part.is_cut = part.number & 1;
    part.text = in.bytes(part.number / 2);
  }
  return parts;
}

Result<std::vector<HistImage>> parse_hist_images(std::string_view untrusted) {
  const auto refused = [] {
    return user_error(EBADMSG, "The bytes of a histogram are not those that this version reads.");
  };
  std::vector<HistImage> images;
  size_t memory = abi::kMostTableMemory;
  while (!untrusted.empty()) {
    std::string_view body;
    if (!abi::take_table_image(abi::kHistMagic, &untrusted, &body)) return refused();
    if (images.size() >= abi::kMostTables) return refused();
    if (!ImageReader(body, &memory).read(&images.emplace_back())) return refused();
  }
  return images;
}

}  // namespace patchbay
