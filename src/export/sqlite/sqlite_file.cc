// SPDX-License-Identifier: MIT
#include "export/sqlite/sqlite_file.h"

#include <fcntl.h>

#include <cerrno>

namespace patchbay {

std::string sql_name(std::string_view name) {
  std::string out = "\"";
  for (const char c : name) {
    if (c == '"') out += '"';
    if (c != '\0') out += c;
  }
  return out + '"';
}

Error SqliteFile::error(const std::string& what) const {
  const int code = sqlite3_errcode(database_);
  if ((code & 0xff) == SQLITE_FULL) return sys_error(what + " " + path_, ENOSPC);
  if (const int number = sqlite3_system_errno(database_); (code & 0xff) == SQLITE_IOERR && number)
    return sys_error(what + " " + path_, number);
  return user_error(EIO, what + " " + path_ + ": " + sqlite3_errmsg(database_) + ".");
}

Result<std::unique_ptr<SqliteFile>> SqliteFile::create(const std::string& path) {
  std::unique_ptr<SqliteFile> file(new SqliteFile);
  file->path_ = path;
  // SQLite would add to a database that is there, and refuse other files with strange words.
  PB_ASSIGN(file->output_, OutputFile::open(path, O_WRONLY | O_TRUNC, 0644));
  if (!file->output_.is_regular())
    return user_error(EINVAL, path +
                                  " is not a regular file, and SQLite writes its pages in no "
                                  "order: give -o FILE.");
  // SQLite opens by name. It goes by the directory that we hold, and follows no link.
  const std::string name = file->output_.real_path();
  if (sqlite3_open_v2(name.c_str(), &file->database_, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOFOLLOW,
                      nullptr) != SQLITE_OK)
    return file->error("open");
  PB_TRY(
      file->run("PRAGMA page_size = 16384; PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;"
                "PRAGMA locking_mode = EXCLUSIVE; PRAGMA cache_size = -32768;"
                "PRAGMA temp_store = FILE; PRAGMA encoding = 'UTF-8'; BEGIN"));
  return file;
}

SqliteFile::~SqliteFile() {
  sqlite3_close_v2(database_);
  if (output_.is_regular() && !finished_) output_.remove();
}

Status SqliteFile::run(const std::string& sql) {
  if (sqlite3_exec(database_, sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK)
    return error("write");
  return {};
}

Result<SqliteInsert> SqliteFile::insert_into(const std::string& table, size_t columns) {
  std::string sql = "INSERT INTO " + sql_name(table) + " VALUES (";
  for (size_t i = 0; i < columns; i++) sql += i ? ",?" : "?";
  SqliteInsert insert;
  if (sqlite3_prepare_v3(database_, (sql + ")").c_str(), -1, SQLITE_PREPARE_PERSISTENT,
                         &insert.statement_, nullptr) != SQLITE_OK)
    return error("write");
  return insert;
}

Status SqliteInsert::insert(SqliteFile* file) {
  const int result = sqlite3_step(statement_);
  sqlite3_reset(statement_);
  return result == SQLITE_DONE ? Status() : file->error("write");
}

Status SqliteFile::finish() {
  PB_TRY(run("COMMIT"));
  if (sqlite3_close(database_) != SQLITE_OK) return error("close");
  database_ = nullptr;
  PB_TRY(output_.finish());
  finished_ = true;
  return {};
}

}  // namespace patchbay
