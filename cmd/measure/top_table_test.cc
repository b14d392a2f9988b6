// SPDX-License-Identifier: MIT
#include "cmd/measure/top_table.h"

#include <gtest/gtest.h>

#include "tracer/profile_image.h"

namespace patchbay::cmd {
namespace {

using Functions = std::vector<ProfiledFunction>;

Functions line(const std::string& name, unsigned calls, double us, uint64_t place = 0x10) {
  return {{calls, uint64_t(us * 1000), place, name, "shop"}};
}

Functions operator+(Functions a, const Functions& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

// As the process gives them.
std::string image(const Functions& functions) { return profile_bytes(functions); }

TEST(ProfileImage, WhatIsReadIsWhatWasWritten) {
  const Functions all = line("ns::operator new[](unsigned long)", 12, 28.4) +
                        line("a\nb 7 8", ~0u, 0, ~uint64_t{0}) + line("", 1, 1);
  const std::string bytes = image(all);
  Result<Functions> read = parse_profile(bytes);
  ASSERT_TRUE(read.ok());
  ASSERT_EQ(read->size(), all.size());
  for (size_t i = 0; i < all.size(); i++) {
    EXPECT_EQ((*read)[i].name, all[i].name);
    EXPECT_EQ((*read)[i].calls, all[i].calls);
    EXPECT_EQ((*read)[i].time_ns, all[i].time_ns);
    EXPECT_EQ((*read)[i].place_text(), all[i].place_text());
  }
  for (size_t size = 0; size < bytes.size(); size++)
    EXPECT_FALSE(parse_profile(bytes.substr(0, size)).ok()) << size;
  EXPECT_FALSE(parse_profile(bytes + "x").ok());
  EXPECT_FALSE(parse_profile("12 28400 parse shop@0x1139\n").ok());
}

// "name calls/recent calls" a row
std::string show(const TopTable& table, const TopView& view) {
  std::string text;
  for (const TopRow& row : table.rows(view))
    text += row.name + " " + std::to_string(row.all.calls) + "/" +
            std::to_string(row.recent.calls) + " ";
  return text;
}

TEST(TopTable, Sorts) {
  TopTable table;
  table.reset(1000000000);
  table.look(2000000000, image(line("a", 10, 5) + line("b", 3, 90) + line("a", 5, 5)));
  EXPECT_EQ(show(table, {}), "b 3/3 a 15/15 ");
  EXPECT_EQ(show(table, {TopSort::kCalls}), "a 15/15 b 3/3 ");
  EXPECT_EQ(show(table, {TopSort::kAverage}), "b 3/3 a 15/15 ");
  EXPECT_EQ(show(table, {TopSort::kName}), "a 15/15 b 3/3 ");
  table.begin_recent();
  table.look(3000000000, image(line("b", 4, 91) + line("a", 35, 20)));
  EXPECT_EQ(show(table, {}), "b 4/1 a 35/20 ");
  EXPECT_EQ(show(table, {TopSort::kTime, true}), "a 35/20 b 4/1 ");
  table.look(4000000000, image(line("b", 6, 92) + line("a", 36, 20)));  // since the look before
  EXPECT_EQ(show(table, {}), "b 6/3 a 36/21 ");
  EXPECT_EQ(table.recent_seconds(), 2);
  table.begin_recent();
  table.look(5000000000, image(line("b", 1, 1)));  // somebody has set the counts to 0
  EXPECT_EQ(show(table, {}), "b 1/1 ");
}

TEST(TopTable, BeginsAtWhatWasThere) {
  TopTable table;
  table.reset(0, image(line("a", 10, 5) + line("quiet", 3, 3) + line("b", 9, 9)));
  table.look(1000000000,
             image(line("a", 12, 6) + line("quiet", 3, 3) + line("new", 1, 1) + line("b", 2, 2)));
  EXPECT_EQ(show(table, {TopSort::kName}), "a 2/2 b 2/2 new 1/1 ");
}

TEST(TopTable, CountsThatSomebodyHasSetTo0BeginThere) {
  TopTable table;
  table.reset(0, image(line("a", 100, 50) + line("gone", 5, 5)));
  table.look(1, image(line("a", 30, 10)));
  EXPECT_EQ(show(table, {}), "a 30/30 ");
  table.look(2, image(line("a", 130, 60) + line("gone", 7, 9)));  // above what they began at
  EXPECT_EQ(show(table, {}), "a 130/130 gone 7/7 ");
}

TEST(TopTable, BeginsAgainAtTheLastLook) {
  TopTable table;
  table.reset(0, image(line("a", 10, 5)));
  table.look(1000000000, image(line("a", 15, 9) + line("b", 2, 2)));
  table.restart(2000000000);
  EXPECT_EQ(show(table, {}), "");
  table.look(3000000000, image(line("a", 16, 10) + line("b", 2, 2)));
  EXPECT_EQ(show(table, {}), "a 1/1 ");
  EXPECT_EQ(table.recent_seconds(), 1);
}

TEST(TopTable, NothingIsRecentOfAProcessThatHasEnded) {
  TopTable table, sum;
  table.reset(0);
  table.look(1000000000, image(line("a", 10, 5)));
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

TEST(TopTable, FiltersByPartOrGlob) {
  TopTable table;
  table.look(1, image(line("db_open", 1, 1) + line("db_close", 1, 1) + line("parse", 1, 1)));
  TopView view{TopSort::kName};
  view.filter = "db";
  EXPECT_EQ(show(table, view), "db_close 1/1 db_open 1/1 ");
  view.filter = "*e";
  EXPECT_EQ(show(table, view), "db_close 1/1 parse 1/1 ");
}

TEST(TopTable, OneFunctionIsOneRow) {
  TopTable table;
  table.reset(0);
  const std::string head = "company::trading::orderbook::MatchingEngine::";
  table.look(1000000000, image(line(head + "match", 100, 4) + line(head + "cancel", 10, 2, 0x20) +
                               line("init", 1, 1, 0x30) + line("init", 2, 1, 0x40)));
  EXPECT_EQ(show(table, {TopSort::kCalls}),
            head + "match 100/100 " + head + "cancel 10/10 init 2/2 init 1/1 ");
  EXPECT_EQ(top_text(table, {TopSort::kCalls}, 2, 1, 200),
            "          2          2    1.000 us    0.0%    0.500 us  init [shop@0x40]\n");
  const std::string json = top_rows_json(table, {TopSort::kCalls}, 1);
  const std::string object = "[{\"function\": \"" + head + "match\", \"place\": \"shop@0x10\", ";
  EXPECT_TRUE(json.starts_with(object)) << json;
}

TEST(TopText, LinesAreCutToTheScreen) {
  TopTable table;
  table.reset(0);
  table.look(1000000000, image(line("one\033[2J", 2, 4) + line("two", 1, 1000)));
  EXPECT_EQ(top_text(table, {}, 0, 10, 200),
            "          1          1    1.000 ms    0.1%    1.000 ms  two\n"
            "          2          2    4.000 us    0.0%    2.000 us  one\\x1b[2J\n");
  EXPECT_EQ(top_text(table, {}, 1, 1, 14), "          2   \n");
  EXPECT_EQ(top_text(table, {}, 5, 1, 14), "");
}

}  // namespace
}  // namespace patchbay::cmd
