// SPDX-License-Identifier: MIT
// The columns of a row of a Parquet file, one after the other, as EventTables gives them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "export/parquet/parquet_file.h"

namespace patchbay {

// The next column of a row, each time.
class ParquetRow {
 public:
  explicit ParquetRow(ParquetFile* file) : file_(file) {}
  void number(uint64_t bits) { column().put_number(bits), next(); }
  void text(std::string_view text) { column().put_text(text), next(); }
  void null() { column().put_null(), next(); }
  void begin_list() { column().begin_list(), in_list_ = true; }
  void end_list() {
    column().end_list();
    in_list_ = false;
    at_++;
  }

 private:
  ParquetColumnWriter& column() { return file_->column(at_); }
  void next() { at_ += in_list_ ? 0 : 1; }
  ParquetFile* file_;
  size_t at_ = 0;
  bool in_list_ = false;
};

}  // namespace patchbay
