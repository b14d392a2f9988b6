// SPDX-License-Identifier: MIT
#include "cmd/report/report_select.h"

#include <gtest/gtest.h>

#include "cmd/common/who_options.h"

namespace patchbay::cmd {
namespace {

TEST(ReportSelection, Times) {
  struct Row {
    const char* text;
    bool is_good;
    uint64_t ns = 0;
    bool is_relative = false;
  };
  const Row rows[] = {
      {"1.5", true, 1'500'000'000},
      {"50744.923628203", true, 50'744'923'628'203},
      {"+20ms", true, 20'000'000, true},
      {"+300us", true, 300'000, true},
      {"+7ns", true, 7, true},
      {"+1.25s", true, 1'250'000'000, true},
      {".5", false},
      {"", false},
      {"+", false},
      {"soon", false},
      {"1.2.3", false},
      {"3min", false},
      {"99999999999999", false},
  };
  for (const Row& row : rows) {
    uint64_t ns = 0;
    bool is_relative = false;
    EXPECT_EQ(parse_when(row.text, &ns, &is_relative), row.is_good) << row.text;
    if (!row.is_good) continue;
    EXPECT_EQ(ns, row.ns) << row.text;
    EXPECT_EQ(is_relative, row.is_relative) << row.text;
  }
}

TEST(ReportSelection, Lists) {
  struct Row {
    const char* text;
    std::vector<uint64_t> numbers;  // empty: it is none
  };
  const Row rows[] = {
      {"7", {7}},        {"7,9", {7, 9}},    {"4-6", {4, 5, 6}}, {"1,4-5,2", {1, 4, 5, 2}},
      {"0", {0}},        {"", {}},           {",", {}},          {"1,", {}},
      {"x", {}},         {"5-4", {}},        {"-1", {}},         {"1-", {}},
      {"0-9999999", {}}, {"4294967296", {}},
  };
  for (const Row& row : rows) {
    ReportChoice choice;
    const char* wrong = report_choice::take_option(kWhoTid, row.text, &choice);
    EXPECT_EQ(wrong == nullptr, !row.numbers.empty()) << row.text;
    if (!wrong) {
      EXPECT_EQ(choice.events.who.tids, row.numbers) << row.text;
      EXPECT_TRUE(choice.has_any());
    }
  }
}

TEST(ReportSelection, NothingIsChosenByNothing) {
  ReportChoice choice;
  EXPECT_FALSE(choice.has_any());
  EXPECT_EQ(report_choice::take_option('i', "x", &choice), nullptr);
  EXPECT_FALSE(choice.has_any());
  EXPECT_EQ(report_choice::take_option(report_choice::kUntil, "+1s", &choice), nullptr);
  EXPECT_TRUE(choice.has_times());
}

}  // namespace
}  // namespace patchbay::cmd
