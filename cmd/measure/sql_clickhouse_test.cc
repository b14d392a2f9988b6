// SPDX-License-Identifier: MIT
#include "cmd/measure/sql_clickhouse.h"

#include <gtest/gtest.h>

namespace patchbay::cmd {
namespace {

const ServerColumns kColumns{{"size", "UInt64"},          {"ts", "UInt64"},
                             {"comm", "String"},          {"pid", "Int32"},
                             {"field_pid", "Int32"},      {"function", "Nullable(String)"},
                             {"word", "Nullable(String)"}};

// The statement, or the error and its place.
std::string translated(const std::string& statement) {
  SqlParse parse = parse_sql(statement);
  if (!parse.query) return "not parsed: " + parse.error->text;
  SqlAt made = sql_at(*parse.query, "d", "s__e", kColumns);
  if (made.statement) return *made.statement;
  return std::to_string(made.error->position) + ": " + made.error->text;
}

TEST(SqlAt, CountsByTheKeys) {
  const std::string from = ", count() AS `hitcount` FROM `d`.`s__e`";
  const std::pair<const char*, std::string> kStatements[] = {
      {"SELECT size FROM e",
       "SELECT `size` AS `size`" + from + " GROUP BY `size` ORDER BY `hitcount` DESC, `size`"},
      {"SELECT comm, CAST(size AS _COUNTER_) AS sum FROM e WHERE size > 0x10 AND NOT word ~ 'a*_'",
       "SELECT `comm` AS `comm`, sum(`size`) AS `sum`" + from +
           " WHERE (`size` > 16 AND NOT (`word` LIKE 'a%\\\\_')) GROUP BY `comm` ORDER BY "
           "`hitcount` DESC, `comm`"},
      {"SELECT pid FROM e WHERE word = \"it's\" OR size & 4",
       "SELECT `field_pid` AS `pid_`" + from +
           " WHERE (`word` = 'it\\'s' OR bitAnd(`size`, 4) != 0) GROUP BY `pid_` ORDER BY "
           "`hitcount` DESC, `pid_`"},
      {"SELECT size / 2 + 1 AS half FROM e",
       "SELECT (intDiv(`size`, 2) + 1) AS `half`" + from +
           " GROUP BY `half` ORDER BY `hitcount` DESC, `half`"},
      {"SELECT CAST(size AS BUCKETS=10) AS b, CAST(size AS QUANTILES) AS q FROM e",
       "SELECT intDiv(`size`, 10) * 10 AS `b`, quantiles(0.5, 0.9, 0.99)(`size`) AS `q`" + from +
           " GROUP BY `b` ORDER BY `hitcount` DESC, `b`"},
      {"SELECT CAST(function AS SYM) AS f FROM e",
       "SELECT `function` AS `f`" + from + " GROUP BY `f` ORDER BY `hitcount` DESC, `f`"},
  };
  for (const auto& [statement, wanted] : kStatements) EXPECT_EQ(wanted, translated(statement));
}

TEST(SqlAt, NamesWhatCannotBeDone) {
  EXPECT_EQ(
      0u, translated("SELECT a.size FROM e AS a JOIN e AS b ON a.size = b.size").find("31: JOIN"));
  EXPECT_EQ("7: 'none' is no column of `d`.`s__e`", translated("SELECT none FROM e"));
  EXPECT_EQ("7: the server has no names for CAST AS SYSCALL",
            translated("SELECT CAST(size AS SYSCALL) FROM e"));
  EXPECT_EQ("27: the server has no patterns with brackets",
            translated("SELECT size FROM e WHERE   word ~ '[ab]'"));
  EXPECT_EQ("7: one item at least must not be a value",
            translated("SELECT CAST(size AS _COUNTER_) FROM e"));
}

TEST(SqlAt, FindsTheTable) {
  const std::vector<std::string> tables{"s__e", "s__e_all", "t__f", "u__f", "patchbay_losses"};
  EXPECT_EQ("s__e_all", sql_at_table({{"e"}, "", 0}, tables).name);
  EXPECT_EQ("t__f", sql_at_table({{"t", "f"}, "", 0}, tables).name);
  EXPECT_EQ("'f' is an event of several systems: t__f, u__f; write SYSTEM.EVENT",
            sql_at_table({{"f"}, "", 3}, tables).error->text);
  EXPECT_EQ("the server has no table of the event 'g'",
            sql_at_table({{"g"}, "", 3}, tables).error->text);
}

}  // namespace
}  // namespace patchbay::cmd
