// SPDX-License-Identifier: MIT
//
// The table that a kind of events is shipped to, and what a database has to be told of it.
//
//   host boot_id pid tid comm exe instance cpu   who, where
//   ts time_ns day                               when: of the recording's clock, of the wall clock
//   source block row                             which row of which shipment (ship_block.h)
//   [function] [caller] fields … [text] stack    what, as the exports have it (event_table.h)
//
// A table is named SYSTEM__EVENT. Names that would leave doubt what they mean (two underscores,
// other characters than those of C words) get a hash of the whole name at their end.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "export/event_table.h"
#include "export/typed_column.h"

namespace patchbay {

// What a ClickHouse column is declared as.
enum class ShipKind : uint8_t { kPlain, kNullable, kArray, kUuid, kDate };

struct ShipColumn {
  std::string name;
  ColumnType type = ColumnType::kInt64;
  ShipKind kind = ShipKind::kPlain;
  // "Nullable(String)", "Array(UInt8)", "UUID" …
  std::string declared() const;
};

struct ShipTable {
  std::string name;           // of the table
  std::string system, event;  // empty: not of one kind of events
  std::vector<ShipColumn> columns;

  // How many columns come before those of the event.
  static size_t nr_head();
  static std::vector<ShipColumn> head();
};

std::string ship_table_name(std::string_view system, std::string_view event);
// The table of events of a schema; null: of those that no format describes.
ShipTable ship_table_of(const EventTables& events, const ExportSchema* schema);
// host … row, instance, event, reason, lost, at_least.
ShipTable ship_losses_table();
inline constexpr std::string_view kLossesTable = "patchbay_losses";

// `name` between backquotes.
std::string quote_identifier(std::string_view name);
// `text` between single quotes.
std::string quote_sql_text(std::string_view text);

std::string create_database_sql(std::string_view database);
std::string create_table_sql(std::string_view database, const ShipTable& table);
std::string add_column_sql(std::string_view database, const ShipTable& table,
                           const ShipColumn& column);
// The head of an INSERT of rows in RowBinary.
std::string insert_sql(std::string_view database, const ShipTable& table);

// Columns that are there: name and type, as the server says it.
using ServerColumns = std::map<std::string, std::string, std::less<>>;
// Those that the table lacks. EEXIST with a sentence that names the column: there is one of this
// name and another type.
Result<std::vector<ShipColumn>> missing_columns(std::string_view database, const ShipTable& table,
                                                const ServerColumns& there);

}  // namespace patchbay
