// SPDX-License-Identifier: MIT
//
// One SQLite file with a table a kind of event (event_table.h has the columns), and tables about
// all of them:
//
//   "EVENT"         ts cpu tid pid comm … fields … stack     stack: the id of one in `stacks`
//   events          "table", system, event, rows
//   processes       pid, name, exe, host
//   threads         tid, pid, comm, host
//   losses          ts, cpu, lost (null where only some are known to be missing)
//   stacks          id, depth (0 is the innermost), name, address
//   meta            key, value
//
// A table is named by its event alone where no other system has it. SQLite's numbers have a sign:
// of an unsigned one of 64 bits, printf('%u', n) shows what it was. Lists are JSON texts, of which
// json_each() makes rows. Indexes are made at the end, of the times.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/unique_names.h"
#include "export/event_table.h"
#include "export/export_sink.h"
#include "export/sqlite/sqlite_file.h"

namespace patchbay {

class SqliteSink : public ExportSink {
 public:
  static Result<std::unique_ptr<SqliteSink>> create(const std::string& path);

  Status begin(const ExportMeta& meta, ExportSource* source) override;
  Status schema(const ExportSchema& schema) override;
  Status event(const ExportEvent& event) override;
  Status loss(const ExportEvent& event) override;
  Status end(const ExportStats& stats) override;

  std::vector<std::string> notes() const override;

 private:
  static constexpr size_t kMostStacks = 1 << 16;  // that are known again; more are written again

  struct Table {
    std::string name, system, event;
    SqliteInsert insert;
    std::vector<TypedColumn> columns;
    uint64_t rows = 0;
    bool has_stacks = false;
  };
  SqliteSink() = default;
  Status add_table(const ExportSchema* schema);
  std::string table_name(const ExportSchema* schema);
  Status put_stack(const ExportEvent& event, int64_t* id);
  Status write_threads();
  Status write_meta(const ExportStats& stats);
  Status write_events();
  Status make_indexes();

  std::unique_ptr<SqliteFile> file_;
  const ExportMeta* meta_ = nullptr;
  ExportSource* source_ = nullptr;
  std::unique_ptr<EventTables> events_;
  std::unordered_map<std::string, int> systems_of_;  // of an event's name, without case
  UniqueNames names_{{"events", "processes", "threads", "losses", "stacks", "meta"}, "event_"};
  std::vector<std::unique_ptr<Table>> tables_;  // by the schema's index + 1
  SqliteInsert losses_, stacks_;
  std::unordered_map<std::string, int64_t> stack_ids_;  // by input and addresses
  int64_t last_stack_ = 0;
  std::vector<const ExportThread*> threads_;  // by index
  uint64_t left_out_fields_ = 0;              // that a table has no room for
};

}  // namespace patchbay
