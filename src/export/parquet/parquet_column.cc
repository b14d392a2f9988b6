// SPDX-License-Identifier: MIT
#include "export/parquet/parquet_column.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/check.h"
#include "export/parquet/parquet_encode.h"

namespace patchbay {
namespace {

// parquet.thrift
constexpr int kInt32 = 1, kInt64 = 2, kFloat = 4, kDouble = 5, kByteArray = 6;
constexpr int kPlain = 0, kRle = 3, kDelta = 5, kRleDictionary = 8;
constexpr int kDataPage = 0, kDictionaryPage = 2, kZstd = 6;

template <typename T>
void put_raw(std::string* out, T value) {
  out->append(reinterpret_cast<const char*>(&value), sizeof value);
}

void put_sized(std::string* page, std::span<const uint32_t> levels, int width) {
  const size_t begin = page->size();
  put_raw(page, uint32_t{0});
  put_rle(page, levels, width);
  const auto size = uint32_t(page->size() - begin - 4);
  std::memcpy(page->data() + begin, &size, 4);
}

}  // namespace

ParquetCompressor::ParquetCompressor(int level)
    : context_(ZSTD_createCCtx(), ZSTD_freeCCtx), level_(level) {
  PB_CHECK(context_ != nullptr);
}

size_t ParquetCompressor::append(std::string* out, std::string_view bytes) {
  const size_t begin = out->size();
  out->resize(begin + ZSTD_compressBound(bytes.size()));
  const size_t size = ZSTD_compressCCtx(context_.get(), out->data() + begin, out->size() - begin,
                                        bytes.data(), bytes.size(), level_);
  PB_CHECK(!ZSTD_isError(size));  // the room is enough for any bytes
  out->resize(begin + size);
  return size;
}

ParquetColumnWriter::ParquetColumnWriter(TypedColumn column, ParquetCompressor* compressor)
    : column_(std::move(column)), compressor_(compressor) {}

int ParquetColumnWriter::physical_type(ColumnType type) {
  switch (type) {
    case ColumnType::kInt64:
    case ColumnType::kUint64:
    case ColumnType::kTimestamp:
      return kInt64;
    case ColumnType::kFloat:
      return kFloat;
    case ColumnType::kDouble:
      return kDouble;
    case ColumnType::kText:
      return kByteArray;
    default:
      return kInt32;
  }
}

// Levels of a flat column are all the same until the first null.
void ParquetColumnWriter::put_level(uint32_t definition) {
  const uint32_t max = max_definition();
  if (definition != max) page_nulls_++;
  if (column_.is_list) {
    repetitions_.push_back(is_first_ || !in_list_ ? 0 : 1);
    is_first_ = false;
    definitions_.push_back(definition);
  } else if (definition != max || !definitions_.empty()) {
    if (definitions_.empty()) definitions_.assign(levels_, max);
    definitions_.push_back(definition);
  }
  levels_++;
}

void ParquetColumnWriter::put_null() {
  PB_CHECK(max_definition() > 0);
  put_level(column_.is_list && in_list_ ? 2 : 0);
}

void ParquetColumnWriter::begin_list() { in_list_ = is_first_ = true; }

void ParquetColumnWriter::end_list() {
  if (is_first_) put_level(1);  // it is there, without an element
  in_list_ = is_first_ = false;
}

void ParquetColumnWriter::put_other_number(uint64_t bits) {
  if (column_.type == ColumnType::kTimestamp) {
    count_number(bits);
    times_.push_back(int64_t(bits));
    return;
  }
  if (by_dictionary_) {
    bool is_new = false;
    const uint32_t index = numbers_.index_of(bits, kMaxNumbers, &is_new);
    if (index != kNotInDictionary) {
      if (is_new) count_number(bits);
      has_last_ = true;
      last_number_ = bits;
      last_index_ = index;
      return indices_.push_back(index);
    }
    leave_dictionary();
  }
  count_number(bits);
  put_plain_number(&plain_, bits);
}

void ParquetColumnWriter::put_text(std::string_view text) {
  put_value_level();
  if (by_dictionary_) {
    if (has_last_ && text == texts_.at(last_index_)) return indices_.push_back(last_index_);
    bool is_new = false;
    const uint32_t index = texts_.index_of(text, kMaxTextBytes, &is_new);
    if (index != kNotInDictionary) {
      if (is_new) count_text(text);
      has_last_ = true;
      last_index_ = index;
      return indices_.push_back(index);
    }
    leave_dictionary();
  }
  count_text(text);
  put_plain_text(&plain_, text);
}

void ParquetColumnWriter::put_plain_number(std::string* out, uint64_t bits) const {
  if (is_wide()) return put_raw(out, bits);
  put_raw(out, uint32_t(bits));
}

void ParquetColumnWriter::put_plain_text(std::string* out, std::string_view text) {
  put_raw(out, uint32_t(text.size()));
  *out += text;
}

bool ParquetColumnWriter::number_less(uint64_t a, uint64_t b) const {
  switch (column_.type) {
    case ColumnType::kFloat:
      return std::bit_cast<float>(uint32_t(a)) < std::bit_cast<float>(uint32_t(b));
    case ColumnType::kDouble:
      return std::bit_cast<double>(a) < std::bit_cast<double>(b);
    case ColumnType::kUint8:
    case ColumnType::kUint16:
    case ColumnType::kUint32:
    case ColumnType::kUint64:
      return a < b;
    default:
      return int64_t(a) < int64_t(b);
  }
}

// Bounds leave out what is not a number, as Parquet says.
void ParquetColumnWriter::count_number(uint64_t bits) {
  if (is_double() && std::isnan(std::bit_cast<double>(bits))) return;
  if (column_.type == ColumnType::kFloat && std::isnan(std::bit_cast<float>(uint32_t(bits))))
    return;
  if (!has_bounds_ || number_less(bits, min_)) min_ = bits;
  if (!has_bounds_ || number_less(max_, bits)) max_ = bits;
  has_bounds_ = true;
}

void ParquetColumnWriter::count_text(std::string_view text) {
  if (bounds_unknown_) return;
  if (text.size() > kMaxStatistic) {
    bounds_unknown_ = true;
    return;
  }
  if (!has_bounds_ || text < min_text_) min_text_ = text;
  if (!has_bounds_ || text > max_text_) max_text_ = text;
  has_bounds_ = true;
}

// The values of the page so far, which stand as indices, become plain ones.
void ParquetColumnWriter::leave_dictionary() {
  by_dictionary_ = has_last_ = false;
  for (const uint32_t index : indices_) {
    if (is_text()) {
      put_plain_text(&plain_, texts_.at(index));
    } else {
      put_plain_number(&plain_, numbers_.values()[index]);
    }
  }
  indices_.clear();
}

void ParquetColumnWriter::put_levels(std::string* page) const {
  if (column_.is_list) put_sized(page, repetitions_, 1);
  const int width = bit_width(max_definition());
  if (width == 0) return;
  if (!definitions_.empty()) return put_sized(page, definitions_, width);
  std::string run;  // all are there
  put_rle_run(&run, levels_, max_definition(), width);
  put_raw(page, uint32_t(run.size()));
  *page += run;
}

// The page's encoding.
int ParquetColumnWriter::put_values(std::string* page) {
  if (column_.type == ColumnType::kTimestamp) {
    put_delta(page, times_);
    return kDelta;
  }
  if (by_dictionary_) {
    const size_t values = is_text() ? texts_.count() : numbers_.values().size();
    const int width = bit_width(values > 1 ? values - 1 : 1);
    *page += char(width);
    put_rle(page, indices_, width);
    has_indices_ = true;
    return kRleDictionary;
  }
  *page += plain_;
  has_plain_ = true;
  return kPlain;
}

void ParquetColumnWriter::end_page() {
  if (!levels_) return;
  page_.clear();
  put_levels(&page_);
  const int encoding = put_values(&page_);
  put_page(&pages_, page_, levels_, false, encoding);
  const size_t known = is_text() ? texts_.count() : numbers_.values().size();
  if (by_dictionary_ && !entries_ && known > 4096 && known > indices_.size() / 2)
    by_dictionary_ = has_last_ = false;  // hardly anything repeats
  entries_ += levels_;
  nulls_ += page_nulls_;
  levels_ = page_nulls_ = 0;
  definitions_.clear();
  repetitions_.clear();
  indices_.clear();
  times_.clear();
  plain_.clear();
}

void ParquetColumnWriter::put_page(std::string* out, std::string_view page, size_t values,
                                   bool is_dictionary, int encoding) {
  std::string packed;
  compressor_->append(&packed, page);
  header_.clear();
  ThriftCompact header(&header_);
  header.i32(1, is_dictionary ? kDictionaryPage : kDataPage);
  header.i32(2, int32_t(page.size()));
  header.i32(3, int32_t(packed.size()));
  header.begin_struct(is_dictionary ? 7 : 5);
  header.i32(1, int32_t(values));
  header.i32(2, encoding);
  if (!is_dictionary) {
    header.i32(3, kRle);
    header.i32(4, kRle);
  }
  header.end_struct();
  header.end_struct();
  *out += header_;
  *out += packed;
  unpacked_ += header_.size() + page.size();
}

std::string ParquetColumnWriter::dictionary_page() const {
  if (is_text()) return texts_.bytes();
  std::string page;
  for (const uint64_t value : numbers_.values()) put_plain_number(&page, value);
  return page;
}

// Zeros have a sign, which comparing does not see: the least is -0, the greatest +0.
std::string ParquetColumnWriter::plain_bound(uint64_t bits, bool is_min) const {
  std::string out;
  if (is_double() && std::bit_cast<double>(bits) == 0)
    bits = std::bit_cast<uint64_t>(is_min ? -0.0 : 0.0);
  if (column_.type == ColumnType::kFloat && std::bit_cast<float>(uint32_t(bits)) == 0)
    bits = std::bit_cast<uint32_t>(is_min ? -0.0f : 0.0f);
  put_plain_number(&out, bits);
  return out;
}

void ParquetColumnWriter::put_statistics(ThriftCompact* metadata) const {
  metadata->begin_struct(12);
  metadata->i64(3, int64_t(nulls_));
  if (has_bounds_ && !bounds_unknown_) {
    metadata->binary(5, is_text() ? max_text_ : plain_bound(max_, false));
    metadata->binary(6, is_text() ? min_text_ : plain_bound(min_, true));
  }
  metadata->end_struct();
}

void ParquetColumnWriter::end_chunk(std::string* out, uint64_t offset, ThriftCompact* metadata,
                                    uint64_t* unpacked) {
  end_page();
  const size_t begin = out->size();
  if (has_indices_) {
    const size_t values = is_text() ? texts_.count() : numbers_.values().size();
    put_page(out, dictionary_page(), values, true, kPlain);
  }
  const uint64_t first_page = offset + (out->size() - begin);
  *out += pages_;
  metadata->begin_element();
  metadata->i64(2, 0);  // the metadata stand in the footer only
  metadata->begin_struct(3);
  metadata->i32(1, physical_type(column_.type));
  std::vector<int> encodings{kRle};
  if (column_.type == ColumnType::kTimestamp) encodings.push_back(kDelta);
  if (has_indices_) encodings.push_back(kRleDictionary);
  if (has_indices_ || has_plain_) encodings.push_back(kPlain);
  metadata->begin_list(2, ThriftCompact::kI32, encodings.size());
  for (const int encoding : encodings) metadata->element(encoding);
  metadata->begin_list(3, ThriftCompact::kBinary, column_.is_list ? 3 : 1);
  metadata->element(std::string_view(column_.name));
  if (column_.is_list) {
    metadata->element(std::string_view("list"));
    metadata->element(std::string_view("element"));
  }
  metadata->i32(4, kZstd);
  metadata->i64(5, int64_t(entries_));
  metadata->i64(6, int64_t(unpacked_));
  metadata->i64(7, int64_t(out->size() - begin));
  metadata->i64(9, int64_t(first_page));
  if (has_indices_) metadata->i64(11, int64_t(offset));
  put_statistics(metadata);
  metadata->end_struct();
  metadata->end_struct();
  *unpacked += unpacked_;
  clear();
}

void ParquetColumnWriter::clear() {
  by_dictionary_ = true;
  has_indices_ = has_plain_ = has_bounds_ = bounds_unknown_ = has_last_ = false;
  numbers_.clear();
  texts_.clear();
  std::string().swap(pages_);
  std::vector<uint32_t>().swap(indices_);
  std::vector<int64_t>().swap(times_);
  std::string().swap(plain_);
  std::string().swap(page_);
  entries_ = nulls_ = unpacked_ = 0;
}

size_t ParquetColumnWriter::memory() const {
  return (definitions_.capacity() + repetitions_.capacity() + indices_.capacity()) * 4 +
         times_.capacity() * 8 + plain_.capacity() + pages_.capacity() + page_.capacity() +
         numbers_.memory() + texts_.memory();
}

}  // namespace patchbay
