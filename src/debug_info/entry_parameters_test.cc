// SPDX-License-Identifier: MIT
// tests/debug_info/removed.c and its like: what a compiler has made of the parameters of functions
// whose callers it knows, as lines of function_events. The values behind them are judged by
// tests/truth (what programs say of themselves).
#include "debug_info/entry_parameters.h"

#include <gtest/gtest.h>

#include "debug_info/derive.h"
#include "debug_info/dwarf_testing.h"

namespace patchbay {
namespace {

// Each line, with a '\n'.
std::string lines_of(const std::string& object, const std::string& function) {
  Result<std::unique_ptr<SourceProbes>> probes = SourceProbes::open(test::object_path(object));
  if (!probes.ok()) return probes.error().message();
  Result<FunctionEventLines> made = (*probes)->function_events(function);
  if (!made.ok()) return made.error().message();
  std::string text;
  for (const std::string& line : made->lines) text += line + "\n";
  return text;
}

struct Row {
  const char *object, *function, *lines;
};

TEST(EntryParameters, WhatAnOptimizerTakesAway) {
  static constexpr Row kRows[] = {
      {"removed_4", "scale", "scale(string unit, s32 factor, s32 value)\n"},
      {"removed_4", "kandr", "kandr(s32 a, char b, double c)\n"},
      {"removed_4", "stays", "stays(s32 a, struct {s32 a, s64 b} pair, string text)\n"},
      {"removed_clang", "scale", "scale(x64 unit=?, s32 factor=\\7, s32 value)\n"},
      {"removed_clang", "unread", "unread(s32 a, x64 dead=?, s32 b)\n"},
      {"removed_clang", "reals",
       "reals(x64 dead=?, double factor=\\2.5, x64 dead_too=?, double x)\n"},
      {"removed_clang", "kandr_real", "kandr_real(double NULL, x64 dead=?, double value)\n"},
      {"removed_clang", "behind",
       "behind(x64 dead=?, struct {s64 a, s64 b, s64 c} big, s64 last)\n"},
      // Nobody reads pair.a, and no caller need pass it.
      {"removed_clang", "stays",
       "stays(s32 a, NULL, struct {s64 b} pair, x64 pair_a=?, string text)\n"},
  };
  for (const Row& row : kRows)
    if (test::has_object(row.object)) {
      EXPECT_EQ(lines_of(row.object, row.function), row.lines) << row.object;
    }
}

// What a function never reads its callers need not store.
TEST(EntryParameters, WhatNobodyReadsIsNotShown) {
  static constexpr Row kRows[] = {
      {"unread_5", "half", "half(s64 p_b+8[0] | u8[/1] p_b_ok+8 | u8[/1] p_ok)\n"},
      {"unread_5", "handed_on", "handed_on(s32 n, s64 p_b+8[0] | u8[/1] p_b_ok+8 | u8[/1] p_ok)\n"},
      {"unread_5", "untouched", "untouched(x64 n, s32 read[0] | u8[/1] read_ok)\n"},
      {"unread_5", "big_unread", "big_unread(struct {s64 a, s64 b, s64 c} b, s64 last)\n"},
      {"unread_5", "from_outside",
       "from_outside(s64 p_a[0] | u8[/1] p_a_ok | s64 p_b+8[0] | u8[/1] p_b_ok+8 | u8[/1] p_ok)\n"},
      {"unread_clang", "half", "half(s64 p_b+8[0] | u8[/1] p_b_ok+8 | u8[/1] p_ok)\n"},
      {"unread_clang", "untouched", "untouched(NULL, x64 n=?, s32 read[0] | u8[/1] read_ok)\n"},
      {"unread_clang", "big_unread", "big_unread(x64 b=?, s64 last)\n"},
      {"unread_clang", "big_read", "big_read(struct {s64 a, s64 b, s64 c} b)\n"},
      {"unread_clang", "word", "word(NULL, struct {s64 c} m, x64 m_a=?, x64 m_b=?, s32 n)\n"},
      {"unread_clang", "on_stack",
       "on_stack(u8 n, NULL, x64 a=?, NULL, x64 b=?, NULL, x64 c=?, NULL, x64 d=?, NULL, "
       "x64 e=?, struct {u16 size, u8 is_on} s)\n"},
      {"unread_clang", "second_word", "second_word(NULL, NULL, x64 h=?, double x)\n"},
      {"unread_clang", "wide", "wide(double x=\\2.5, s64 n=\\7, s64 y)\n"},
  };
  for (const Row& row : kRows)
    if (test::has_object(row.object) &&
        (std::string_view(row.object) != "unread_5" ||
         !test::made_by_clang(*test::open_info(test::object_path(row.object))))) {
      EXPECT_EQ(lines_of(row.object, row.function), row.lines) << row.object;
    }
}

// gcc gives what it has changed another symbol. Whether it does is its decision.
TEST(EntryParameters, ClonesAreCalledAsTheyAre) {
  if (test::made_by_clang(*test::open_info(test::object_path("removed_5"))))
    GTEST_SKIP() << "the compiler is clang";
  EXPECT_EQ(lines_of("removed_5", "unread"), "unread(s32 a, s32 dead=\\99, s32 b)\n");
  EXPECT_EQ(lines_of("removed_5", "reals"),
            "reals(x64 dead=?, double factor=\\2.5, x64 dead_too=?, double x)\n");
}

TEST(EntryParameters, NamesakesHaveALineEachAndWhatIsThrownAwayHasNone) {
  if (test::made_by_clang(*test::open_info(test::object_path("namesakes_5"))))
    GTEST_SKIP() << "clang inlines them";
  EXPECT_EQ(lines_of("namesakes_5", "helper"),
            "helper@namesake.c(s32 code)\nhelper@namesakes.c(string name, s64 n)\n");
  EXPECT_EQ(lines_of("namesakes_5", "same"), "same@namesake.c(s32 n)\nsame@namesakes.c(s32 n)\n");
  EXPECT_NE(lines_of("namesakes_5", "thrown_away").find("has no code there"), std::string::npos);
}

// -g1 lists no parameters: that is not the same as none.
TEST(EntryParameters, LinesAloneSayNothing) {
  if (test::made_by_clang(*test::open_info(test::object_path("passing_5"))))
    GTEST_SKIP() << "clang's lines alone have no functions";
  for (const char* function : {"scale", "stays"})
    EXPECT_NE(lines_of("removed_lines", function).find("lines of its code alone (-g1)"),
              std::string::npos)
        << function;
  EXPECT_NE(lines_of("bases_lines", "with_base::with_base").find("lines of its code alone (-g1)"),
            std::string::npos);
  EXPECT_EQ(lines_of("passing_4", "nothing"), "nothing()\n");
  EXPECT_EQ(lines_of("passing_5", "nothing"), "nothing()\n");
}

TEST(EntryParameters, EachConstructorHasItsOwn) {
  for (const char* object : {"bases_4", "bases_5"}) {
    const std::string lines = lines_of(object, "with_base::with_base");
    const size_t whole = lines.find("(x64 this, s32 i, string name)\n");
    const size_t part = lines.find("parm, s32 i, string name)\n");
    EXPECT_NE(whole, lines.npos) << lines;
    EXPECT_TRUE(part != lines.npos ||
                lines.find("(x64 this, x64 vtt, s32 i, string name)\n") != lines.npos)
        << lines;
    EXPECT_EQ(std::count(lines.begin(), lines.end(), '\n'), 2) << lines;
    EXPECT_EQ(lines.find("__in_chrg"), lines.npos) << lines;
  }
}

// A clone of one beside the other one: a line for both would mean only one of them.
TEST(EntryParameters, ClonesBesideAFunctionHaveTheirOwn) {
  if (test::made_by_clang(*test::open_info(test::object_path("bases_5"))))
    GTEST_SKIP() << "clang makes no clone of it";
  const std::string lines = lines_of("bases_5", "part::part");
  EXPECT_EQ(std::count(lines.begin(), lines.end(), '\n'), 2) << lines;
}

TEST(EntryParameters, AResultThatNobodyReadsIsNotShown) {
  static constexpr Row kRows[] = {{"unread_clang", "known", ""},
                                  {"unread_clang", "handed_up", "float"},
                                  {"unread_clang", "unwanted", ""},
                                  {"unread_5", "unwanted", ""}};
  for (const auto& [object, function, result] : kRows) {
    if (!test::has_object(object)) continue;
    Result<std::unique_ptr<SourceProbes>> probes = SourceProbes::open(test::object_path(object));
    ASSERT_TRUE(probes.ok());
    Result<FunctionEventLines> made = (*probes)->function_events(function);
    ASSERT_TRUE(made.ok()) << made.error().message();
    EXPECT_EQ(made->results.at(0), result) << object << " " << function;
  }
}

}  // namespace
}  // namespace patchbay
