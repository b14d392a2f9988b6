// SPDX-License-Identifier: MIT
//
// A recording as Parquet files for an object store, in folders that DuckDB, Spark, Trino and
// ClickHouse take as columns:
//
//   DIR/host=HOST/event=SYSTEM__EVENT/date=2026-01-31/hour=23/SOURCE.parquet
//
// SOURCE is the recording's number, in hexadecimal: the same recording replaces its files. A file
// has its name only when it is whole. In it: boot_id pid tid comm exe instance cpu ts time row, the
// fields of the event, stack; losses are rows of the event patchbay_losses.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "export/export_sink.h"
#include "export/parquet/parquet_file.h"
#include "ship/ship_convert.h"

namespace patchbay {

class ParquetPartitions : public ExportSink {
 public:
  ParquetPartitions(ShipOrigin origin, std::string directory)
      : origin_(std::move(origin)), directory_(std::move(directory)) {}

  Status begin(const ExportMeta& meta, ExportSource* source) override;
  Status schema(const ExportSchema& schema) override;
  Status event(const ExportEvent& event) override;
  Status loss(const ExportEvent& event) override;
  // As ShipConverter's; before begin() or behind it.
  Status add_loss(const ShipLoss& loss);
  Status end(const ExportStats& stats) override;
  const ShipCounts& counts() const { return counts_; }
  std::vector<std::string> notes() const override { return {}; }

 private:
  struct Table {
    std::string name;
    std::vector<TypedColumn> columns;
    std::unique_ptr<ParquetFile> file;  // of the hour
    std::string path;
    uint64_t hour = 0;
    uint32_t rows = 0;
  };
  Table* add_table(const std::string& name, const std::vector<TypedColumn>& own);
  Status open_hour(Table* table, uint64_t hour);
  Status finish_hour(Table* table);
  uint64_t wall(uint64_t ns) const {
    return origin_.has_wall ? ns + uint64_t(origin_.wall_offset) : 0;
  }

  ShipOrigin origin_;
  std::string directory_;
  ParquetCompressor compressor_;
  const ExportMeta* meta_ = nullptr;
  std::unique_ptr<EventTables> events_;
  std::map<std::string, std::unique_ptr<Table>> tables_;
  std::vector<Table*> by_schema_;
  std::map<std::string, uint32_t> made_;  // how many files of a name
  ShipCounts counts_;
  uint64_t last_ns_ = 0;
  std::string room_;
};

}  // namespace patchbay
