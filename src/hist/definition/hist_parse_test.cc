// SPDX-License-Identifier: MIT
#include "hist/definition/hist_parse.h"

#include <gtest/gtest.h>

#include <cerrno>

namespace patchbay {
namespace {

class HistParseTest : public testing::Test {
 protected:
  Result<HistDefinition> parse(std::string_view text) {
    HistErrors errors(&log_, "sys", "event", "hist:" + std::string(text));
    return parse_hist(text, &errors);
  }
  int errno_of(std::string_view text) {
    auto parsed = parse(text);
    return parsed.ok() ? 0 : parsed.error().errno_value;
  }
  ErrorLog log_;
};

TEST_F(HistParseTest, PartsStandInAnyOrderAndTheLastOfAKindCounts) {
  auto parsed = parse(
      "sort=b:name=n:size=129:keys=a:key=c,d:values=v:vals=w:clock= mono :nohitcount:pause:x=1,y=2:"
      "onmax($x).save(f):z=3");
  ASSERT_TRUE(parsed.ok());
  EXPECT_EQ(parsed->keys, "c,d");
  EXPECT_EQ(parsed->values, "w");
  EXPECT_EQ(parsed->sort, "b");
  EXPECT_EQ(parsed->name, "n");
  EXPECT_EQ(parsed->map_bits, 8u);
  EXPECT_EQ(parsed->clock, "mono");
  EXPECT_TRUE(parsed->no_hitcount && parsed->pause);
  EXPECT_FALSE(parsed->cont || parsed->clear || parsed->filter);
  EXPECT_EQ(parsed->assignments, (std::vector<std::string>{"x=1,y=2", "z=3"}));
  EXPECT_EQ(parsed->actions, std::vector<std::string>{"onmax($x).save(f)"});
}

TEST_F(HistParseTest, TheFilterFollowsTheWordIf) {
  struct Row {
    const char *text, *keys, *filter;
  };
  const Row rows[] = {
      {"keys=a if b == 1", "a", "b == 1"},
      {"keys=a\tif\tb == 1", "a", "b == 1"},
      {"keys=a  if  b", "a", " b"},
      {"keys=if if b", "if", "b"},
      {"keys=xif,ify if b if c", "xif,ify", "b if c"},
  };
  for (const Row& row : rows) {
    auto parsed = parse(row.text);
    ASSERT_TRUE(parsed.ok()) << row.text;
    EXPECT_EQ(parsed->keys, row.keys);
    EXPECT_EQ(parsed->filter, row.filter);
  }
  EXPECT_EQ(parse("keys=a,ifx")->filter, std::nullopt);
  for (const char* text : {"if keys=a", "keys=a if", "if", "keys=a if "})
    EXPECT_EQ(errno_of(text), EINVAL) << text;
}

TEST_F(HistParseTest, SizesAreRoundedUpToPowersOfTwo) {
  struct Row {
    const char* size;
    uint32_t bits;  // 0: refused
  };
  const Row rows[] = {{"65", 7},     {"128", 7},  {"129", 8},    {"0x100", 8},
                      {"0400", 8},   {"+256", 8}, {"65537", 17}, {"131072", 17},
                      {"131073", 0}, {"64", 0},   {"0", 0},      {"1", 0},
                      {"-1", 0},     {"5a", 0},   {"128 ", 0},   {"99999999999999999999", 0}};
  for (const Row& row : rows) {
    auto parsed = parse("keys=a:size=" + std::string(row.size));
    EXPECT_EQ(parsed.ok() ? parsed->map_bits : 0, row.bits) << row.size;
  }
  EXPECT_EQ(errno_of("keys=a:size=99999999999999999999"), ERANGE);
}

TEST_F(HistParseTest, WhatIsNoPartIsRefusedWithoutAnEntry) {
  for (const char* text : {"", "vals=a", "keys=a:", "keys=a::vals=b", "keys=a:x", ":keys=a",
                           "keys=a:onmaxx($x).save(a)", "keys=a:Pause"})
    EXPECT_EQ(errno_of(text), EINVAL) << text;
  std::string many = "keys=a";
  for (int i = 0; i < 9; i++) many += ":onmax($x).save(ab)";
  EXPECT_EQ(errno_of(many), EINVAL);
  EXPECT_EQ(log_.show(), "");
}

TEST_F(HistParseTest, NumbersAreTheKernels) {
  struct Row {
    const char* text;
    int64_t value;  // -1: refused
  };
  const Row rows[] = {{"0", 0},   {"10", 10}, {"010", 8}, {"0x1F", 31}, {"0X1f", 31}, {"+5", 5},
                      {"5\n", 5}, {"", -1},   {"+", -1},  {"08", -1},   {"0x", -1},   {"5 ", -1},
                      {" 5", -1}, {"-5", -1}, {"5a", -1}, {"++5", -1}};
  for (const Row& row : rows) {
    auto value = parse_hist_number(row.text);
    EXPECT_EQ(value.ok() ? int64_t(*value) : -1, row.value) << row.text;
  }
  EXPECT_EQ(*parse_hist_number("18446744073709551615"), ~uint64_t{0});
  EXPECT_EQ(parse_hist_number("18446744073709551616").error().errno_value, ERANGE);
}

TEST_F(HistParseTest, ActionsAreTakenApart) {
  HistErrors errors(&log_, "sys", "event", "hist:");
  const auto known = [](std::string_view system, std::string_view event) {
    return system == "sys" && event == "ev";
  };
  auto match = parse_hist_action("onmatch(sys.ev).trace(syn, $a , field)junk", known, &errors);
  ASSERT_TRUE(match.ok());
  EXPECT_EQ((*match)->handler, HistHandler::kMatch);
  EXPECT_EQ((*match)->kind, HistActionKind::kTrace);
  EXPECT_EQ((*match)->synthetic_name, "syn");
  EXPECT_EQ((*match)->param_texts, (std::vector<std::string>{"$a", "field"}));
  auto max = parse_hist_action("onmax($lat).save(ab,cd", known, &errors);
  ASSERT_TRUE(max.ok());
  EXPECT_EQ((*max)->handler, HistHandler::kMax);
  EXPECT_EQ((*max)->kind, HistActionKind::kSave);
  EXPECT_EQ((*max)->track_text, "$lat");
  auto change = parse_hist_action("onchange($lat) .snapshot()", known, &errors);
  ASSERT_TRUE(change.ok());
  EXPECT_EQ((*change)->handler, HistHandler::kChange);
  EXPECT_EQ((*change)->kind, HistActionKind::kSnapshot);
  std::string many = "onmax($x).sy(aa";
  for (int i = 0; i < 64; i++) many += ",aa";
  EXPECT_FALSE(parse_hist_action(many, known, &errors).ok());
  EXPECT_NE(log_.show().find("Too many action params"), std::string::npos);
}

TEST_F(HistParseTest, VariablesAreCutAtSixteenInOneList) {
  HistErrors errors(&log_, "sys", "event", "hist:");
  HistDefinition definition;
  definition.assignments = {"a=1", "b=x+1,c=d=e"};
  auto texts = parse_hist_variables(definition, &errors);
  ASSERT_TRUE(texts.ok());
  ASSERT_EQ(texts->size(), 3u);
  EXPECT_EQ((*texts)[1].expression, "x+1");
  EXPECT_EQ((*texts)[2].expression, "d=e");
  std::string list = "v=1";
  for (int i = 0; i < 16; i++) list += ",v" + std::to_string(i) + "=1";
  definition.assignments = {list};
  EXPECT_EQ(parse_hist_variables(definition, &errors)->size(), 16u);
  definition.assignments.push_back("w=1");
  EXPECT_FALSE(parse_hist_variables(definition, &errors).ok());
  definition.assignments = {"a"};
  EXPECT_FALSE(parse_hist_variables(definition, &errors).ok());
}

TEST(HistParse, NothingBehindTheWordIf) {
  for (const char* text : {"keys=a if", "keys=a if ", "keys=a if  ", "keys=a if \t "})
    EXPECT_FALSE(parse_hist(text, nullptr).ok()) << text;
}

}  // namespace
}  // namespace patchbay
