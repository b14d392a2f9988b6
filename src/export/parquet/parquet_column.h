// SPDX-License-Identifier: MIT
//
// One column of a row group while it is being made: levels, values, pages.
//
//   values -> dictionary -> indices ---.
//                                      |--> page (32768 values) -> zstd -> the chunk -> the file
//   values, once it has outgrown that -'
//
// Numbers and texts begin with a dictionary. When it has grown too large, or most values of the
// first page were new, the rest of the chunk is PLAIN; the next row group tries again. Times are
// DELTA_BINARY_PACKED. A list has the three levels of Parquet's LIST; its elements may be null.
#pragma once

#include <zstd.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "export/parquet/parquet_dictionary.h"
#include "export/parquet/thrift_compact.h"
#include "export/typed_column.h"

namespace patchbay {

// A zstd context: one for all columns of all files.
class ParquetCompressor {
 public:
  explicit ParquetCompressor(int level = 1);
  // Appends; the bytes that came out.
  size_t append(std::string* out, std::string_view bytes);

 private:
  std::unique_ptr<ZSTD_CCtx, size_t (*)(ZSTD_CCtx*)> context_;
  int level_;
};

class ParquetColumnWriter {
 public:
  ParquetColumnWriter(TypedColumn column, ParquetCompressor* compressor);

  // One of these for each row; between begin_list() and end_list() any number of the first three.
  // Of a list column put_null() outside is a list that is not there.
  void put_null();
  // The value's own bits: sign-extended, or of float and double.
  void put_number(uint64_t bits) {
    put_value_level();
    if (has_last_ && bits == last_number_) return indices_.push_back(last_index_);
    put_other_number(bits);
  }
  void put_text(std::string_view text);
  void begin_list();
  void end_list();

  // At the end of a row, of some at least: a full page is made.
  void end_row() {
    if (levels_ >= kPageValues || plain_.size() >= kPageBytes) end_page();
  }
  // Moves the chunk's pages behind `out`, which stands at `offset` of the file, and writes its
  // ColumnChunk. The column is then empty.
  void end_chunk(std::string* out, uint64_t offset, ThriftCompact* metadata, uint64_t* unpacked);

  const TypedColumn& column() const { return column_; }
  size_t memory() const;
  uint64_t entries() const { return entries_ + levels_; }  // rows, and more than these of a list
  static int physical_type(ColumnType type);

 private:
  static constexpr uint32_t kPageValues = 32768;
  static constexpr size_t kPageBytes = 256 << 10;
  static constexpr size_t kMaxNumbers = 65536, kMaxTextBytes = 1 << 20, kMaxStatistic = 64;

  bool is_text() const { return column_.type == ColumnType::kText; }
  bool is_wide() const { return physical_type(column_.type) == 2 || is_double(); }
  bool is_double() const { return column_.type == ColumnType::kDouble; }
  uint32_t max_definition() const { return column_.is_list ? 3 : column_.is_required ? 0 : 1; }
  void put_level(uint32_t definition);
  void put_value_level() {
    if (column_.is_list || !definitions_.empty()) return put_level(max_definition());
    levels_++;
  }
  void put_other_number(uint64_t bits);
  void put_plain_number(std::string* out, uint64_t bits) const;
  static void put_plain_text(std::string* out, std::string_view text);
  bool number_less(uint64_t a, uint64_t b) const;
  void count_number(uint64_t bits);
  void count_text(std::string_view text);
  void leave_dictionary();
  void end_page();
  void put_levels(std::string* page) const;
  int put_values(std::string* page);
  void put_page(std::string* out, std::string_view page, size_t values, bool is_dictionary,
                int encoding);
  std::string dictionary_page() const;
  void put_statistics(ThriftCompact* metadata) const;
  std::string plain_bound(uint64_t bits, bool is_min) const;
  void clear();

  TypedColumn column_;
  ParquetCompressor* compressor_;
  bool in_list_ = false, is_first_ = false;

  // The page. Levels are kept only from the first one on that is not the usual one.
  uint32_t levels_ = 0, page_nulls_ = 0;
  std::vector<uint32_t> definitions_, repetitions_;
  std::vector<uint32_t> indices_;
  std::vector<int64_t> times_;
  std::string plain_;
  // The chunk.
  bool by_dictionary_ = true, has_indices_ = false, has_plain_ = false;
  NumberDictionary numbers_;
  TextDictionary texts_;
  std::string pages_;
  uint64_t entries_ = 0, nulls_ = 0, unpacked_ = 0;
  // Of its values.
  bool has_bounds_ = false, bounds_unknown_ = false;
  uint64_t min_ = 0, max_ = 0;
  std::string min_text_, max_text_;
  // The value before: values of events repeat.
  bool has_last_ = false;
  uint64_t last_number_ = 0;
  uint32_t last_index_ = 0;
  std::string page_, header_;  // kept for their memory
};

}  // namespace patchbay
