// SPDX-License-Identifier: MIT
#include "ship/ship_table.h"

#include <cerrno>
#include <cstdio>

#include "base/text.h"

namespace patchbay {
namespace {

constexpr size_t kMostName = 120;  // a table's name is a file's name, with what the server adds

const char* name_of(ColumnType type) {
  switch (type) {
    case ColumnType::kInt8:
      return "Int8";
    case ColumnType::kInt16:
      return "Int16";
    case ColumnType::kInt32:
      return "Int32";
    case ColumnType::kInt64:
      return "Int64";
    case ColumnType::kUint8:
      return "UInt8";
    case ColumnType::kUint16:
      return "UInt16";
    case ColumnType::kUint32:
      return "UInt32";
    case ColumnType::kUint64:
    case ColumnType::kTimestamp:
      return "UInt64";
    case ColumnType::kFloat:
      return "Float32";
    case ColumnType::kDouble:
      return "Float64";
    case ColumnType::kText:
      break;
  }
  return "String";
}

uint64_t fnv1a(std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) hash = (hash ^ uint8_t(c)) * 0x100000001b3;
  return hash;
}

// Numbers are never null: what a record was cut before is 0. Texts may be.
ShipColumn column_of(const TypedColumn& typed) {
  ShipColumn column{typed.name, typed.type, ShipKind::kPlain};
  if (typed.is_list)
    column.kind = ShipKind::kArray;
  else if (typed.type == ColumnType::kText && !typed.is_required)
    column.kind = ShipKind::kNullable;
  return column;
}

std::set<std::string> head_names() {
  std::set<std::string> names{"stack"};
  for (const ShipColumn& column : ShipTable::head()) names.insert(column.name);
  return names;
}

std::string column_list(const ShipTable& table) {
  std::string list;
  for (const ShipColumn& column : table.columns)
    list += (list.empty() ? "" : ", ") + quote_identifier(column.name);
  return list;
}

std::string place_of(std::string_view database, const ShipTable& table) {
  return quote_identifier(database) + "." + quote_identifier(table.name);
}

}  // namespace

std::string ShipColumn::declared() const {
  const std::string name = name_of(type);
  switch (kind) {
    case ShipKind::kPlain:
      break;
    case ShipKind::kNullable:
      return "Nullable(" + name + ")";
    case ShipKind::kArray:
      return "Array(" + name + ")";
    case ShipKind::kUuid:
      return "UUID";
    case ShipKind::kDate:
      return "Date";
  }
  return name;
}

std::vector<ShipColumn> ShipTable::head() {
  return {{"host", ColumnType::kText},
          {"boot_id", ColumnType::kUint64, ShipKind::kUuid},
          {"pid", ColumnType::kInt32},
          {"tid", ColumnType::kInt32},
          {"comm", ColumnType::kText},
          {"exe", ColumnType::kText},
          {"instance", ColumnType::kText},
          {"cpu", ColumnType::kUint32},
          {"ts", ColumnType::kUint64},
          {"time_ns", ColumnType::kUint64},
          {"day", ColumnType::kUint16, ShipKind::kDate},
          {"source", ColumnType::kUint64},
          {"block", ColumnType::kUint32},
          {"row", ColumnType::kUint32}};
}

size_t ShipTable::nr_head() { return 14; }

std::string ship_table_name(std::string_view system, std::string_view event) {
  const std::string whole = std::string(system) + "__" + std::string(event);
  std::string name;
  for (const char c : whole) name += is_name_char(c) ? c : '_';
  bool is_plain = name == whole && !system.empty() && !event.empty() &&
                  system.find("__") == system.npos && !system.ends_with('_') &&
                  !event.starts_with('_') && name.size() <= kMostName;
  if (is_digit(name[0])) name.insert(0, "_"), is_plain = false;
  if (is_plain) return name;
  char hash[20];
  std::snprintf(
      hash, sizeof hash, "__%016llx",
      static_cast<unsigned long long>(fnv1a(std::string(system) + '\0' + std::string(event))));
  return name.substr(0, kMostName) + hash;
}

ShipTable ship_table_of(const EventTables& events, const ExportSchema* schema) {
  ShipTable table;
  if (schema) table.system = schema->system, table.event = schema->name;
  table.name = schema ? ship_table_name(schema->system, schema->name) : "patchbay_unknown";
  table.columns = ShipTable::head();
  for (const TypedColumn& column : events.columns(schema, head_names()))
    table.columns.push_back(column_of(column));
  table.columns.push_back({"stack", ColumnType::kText, ShipKind::kArray});
  return table;
}

ShipTable ship_losses_table() {
  ShipTable table;
  table.name = kLossesTable;
  table.columns = ShipTable::head();
  for (const char* name : {"event", "reason"}) table.columns.push_back({name, ColumnType::kText});
  table.columns.push_back({"lost", ColumnType::kUint64});
  table.columns.push_back({"at_least", ColumnType::kUint8});
  return table;
}

std::string quote_identifier(std::string_view name) {
  std::string text = "`";
  for (const char c : name) {
    if (c == '`' || c == '\\') text += '\\';
    text += c;
  }
  return text + "`";
}

std::string quote_sql_text(std::string_view given) {
  std::string text = "'";
  for (const char c : given) {
    if (c == '\'' || c == '\\') text += '\\';
    if (c == '\0')
      text += "\\0";
    else
      text += c;
  }
  return text + "'";
}

std::string create_database_sql(std::string_view database) {
  return "CREATE DATABASE IF NOT EXISTS " + quote_identifier(database);
}

// A row that comes twice is one after the next merge: its key is which row it is.
std::string create_table_sql(std::string_view database, const ShipTable& table) {
  std::string list;
  for (const ShipColumn& column : table.columns)
    list += (list.empty() ? "" : ", ") + quote_identifier(column.name) + " " + column.declared();
  return "CREATE TABLE IF NOT EXISTS " + place_of(database, table) + " (" + list +
         ") ENGINE = ReplacingMergeTree() PARTITION BY day ORDER BY (host, source, block, row)";
}

std::string add_column_sql(std::string_view database, const ShipTable& table,
                           const ShipColumn& column) {
  return "ALTER TABLE " + place_of(database, table) + " ADD COLUMN " +
         quote_identifier(column.name) + " " + column.declared();
}

std::string insert_sql(std::string_view database, const ShipTable& table) {
  return "INSERT INTO " + place_of(database, table) + " (" + column_list(table) +
         ") FORMAT RowBinary";
}

Result<std::vector<ShipColumn>> missing_columns(std::string_view database, const ShipTable& table,
                                                const ServerColumns& there) {
  std::vector<ShipColumn> missing;
  for (const ShipColumn& column : table.columns) {
    const auto found = there.find(column.name);
    if (found == there.end()) {
      missing.push_back(column);
    } else if (found->second != column.declared() &&
               found->second != "LowCardinality(" + column.declared() + ")") {
      return user_error(
          EEXIST, "The table " + std::string(database) + "." + table.name + " has the column " +
                      column.name + " of the type " + found->second + ", and events " +
                      table.system + (table.system.empty() ? "" : ":") + table.event + " have " +
                      column.declared() + " there: rename the table, or ship to another database.");
    }
  }
  return missing;
}

}  // namespace patchbay
