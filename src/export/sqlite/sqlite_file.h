// SPDX-License-Identifier: MIT
//
// A new SQLite file, filled in one transaction. It has no journal: a file that is not finished is
// removed, so that there is nothing to roll back to.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/output_file.h"
#include "base/result.h"

namespace patchbay {

// "name", with its quotes doubled.
std::string sql_name(std::string_view name);

class SqliteFile;

// A prepared INSERT: values from 0 on, then insert().
class SqliteInsert {
 public:
  SqliteInsert() = default;
  SqliteInsert(SqliteInsert&& other) noexcept : statement_(std::exchange(other.statement_, {})) {}
  SqliteInsert& operator=(SqliteInsert&& other) noexcept {
    std::swap(statement_, other.statement_);
    return *this;
  }
  ~SqliteInsert() { sqlite3_finalize(statement_); }

  void put_number(int column, int64_t value) { sqlite3_bind_int64(statement_, column + 1, value); }
  void put_real(int column, double value) { sqlite3_bind_double(statement_, column + 1, value); }
  void put_text(int column, std::string_view text) {
    sqlite3_bind_text64(statement_, column + 1, text.data() ? text.data() : "", text.size(),
                        SQLITE_TRANSIENT, SQLITE_UTF8);
  }
  void put_null(int column) { sqlite3_bind_null(statement_, column + 1); }
  Status insert(SqliteFile* file);

 private:
  friend class SqliteFile;
  sqlite3_stmt* statement_ = nullptr;
};

class SqliteFile {
 public:
  // Makes (or empties) `path`.
  static Result<std::unique_ptr<SqliteFile>> create(const std::string& path);
  ~SqliteFile();

  Status run(const std::string& sql);
  // INSERT INTO `table` with this many values.
  Result<SqliteInsert> insert_into(const std::string& table, size_t columns);
  // Ends the transaction. Every SqliteInsert is gone by then.
  Status finish();

  Error error(const std::string& what) const;

 private:
  SqliteFile() = default;
  std::string path_;
  sqlite3* database_ = nullptr;
  OutputFile output_;
  bool finished_ = false;
};

}  // namespace patchbay
