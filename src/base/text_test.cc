// SPDX-License-Identifier: MIT
#include "base/text.h"

#include <gtest/gtest.h>

#include <array>
#include <climits>
#include <limits>

namespace patchbay {
namespace {

using namespace std::string_view_literals;
using Views = std::vector<std::string_view>;

TEST(Text, ClassesAreThoseOfAscii) {
  int digits = 0, letters = 0, starts = 0, names = 0, words = 0, spaces = 0, hexadecimal = 0;
  for (int i = CHAR_MIN; i <= CHAR_MAX; i++) {
    const char c = char(i);
    digits += is_digit(c);
    letters += is_letter(c);
    starts += is_name_start(c);
    names += is_name_char(c);
    words += is_word_char(c);
    EXPECT_EQ(is_word_char(c), is_word_start(c) || is_digit(c)) << i;
    spaces += is_space(c);
    hexadecimal += digit_value(c) < 16;
    EXPECT_EQ(is_space(c), kSpaces.find(c) != kSpaces.npos) << i;
    if (is_digit(c)) {
      EXPECT_EQ(digit_value(c), c - '0');
    }
  }
  EXPECT_EQ(digits, 10);
  EXPECT_EQ(letters, 52);
  EXPECT_EQ(starts, 53);
  EXPECT_EQ(names, 63);
  EXPECT_EQ(words, 63 + 128);
  EXPECT_EQ(spaces, 6);
  EXPECT_EQ(hexadecimal, 22);
  EXPECT_EQ(digit_value('a'), 10);
  EXPECT_EQ(digit_value('F'), 15);
  EXPECT_EQ(digit_value('g'), kNoDigit);
}

TEST(Text, ALetterBeyondAsciiIsSpelledAsInC) {
  EXPECT_EQ(ascii_name("plain_1"), "plain_1");
  EXPECT_EQ(ascii_name("l\xc3\xa4nge"), "l_u00e4nge");
  EXPECT_EQ(ascii_name("\xe5\x90\x8d"), "_u540d");
  EXPECT_EQ(ascii_name("\xf0\x9f\x98\x80"), "_U0001f600");
  EXPECT_EQ(ascii_name("\xc3"), "_");
  EXPECT_EQ(ascii_name("\xc3x\x80"), "_x_");
  EXPECT_EQ(nr_columns("l\xc3\xa4nge"), 5u);
}

TEST(Text, TrimLeavesWhatStandsBetweenBlanks) {
  struct Row {
    std::string_view text, trimmed, without_front;
  };
  const Row rows[] = {
      {"", "", ""},
      {" \t\n\v\f\r", "", ""},
      {"a", "a", "a"},
      {"  a b \n", "a b", "a b \n"},
      {"a\0 "sv, "a\0"sv, "a\0 "sv},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(trim(row.text), row.trimmed) << row.text;
    EXPECT_EQ(trim_front(row.text), row.without_front) << row.text;
  }
  EXPECT_EQ(trim("\n a \n", " "), "\n a \n");
  EXPECT_EQ(trim("--a-b--", "-"), "a-b");
}

// What is cut from a text still lies in it: parsers count positions from its begin.
TEST(Text, TrimOfBlanksLiesAtTheEnd) {
  const std::string_view text = "  ";
  EXPECT_EQ(trim(text).data(), text.data() + 2);
  EXPECT_EQ(trim_front(text).data(), text.data() + 2);
}

TEST(Text, SplitsIntoWordsAndLines) {
  EXPECT_EQ(split_words(""), Views());
  EXPECT_EQ(split_words("  \t"), Views());
  EXPECT_EQ(split_words(" a  bc\td "), (Views{"a", "bc", "d"}));
  EXPECT_EQ(split_words("a b:c", ":"), (Views{"a b", "c"}));
  using Lines = std::vector<std::string>;
  EXPECT_EQ(split_lines(""), Lines());
  EXPECT_EQ(split_lines("\n"), Lines{""});
  EXPECT_EQ(split_lines("a\n\nb"), (Lines{"a", "", "b"}));
  EXPECT_EQ(split_lines("a\nb\n"), (Lines{"a", "b"}));
}

TEST(Text, CutsOffUpToAnEnd) {
  std::string_view rest = "a;;b";
  EXPECT_EQ(cut_at(&rest, ';'), "a");
  EXPECT_EQ(cut_at(&rest, ';'), "");
  EXPECT_EQ(rest, "b");
  EXPECT_EQ(cut_at(&rest, ';'), "b");
  EXPECT_EQ(rest, "");
  EXPECT_EQ(cut_at(&rest, ';'), "");
}

TEST(Text, JoinPutsSeparatorsBetweenAll) {
  EXPECT_EQ(join(Views{}, ", "), "");
  EXPECT_EQ(join(Views{"a"}, ", "), "a");
  EXPECT_EQ(join(Views{"a", "b", "c"}, ", "), "a, b, c");
  EXPECT_EQ(join(Views{"", "b", ""}, ","), ",b,");
  EXPECT_EQ(join(std::array<std::string, 2>{"a", "b"}, ""), "ab");
}

TEST(Text, BaseNameIsBehindTheLastSlash) {
  EXPECT_EQ(base_name("/usr/lib/libc.so.6"), "libc.so.6");
  EXPECT_EQ(base_name("a.out"), "a.out");
  EXPECT_EQ(base_name("/usr/"), "");
  EXPECT_EQ(base_name(""), "");
}

TEST(Text, ToNumberWantsTheWholeText) {
  uint8_t byte = 0;
  EXPECT_TRUE(to_number("255", &byte));
  EXPECT_EQ(byte, 255);
  for (std::string_view bad : {"", "256", "-1", "+1", " 1", "1 ", "0x1", "a"})
    EXPECT_FALSE(to_number(bad, &byte)) << bad;
  byte = 7;
  EXPECT_FALSE(to_number("12x", &byte));
  EXPECT_EQ(byte, 7);
  EXPECT_TRUE(to_number("fF", &byte, 16));
  EXPECT_EQ(byte, 255);
  int number = 0;
  EXPECT_TRUE(to_number("-12", &number));
  EXPECT_EQ(number, -12);
  double real = 0;
  EXPECT_TRUE(to_number("1.5", &real));
  EXPECT_EQ(real, 1.5);
  EXPECT_FALSE(to_number("1.5s", &real));
}

TEST(Text, HexadecimalHasNoPadding) {
  EXPECT_EQ(hex_number(0), "0x0");
  EXPECT_EQ(hex_number(0x1f), "0x1f");
  EXPECT_EQ(hex_number(std::numeric_limits<uint64_t>::max()), "0xffffffffffffffff");
}

TEST(Text, BytesAreTwoDigitsEach) {
  const uint8_t bytes[] = {0x48, 0x09, 0xe5};
  EXPECT_EQ(hex_bytes(bytes, 3), "48 09 e5");
  EXPECT_EQ(hex_bytes(bytes, 0), "");
}

}  // namespace
}  // namespace patchbay
