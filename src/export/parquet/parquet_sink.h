// SPDX-License-Identifier: MIT
//
// A directory with one Parquet file a kind of event (event_table.h has the columns), and three
// about all of them:
//
//   DIR/SYSTEM.EVENT.parquet    ts cpu tid pid comm … fields … stack
//   DIR/_threads.parquet        tid pid comm process exe host
//   DIR/_losses.parquet         ts cpu lost, null where only some are known to be missing
//   DIR/_events.parquet         file system event rows
//
// Row groups of all files together have a bound in memory; the largest one is written when it is
// reached. When something fails all files go, and the directory if it was made here.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/unique_names.h"
#include "export/event_table.h"
#include "export/export_sink.h"
#include "export/parquet/parquet_file.h"

namespace patchbay {

class ParquetSink : public ExportSink {
 public:
  static constexpr size_t kMostMemory = 64 << 20;
  // Makes the directory; one that is there may hold only what an export before has left.
  static Result<std::unique_ptr<ParquetSink>> create(const std::string& directory,
                                                     size_t most_memory = kMostMemory);
  ~ParquetSink() override;

  Status begin(const ExportMeta& meta, ExportSource* source) override;
  Status schema(const ExportSchema& schema) override;
  Status event(const ExportEvent& event) override;
  Status loss(const ExportEvent& event) override;
  Status end(const ExportStats& stats) override;

 private:
  struct Table {
    std::string name, system, event;
    std::unique_ptr<ParquetFile> file;
  };
  ParquetSink() = default;
  Result<std::unique_ptr<ParquetFile>> create_file(const std::string& name,
                                                   std::vector<TypedColumn> columns) const;
  Status add_table(const ExportSchema* schema);
  Status keep_bound();
  Status write_threads() const;
  Status write_events() const;

  std::string directory_;
  size_t most_memory_ = kMostMemory;
  bool made_directory_ = false, finished_ = false;
  std::unique_ptr<ParquetCompressor> compressor_ = std::make_unique<ParquetCompressor>();
  const ExportMeta* meta_ = nullptr;
  std::unique_ptr<EventTables> tables_of_events_;
  UniqueNames names_{{"_threads", "_losses", "_events"}};
  std::vector<std::unique_ptr<Table>> tables_;  // by the schema's index; the first: of no schema
  std::unique_ptr<ParquetFile> losses_;
  std::vector<const ExportThread*> threads_;  // by index
  uint64_t rows_ = 0;
};

}  // namespace patchbay
