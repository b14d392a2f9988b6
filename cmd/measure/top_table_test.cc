// SPDX-License-Identifier: MIT
#include "cmd/measure/top_table.h"

#include <gtest/gtest.h>

namespace patchbay::cmd {
namespace {

constexpr char kHead[] =
    "  Function                               Hit    Time            Avg             s^2\n"
    "  --------                               ---    ----            ---             ---\n";

TEST(ParseStatLine, LinesOfTraceStat) {
  const struct {
    const char *line, *name;
    uint64_t calls, ns;  // calls 0: refused
  } table[] = {
      {"  parse                                   12    28.400 us       2.366 us        0.100 us",
       "parse", 12, 28400},
      {"  operator new                            12    28.400 us       2.366 us        0.100 us",
       "operator new", 12, 28400},
      {"  a_name_that_is_cut_at_30_charac 1234567890    1.000 us        0.0 us", "", 0, 0},
      {"  a_name_that_is_cut_at_30_chara  1234567890    1.000 us        0.0 us",
       "a_name_that_is_cut_at_30_chara", 1234567890, 1000},
      {"  a_name_that_is_cut_at_30_chara  123456789012    1.000 us        0.0 us",
       "a_name_that_is_cut_at_30_chara", 123456789012, 1000},
      {"  only_hits                                7", "only_hits", 7, 0},
      {"  Function                               Hit    Time            Avg", "", 0, 0},
      {"  --------                               ---    ----            ---", "", 0, 0},
      {"  parse                                   12    28.400 ms", "", 0, 0},
      {"  parse                                   12    -8.400 us", "", 0, 0},
      {"  parse                                   12    nan us", "", 0, 0},
      {"  parse 12 28.400 us", "", 0, 0},
      {"", "", 0, 0},
      {"                                          12    28.400 us", "", 0, 0},
  };
  for (const auto& row : table) {
    std::string name;
    TopCounts counts;
    bool ok = parse_stat_line(row.line, &name, &counts);
    EXPECT_EQ(ok, row.calls != 0) << row.line;
    if (!ok || row.calls == 0) continue;
    EXPECT_EQ(name, row.name);
    EXPECT_EQ(counts.calls, row.calls) << row.line;
    EXPECT_EQ(counts.time_ns, row.ns) << row.line;
  }
}

std::string line(const char* name, unsigned calls, double us) {
  char text[128];
  std::snprintf(text, sizeof text, "  %-30.30s  %10u    %.3f us       %.3f us        0.000 us\n",
                name, calls, us, us / calls);
  return text;
}

// "name calls/recent calls" a row
std::string show(const TopTable& table, const TopView& view) {
  std::string text;
  for (const TopRow& row : table.rows(view))
    text += row.name + " " + std::to_string(row.all.calls) + "/" +
            std::to_string(row.recent.calls) + " ";
  return text;
}

TEST(TopTable, AddsCpusAndSorts) {
  TopTable table;
  table.reset(1000000000);
  table.look(2000000000, {kHead + line("a", 10, 5), kHead + line("b", 3, 90) + line("a", 5, 5)});
  EXPECT_EQ(show(table, {}), "b 3/3 a 15/15 ");
  EXPECT_EQ(show(table, {TopSort::kCalls}), "a 15/15 b 3/3 ");
  EXPECT_EQ(show(table, {TopSort::kAverage}), "b 3/3 a 15/15 ");
  EXPECT_EQ(show(table, {TopSort::kName}), "a 15/15 b 3/3 ");
  table.begin_recent();
  table.look(3000000000, {line("b", 4, 91) + line("a", 35, 20)});
  EXPECT_EQ(show(table, {}), "b 4/1 a 35/20 ");
  EXPECT_EQ(show(table, {TopSort::kTime, true}), "a 35/20 b 4/1 ");
  table.look(4000000000, {line("b", 6, 92) + line("a", 36, 20)});  // since the look before
  EXPECT_EQ(show(table, {}), "b 6/3 a 36/21 ");
  EXPECT_EQ(table.recent_seconds(), 2);
  table.begin_recent();
  table.look(5000000000, {line("b", 1, 1)});  // somebody has set the counts to 0
  EXPECT_EQ(show(table, {}), "b 1/1 ");
}

TEST(TopTable, BeginsAtWhatWasThere) {
  TopTable table;
  table.reset(0, {line("a", 10, 5) + line("quiet", 3, 3), line("b", 9, 9)});
  table.look(1000000000,
             {line("a", 12, 6) + line("quiet", 3, 3) + line("new", 1, 1) + line("b", 2, 2)});
  EXPECT_EQ(show(table, {TopSort::kName}), "a 2/2 b 2/2 new 1/1 ");
}

TEST(TopTable, CountsThatSomebodyHasSetTo0BeginThere) {
  TopTable table;
  table.reset(0, {line("a", 100, 50) + line("gone", 5, 5)});
  table.look(1, {line("a", 30, 10)});
  EXPECT_EQ(show(table, {}), "a 30/30 ");
  table.look(2, {line("a", 130, 60) + line("gone", 7, 9)});  // above what they began at
  EXPECT_EQ(show(table, {}), "a 130/130 gone 7/7 ");
}

TEST(TopTable, BeginsAgainAtTheLastLook) {
  TopTable table;
  table.reset(0, {line("a", 10, 5)});
  table.look(1000000000, {line("a", 15, 9) + line("b", 2, 2)});
  table.restart(2000000000);
  EXPECT_EQ(show(table, {}), "");
  table.look(3000000000, {line("a", 16, 10) + line("b", 2, 2)});
  EXPECT_EQ(show(table, {}), "a 1/1 ");
  EXPECT_EQ(table.recent_seconds(), 1);
}

TEST(TopTable, NothingIsRecentOfAProcessThatHasEnded) {
  TopTable table, sum;
  table.reset(0);
  table.look(1000000000, {line("a", 10, 5)});
  for (TopTable* one : {&table, &sum}) {
    sum.look_at(1000000000, {&table});
    EXPECT_EQ(show(*one, {}), "a 10/10 ");
    one->begin_recent();
  }
  table.stay(3000000000);
  sum.look_at(3000000000, {&table});
  for (const TopTable* one : {&table, &sum}) {
    EXPECT_EQ(show(*one, {}), "a 10/0 ");
    EXPECT_EQ(one->recent_seconds(), 2);
  }
}

TEST(TopTable, WhatWasThereHasItsWholeName) {
  TopTable table;
  table.set_names("shop::Catalogue::find_by_name_or_number [libshop]\n");
  table.reset(0, {line("shop::Catalogue::find_by_name_or_number", 10, 5)});
  table.look(1, {line("shop::Catalogue::find_by_name_or_number", 12, 6)});
  EXPECT_EQ(show(table, {}), "shop::Catalogue::find_by_name_or_number 2/2 ");
}

TEST(TopTable, FiltersByPartOrGlob) {
  TopTable table;
  table.look(1, {line("db_open", 1, 1) + line("db_close", 1, 1) + line("parse", 1, 1)});
  TopView view{TopSort::kName};
  view.filter = "db";
  EXPECT_EQ(show(table, view), "db_close 1/1 db_open 1/1 ");
  view.filter = "*e";
  EXPECT_EQ(show(table, view), "db_close 1/1 parse 1/1 ");
}

TEST(TopTable, WholeNamesWhereOnlyOneFits) {
  TopTable table;
  table.set_names(
      "short\nshop::Catalogue::find_by_name_or_number [libshop]\n"
      "shop::Catalogue::remove_all_of_them_now\nshop::Catalogue::remove_all_of_them_later\n");
  table.look(1, {line("short", 1, 1) + line("shop::Catalogue::find_by_name_or_number", 1, 1) +
                 line("shop::Catalogue::remove_all_of_them_now", 1, 1)});
  EXPECT_EQ(show(table, {TopSort::kName}),
            "shop::Catalogue::find_by_name_or_number 1/1 shop::Catalogue::remove_all_of 1/1 "
            "short 1/1 ");
}

TEST(TopText, LinesAreCutToTheScreen) {
  TopTable table;
  table.reset(0);
  table.look(1000000000, {line("one\033[2J", 2, 4) + line("two", 1, 1000)});
  EXPECT_EQ(top_text(table, {}, 0, 10, 200),
            "          1          1    1.000 ms    0.1%    1.000 ms  two\n"
            "          2          2    4.000 us    0.0%    2.000 us  one\\x1b[2J\n");
  EXPECT_EQ(top_text(table, {}, 1, 1, 14), "          2   \n");
  EXPECT_EQ(top_text(table, {}, 5, 1, 14), "");
}

}  // namespace
}  // namespace patchbay::cmd
