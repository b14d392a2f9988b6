// SPDX-License-Identifier: MIT
#include "ship/ship_table.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <set>

#include "base/text.h"
#include "export/export_testing.h"

namespace patchbay {
namespace {

TEST(ShipTableName, SaysSystemAndEvent) {
  EXPECT_EQ("functions__malloc", ship_table_name("functions", "malloc"));
  EXPECT_EQ("my_app__request_done", ship_table_name("my_app", "request_done"));
}

// Two kinds of events never share a table, whatever they are called.
TEST(ShipTableName, IsOneEventsAlone) {
  const std::pair<const char*, const char*> kNames[] = {
      {"a", "b__c"}, {"a__b", "c"},   {"a_", "b"},     {"a", "_b"}, {"a.b", "c"}, {"a_b", "c"},
      {"a-b", "c"},  {"", "c"},       {"c", ""},       {"A", "b"},  {"a", "b"},   {"1a", "b"},
      {"_1a", "b"},  {"a", "f<int>"}, {"a", "f(int)"}, {"a", "f`"}, {"a\n", "b"}, {"a", "b_c"}};
  std::set<std::string> made;
  for (const auto& [system, event] : kNames) {
    const std::string name = ship_table_name(system, event);
    EXPECT_TRUE(made.insert(name).second) << name;
    for (const char c : name) EXPECT_TRUE(is_name_char(c)) << name;
    EXPECT_TRUE(is_name_start(name[0])) << name;
  }
  const std::string long_one(5000, 'x'), other = long_one + "y";
  EXPECT_NE(ship_table_name("s", long_one), ship_table_name("s", other));
  EXPECT_LT(ship_table_name("s", long_one).size(), 160u);
}

TEST(ShipColumn, IsDeclaredByItsType) {
  const std::pair<ShipColumn, const char*> kColumns[] = {
      {{"c", ColumnType::kInt8}, "Int8"},
      {{"c", ColumnType::kInt16}, "Int16"},
      {{"c", ColumnType::kInt32}, "Int32"},
      {{"c", ColumnType::kInt64}, "Int64"},
      {{"c", ColumnType::kUint8}, "UInt8"},
      {{"c", ColumnType::kUint16}, "UInt16"},
      {{"c", ColumnType::kUint32}, "UInt32"},
      {{"c", ColumnType::kUint64}, "UInt64"},
      {{"c", ColumnType::kTimestamp}, "UInt64"},
      {{"c", ColumnType::kFloat}, "Float32"},
      {{"c", ColumnType::kDouble}, "Float64"},
      {{"c", ColumnType::kText}, "String"},
      {{"c", ColumnType::kText, ShipKind::kNullable}, "Nullable(String)"},
      {{"c", ColumnType::kUint16, ShipKind::kArray}, "Array(UInt16)"},
      {{"c", ColumnType::kUint64, ShipKind::kUuid}, "UUID"},
      {{"c", ColumnType::kUint16, ShipKind::kDate}, "Date"},
  };
  for (const auto& [column, declared] : kColumns) EXPECT_EQ(declared, column.declared());
}

TEST(ShipTable, IsMadeOfTheFormat) {
  ExportInput input;
  ASSERT_TRUE(test::export_input_of(test::make_trace_dat(7, {test::some_of_each()}), &input));
  std::vector<ExportInput> inputs;
  inputs.push_back(std::move(input));
  auto source = ExportSource::open(std::move(inputs));
  ASSERT_TRUE(source.ok());
  EventTables events((*source)->meta(), source->get());
  std::map<std::string, std::string> declared;
  for (const auto& schema : (*source)->schemas()) {
    const ShipTable table = ship_table_of(events, schema.get());
    std::string text;
    for (size_t i = ShipTable::nr_head(); i < table.columns.size(); i++)
      text += table.columns[i].name + " " + table.columns[i].declared() + ", ";
    declared[table.name] = text;
  }
  EXPECT_EQ("price Int32, kind UInt8, rate Float64, list Array(UInt16), stack Array(String), ",
            declared["shop__sold"]);
  EXPECT_EQ(
      "function Nullable(String), caller Nullable(String), __parent_ip UInt64, __ip UInt64, "
      "s Nullable(String), name Nullable(String), stack Array(String), ",
      declared["functions__f"]);
  EXPECT_EQ(ShipTable::head().size(), ShipTable::nr_head());
}

TEST(ShipSql, QuotesWhatItIsGiven) {
  EXPECT_EQ("`a\\`b\\\\`", quote_identifier("a`b\\"));
  EXPECT_EQ("'it\\'s\\\\'", quote_sql_text("it's\\"));
  EXPECT_EQ("'\\0'", quote_sql_text(std::string_view("\0", 1)));
  const ShipTable table{"t`", "s", "e", {{"c`", ColumnType::kInt32}}};
  EXPECT_EQ(
      "CREATE TABLE IF NOT EXISTS `d`.`t\\`` (`c\\`` Int32) ENGINE = ReplacingMergeTree() "
      "PARTITION BY day ORDER BY (host, source, block, row)",
      create_table_sql("d", table));
  EXPECT_EQ("INSERT INTO `d`.`t\\`` (`c\\``) FORMAT RowBinary", insert_sql("d", table));
  EXPECT_EQ("ALTER TABLE `d`.`t\\`` ADD COLUMN `c\\`` Int32",
            add_column_sql("d", table, table.columns[0]));
}

TEST(ShipSql, FindsWhatATableLacks) {
  const ShipTable table{
      "t",
      "s",
      "e",
      {{"a", ColumnType::kInt32}, {"b", ColumnType::kText}, {"c", ColumnType::kUint8}}};
  auto missing = missing_columns("d", table, {{"a", "Int32"}, {"b", "LowCardinality(String)"}});
  ASSERT_TRUE(missing.ok());
  ASSERT_EQ(1u, missing->size());
  EXPECT_EQ("c", (*missing)[0].name);
  missing = missing_columns("d", table, {{"a", "Int64"}});
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(EEXIST, missing.error().errno_value);
  EXPECT_NE(std::string::npos, missing.error().message().find("d.t has the column a of the type"));
}

}  // namespace
}  // namespace patchbay
