// SPDX-License-Identifier: MIT
//
// Writing one Parquet file.
//
//   PAR1  row group: column chunk, column chunk …  row group …  FileMetaData  its size  PAR1
//
// A row group stands in memory, compressed, until it is ended. The file is open only while one is
// written, so that a recording may have thousands of kinds of events. A file that is not finished
// is removed: nobody takes half a table for a whole one.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/output_file.h"
#include "base/result.h"
#include "export/parquet/parquet_column.h"

namespace patchbay {

struct ParquetLimits {
  uint64_t row_group_rows = 1 << 20;
  size_t row_group_bytes = 32 << 20;
};

class ParquetFile {
 public:
  using Metadata = std::vector<std::pair<std::string, std::string>>;  // of the file, key and value
  // Makes (or empties) `path`. `compressor` outlives the file.
  static Result<std::unique_ptr<ParquetFile>> create(const std::string& path,
                                                     std::vector<TypedColumn> columns,
                                                     Metadata metadata,
                                                     ParquetCompressor* compressor,
                                                     const ParquetLimits& limits = {});
  ~ParquetFile();

  // Each column gets its value, then the row is ended.
  ParquetColumnWriter& column(size_t index) { return columns_[index]; }
  Status end_row();
  // Bytes that the row group holds so far, roughly; ending it frees them.
  size_t memory() const;
  Status end_row_group();
  Status finish();
  uint64_t rows() const { return rows_ + group_rows_; }
  const std::string& path() const { return path_; }

 private:
  ParquetFile() = default;
  Status append(const std::string& bytes);
  void put_schema(ThriftCompact* footer) const;
  std::string footer() const;

  std::string path_;
  std::vector<ParquetColumnWriter> columns_;
  Metadata metadata_;
  ParquetLimits limits_;
  uint64_t offset_ = 0, rows_ = 0, group_rows_ = 0;
  std::string groups_;  // RowGroup of each, as it stands in the footer
  size_t group_count_ = 0;
  OutputFile::Id id_;  // of the file, which is closed between two pieces
  bool finished_ = false, is_regular_ = false;
};

}  // namespace patchbay
