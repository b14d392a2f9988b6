// SPDX-License-Identifier: MIT
#include "export/sqlite/sqlite_sink.h"

#include <algorithm>
#include <set>

#include "base/unique_names.h"
#include "export/export_formats.h"
#include "output/text_put.h"
#include "output/trace_line.h"

namespace patchbay {
namespace {

constexpr size_t kMostColumns = 1990;  // of SQLite's 2000

const char* sql_type(const TypedColumn& column) {
  if (column.is_list || column.type == ColumnType::kText) return "TEXT";
  const bool is_real = column.type == ColumnType::kFloat || column.type == ColumnType::kDouble;
  return is_real ? "REAL" : "INTEGER";
}

double real_of(ColumnType type, uint64_t bits) {
  return type == ColumnType::kFloat ? double(std::bit_cast<float>(uint32_t(bits)))
                                    : std::bit_cast<double>(bits);
}

// The next column of an INSERT, each time.
class SqliteRow {
 public:
  SqliteRow(SqliteInsert* insert, const std::vector<TypedColumn>& columns)
      : insert_(insert), columns_(columns) {}
  void number(uint64_t bits) {
    const ColumnType type = columns_[at_].type;
    const bool is_real = type == ColumnType::kFloat || type == ColumnType::kDouble;
    if (in_list_) return element(type, bits, is_real);
    if (at_ < kMostColumns)
      is_real ? insert_->put_real(int(at_), real_of(type, bits))
              : insert_->put_number(int(at_), int64_t(bits));
    at_++;
  }
  void text(std::string_view text) {
    if (in_list_) {
      separate();
      return append_json_string(&list_, text);
    }
    if (at_ < kMostColumns) insert_->put_text(int(at_), text);
    at_++;
  }
  void null() {
    if (in_list_) {
      separate();
      list_ += "null";
      return;
    }
    if (at_ < kMostColumns) insert_->put_null(int(at_));
    at_++;
  }
  void begin_list() {
    in_list_ = true;
    list_ = "[";
  }
  void end_list() {
    list_ += ']';
    in_list_ = false;
    text(list_);
  }

 private:
  void separate() {
    if (list_.size() > 1) list_ += ',';
  }
  void element(ColumnType type, uint64_t bits, bool is_real) {
    separate();
    if (is_real) {
      const double value = real_of(type, bits);
      if (value - value != 0) {
        list_ += "null";  // JSON has neither infinities nor NaN
      } else {
        put_float(&list_, value);
      }
    } else if (is_unsigned(type)) {
      put_number(&list_, bits);
    } else {
      put_number(&list_, int64_t(bits));
    }
  }

  SqliteInsert* insert_;
  const std::vector<TypedColumn>& columns_;
  size_t at_ = 0;
  bool in_list_ = false;
  std::string list_;
};

}  // namespace

Result<std::unique_ptr<SqliteSink>> SqliteSink::create(const std::string& path) {
  std::unique_ptr<SqliteSink> sink(new SqliteSink);
  PB_ASSIGN(sink->file_, SqliteFile::create(path));
  return sink;
}

Status SqliteSink::begin(const ExportMeta& meta, ExportSource* source) {
  meta_ = &meta;
  source_ = source;
  events_ = std::make_unique<EventTables>(meta, source);
  threads_ = {meta.threads.begin(), meta.threads.end()};
  std::set<std::pair<std::string, std::string>> known;
  std::string room;
  for (const auto& schema : source->schemas()) {
    const std::string name = UniqueNames::lower(as_utf8(schema->name, &room));
    if (known.emplace(schema->system, name).second) systems_of_[name]++;
  }
  PB_TRY(
      file_->run("CREATE TABLE events (\"table\" TEXT, system TEXT, event TEXT, rows INTEGER);"
                 "CREATE TABLE processes (pid INTEGER, name TEXT, exe TEXT, host TEXT);"
                 "CREATE TABLE threads (tid INTEGER, pid INTEGER, comm TEXT, host TEXT);"
                 "CREATE TABLE losses (ts INTEGER, cpu INTEGER, lost INTEGER);"
                 "CREATE TABLE stacks (id INTEGER, depth INTEGER, name TEXT, address INTEGER,"
                 " PRIMARY KEY (id, depth)) WITHOUT ROWID;"
                 "CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID"));
  PB_ASSIGN(losses_, file_->insert_into("losses", 3));
  PB_ASSIGN(stacks_, file_->insert_into("stacks", 4));
  return {};
}

std::string SqliteSink::table_name(const ExportSchema* schema) {
  if (!schema) return names_.unique("unknown");
  std::string room;
  std::string name(as_utf8(schema->name, &room));
  if (systems_of_[UniqueNames::lower(name)] > 1)
    name = std::string(as_utf8(schema->system, &room)) + ":" + name;
  // SQLite keeps such names for itself.
  if (UniqueNames::lower(name).starts_with("sqlite_")) name = "event_" + name;
  return names_.unique(name);
}

Status SqliteSink::schema(const ExportSchema& schema) { return add_table(&schema); }

Status SqliteSink::add_table(const ExportSchema* schema) {
  const size_t index = schema ? schema->index + 1 : 0;
  if (index >= tables_.size()) tables_.resize(index + 1);
  auto table = std::make_unique<Table>();
  std::string room;
  table->name = table_name(schema);
  table->system = schema ? as_utf8(schema->system, &room) : "";
  table->event = schema ? as_utf8(schema->name, &room) : "";
  table->columns = events_->head_columns();
  for (TypedColumn& column : events_->columns(schema, {"stack"}))
    table->columns.push_back(std::move(column));
  const size_t columns = std::min(table->columns.size(), kMostColumns);
  left_out_fields_ += table->columns.size() - columns;
  std::string sql = "CREATE TABLE " + sql_name(table->name) + " (";
  for (size_t i = 0; i < columns; i++)
    sql += sql_name(table->columns[i].name) + " " + sql_type(table->columns[i]) + ", ";
  PB_TRY(file_->run(sql + "stack INTEGER)"));
  PB_ASSIGN(table->insert, file_->insert_into(table->name, columns + 1));
  tables_[index] = std::move(table);
  return {};
}

Status SqliteSink::put_stack(const ExportEvent& event, int64_t* id) {
  std::string key(reinterpret_cast<const char*>(event.stack.data()), event.stack.size_bytes());
  key.append(reinterpret_cast<const char*>(&event.input), sizeof event.input);
  key.append(reinterpret_cast<const char*>(&event.kernel_frames), sizeof event.kernel_frames);
  if (const auto found = stack_ids_.find(key); found != stack_ids_.end()) {
    *id = found->second;
    return {};
  }
  if (stack_ids_.size() >= kMostStacks) stack_ids_.clear();
  *id = stack_ids_[key] = ++last_stack_;
  for (size_t i = 0; i < event.stack.size(); i++) {
    stacks_.put_number(0, *id);
    stacks_.put_number(1, int64_t(i));
    stacks_.put_text(2, events_->frame(event, i));
    stacks_.put_number(3, int64_t(event.stack[i]));
    PB_TRY(stacks_.insert(file_.get()));
  }
  return {};
}

Status SqliteSink::event(const ExportEvent& event) {
  if (event.record.empty()) return {};  // the end of a call that has no record
  const size_t index = event.schema ? event.schema->index + 1 : 0;
  if (index == 0 && (tables_.empty() || !tables_[0])) PB_TRY(add_table(nullptr));
  if (event.thread && event.thread->index >= threads_.size())
    threads_.resize(event.thread->index + 1);
  if (event.thread) threads_[event.thread->index] = event.thread;
  Table& table = *tables_[index];
  SqliteRow row(&table.insert, table.columns);
  events_->put_head(event, row);
  events_->put(event, row);
  const int last = int(std::min(table.columns.size(), kMostColumns));
  if (event.stack.empty()) {
    table.insert.put_null(last);
  } else {
    int64_t id = 0;
    PB_TRY(put_stack(event, &id));
    table.insert.put_number(last, id);
    table.has_stacks = true;
  }
  table.rows++;
  return table.insert.insert(file_.get());
}

Status SqliteSink::loss(const ExportEvent& event) {
  losses_.put_number(0, int64_t(event.ns));
  losses_.put_number(1, event.cpu);
  event.lost == kLostUnknown ? losses_.put_null(2) : losses_.put_number(2, int64_t(event.lost));
  return losses_.insert(file_.get());
}

Status SqliteSink::write_threads() {
  PB_ASSIGN(SqliteInsert threads, file_->insert_into("threads", 4));
  PB_ASSIGN(SqliteInsert processes, file_->insert_into("processes", 4));
  std::set<const ExportProcess*> known{meta_->processes.begin(), meta_->processes.end()};
  std::string room;
  const auto put_host = [&](SqliteInsert* insert, const ExportProcess* process) {
    process && process->host < meta_->hosts.size()
        ? insert->put_text(3, as_utf8(meta_->hosts[process->host], &room))
        : insert->put_null(3);
  };
  for (const ExportThread* thread : threads_) {
    if (!thread) continue;
    const ExportProcess* process = thread->process;
    threads.put_number(0, thread->tid);
    process && process->is_known ? threads.put_number(1, process->pid) : threads.put_null(1);
    threads.put_text(2, as_utf8(thread->comm, &room));
    put_host(&threads, process);
    PB_TRY(threads.insert(file_.get()));
    if (process && process->is_known) known.insert(process);
  }
  for (const ExportProcess* process : known) {
    processes.put_number(0, process->pid);
    processes.put_text(1, as_utf8(process->name, &room));
    process->exe.empty() ? processes.put_null(2)
                         : processes.put_text(2, as_utf8(process->exe, &room));
    put_host(&processes, process);
    PB_TRY(processes.insert(file_.get()));
  }
  return {};
}

Status SqliteSink::write_meta(const ExportStats& stats) {
  PB_ASSIGN(SqliteInsert meta, file_->insert_into("meta", 2));
  std::string inputs, room;
  for (const ExportInputInfo& input : meta_->inputs)
    inputs += (inputs.empty() ? "" : "\n") + input.path;
  uint64_t lost = 0;
  for (const auto& [cpu, number] : stats.lost_by_cpu) lost += number;
  const std::pair<const char*, std::string> values[] = {
      {"made_by", "patchbay " PATCHBAY_VERSION},
      {"inputs", std::string(as_utf8(inputs, &room))},
      {"clock", meta_->inputs.empty() ? "" : meta_->inputs[0].clock},
      {"cpus", std::to_string(meta_->nr_cpus)},
      {"events", std::to_string(stats.events)},
      {"first_ts", std::to_string(stats.first_ns)},
      {"last_ts", std::to_string(stats.last_ns)},
      {"lost", std::to_string(lost)},
      {"lost_is_at_least", stats.lost_at_least ? "1" : "0"},
      {"damaged_pages", std::to_string(stats.damaged_pages)},
      {"left_out_fields", std::to_string(left_out_fields_)},
  };
  for (const auto& [key, value] : values) {
    meta.put_text(0, key);
    meta.put_text(1, value);
    PB_TRY(meta.insert(file_.get()));
  }
  return {};
}

Status SqliteSink::write_events() {
  PB_ASSIGN(SqliteInsert events, file_->insert_into("events", 4));
  for (const auto& table : tables_) {
    if (!table) continue;
    events.put_text(0, table->name);
    events.put_text(1, table->system);
    events.put_text(2, table->event);
    events.put_number(3, int64_t(table->rows));
    PB_TRY(events.insert(file_.get()));
  }
  return {};
}

Status SqliteSink::make_indexes() {
  for (const auto& table : tables_) {
    if (!table) continue;
    table->insert = {};
    PB_TRY(file_->run("CREATE INDEX " + sql_name(names_.unique("ts of " + table->name)) + " ON " +
                      sql_name(table->name) + " (ts)"));
  }
  return {};
}

Status SqliteSink::end(const ExportStats& stats) {
  losses_ = {};
  stacks_ = {};
  PB_TRY(write_threads());
  PB_TRY(write_meta(stats));
  PB_TRY(write_events());
  PB_TRY(make_indexes());
  return file_->finish();
}

std::vector<std::string> SqliteSink::notes() const {
  if (!left_out_fields_) return {};
  return {std::to_string(left_out_fields_) +
          " fields are left out: a table of SQLite has 2000 columns at most"};
}

Result<std::unique_ptr<ExportSink>> make_sqlite_sink(const ExportSettings& settings) {
  PB_TRY(needs_a_place(settings, "sqlite"));
  return as_export_sink(SqliteSink::create(settings.path));
}

}  // namespace patchbay
