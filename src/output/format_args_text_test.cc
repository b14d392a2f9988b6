// SPDX-License-Identifier: MIT
#include "output/format_args_text.h"

#include <gtest/gtest.h>

namespace patchbay {
namespace {

std::string shown(std::string_view text, bool escape = true) {
  std::string out;
  append_format_args(&out, text, escape);
  return out;
}

TEST(FormatArgsText, NumbersAreDecimal) {
  EXPECT_EQ(shown(R"("abc", 5, 0x1.ap+1)"), R"("abc", 5, 3.25)");
  EXPECT_EQ(shown("0x1p+0, -0x1p-1, 0x0p+0, -0x0p+0"), "1, -0.5, 0, -0");
  EXPECT_EQ(shown("0x1.999999999999ap-4"), "0.1");
  EXPECT_EQ(shown("0x0.0000000000001p-1022"), "5e-324");
  EXPECT_EQ(shown("0x1.fffffffffffffp+1023"), "1.7976931348623157e+308");
  EXPECT_EQ(shown("0xc.8p+0L, -0x8p-3L, 0x0p+0L"), "12.5, -1, 0");
  EXPECT_EQ(shown("0xc.ccccccccccccccdp-7L"), "~0.1");
  EXPECT_EQ(shown("inf, -inf, nan, -nan, infL, -nanL"), "inf, -inf, nan, -nan, inf, -nan");
}

TEST(FormatArgsText, EverythingElseStays) {
  for (const char* text : {"",
                           "5",
                           "-5",
                           "0x1f",
                           "017",
                           "NULL",
                           "'x'",
                           R"('\'')",
                           R"("0x1p+0, \" 0x1p+1")",
                           "?",
                           "1, ? (%k)",
                           "? (positional)",
                           "0x10 (unreadable)",
                           R"("abc" (unreadable), 5)",
                           R"("abc"..., ...)",
                           "0x55aa (wide)",
                           "L'x', L'\\x20ac'",
                           "0x1p",
                           "0xp+1",
                           "0x1.p+",
                           "0x1p+x",
                           "0x11111111111111111p+1",
                           "p",
                           "\"",
                           "\"\\",
                           "'"})
    EXPECT_EQ(shown(text), text);
}

TEST(FormatArgsText, NoByteCommandsATerminal) {
  EXPECT_EQ(shown("\"a\x1b[1m\xff\xc3\xa9\""), "\"a\\x1b[1m\\xff\xc3\xa9\"");
  EXPECT_EQ(shown("\x1b, 5"), "\\x1b, 5");
  EXPECT_EQ(shown("\"\xff\"", false), "\"\xff\"");
}

TEST(FormatArgsText, OnlyTheFieldOfFunctionEvents) {
  EventField field;
  field.name = "varargs";
  field.type = "__data_loc char[]";
  EXPECT_TRUE(is_format_args(field));
  field.type = "long";
  EXPECT_FALSE(is_format_args(field));
}

}  // namespace
}  // namespace patchbay
