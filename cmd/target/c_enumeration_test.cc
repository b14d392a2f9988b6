// SPDX-License-Identifier: MIT
#include "cmd/target/c_enumeration.h"

#include <gtest/gtest.h>

namespace patchbay::cmd {
namespace {

// "tag/typedef:underlying! A=1 B=2"; '!': flags.
std::string parsed(const std::string& line) {
  Result<CEnumeration> made = parse_c_enumeration(line);
  if (!made.ok()) return made.error().message();
  std::string text = made->tag;
  if (!made->other_name.empty()) text += "/" + made->other_name;
  if (!made->underlying.empty()) text += ":" + made->underlying;
  if (made->are_flags) text += "!";
  for (const NamedValue& one : made->names)
    text += " " + one.name + "=" + std::to_string(one.value);
  return text;
}

TEST(CEnumeration, AsHeadersWriteIt) {
  static constexpr struct {
    const char *line, *expected;
  } kCases[] = {
      {"enum whence { SEEK_SET = 0, SEEK_CUR = 1 };", "whence SEEK_SET=0 SEEK_CUR=1"},
      {"enum color { RED, GREEN = 5, BLUE, }", "color RED=0 GREEN=5 BLUE=6"},
      {"enum n{A=0x1f,B=017,C=-3,D=4294967295U,E=1ul<<40}",
       "n A=31 B=15 C=-3 D=4294967295 E=1099511627776"},
      {"enum n { A = (1 << 3), B = (1<<0)|A, C = ~(1 | 2), D = -(-A) };", "n A=8 B=9 C=-4 D=8"},
      {"enum n { TOP = 0xffffffffffffffff, NEXT };", "n TOP=-1 NEXT=0"},
      {"enum __attribute__((flag_enum)) access { R = 1 };", "access! R=1"},
      {"enum access __attribute__((packed, flag_enum)) { R = 1 };", "access! R=1"},
      {"enum [[clang::flag_enum]] access { R = 1 };", "access! R=1"},
      {"enum access : unsigned long { R = 1 };", "access:unsigned long R=1"},
      {"enum class Mode : char { kSlow, kFast = 1 << 3, kBoth = kSlow | kFast };",
       "Mode:char Mode::kSlow=0 Mode::kFast=8 Mode::kBoth=8"},
      {"typedef enum { A } letters;", "/letters A=0"},
      {"typedef enum tag { A } letters;", "tag/letters A=0"},
      {"enum empty { };", "empty"},
  };
  for (const auto& one : kCases) {
    EXPECT_TRUE(is_c_enumeration(one.line)) << one.line;
    EXPECT_EQ(parsed(one.line), one.expected) << one.line;
  }
  for (const char* line :
       {"enum color f(int n);", "typedef enum color color_t;", "int a;", "enumerate { A };", ""})
    EXPECT_FALSE(is_c_enumeration(line)) << line;
}

TEST(CEnumeration, NamesWhatIsWrongAndWhere) {
  static constexpr struct {
    const char *line, *message;
  } kCases[] = {
      {"enum n { A = };", "A value has to stand here:\nenum n { A = };\n             ^"},
      {"enum n { A = B };", "This name has no value here:\nenum n { A = B };\n             ^"},
      {"enum n { A = 08 };", "This is no number of 64 bits:\nenum n { A = 08 };\n             ^"},
      {"enum n { A = 0x };", "This is no number of 64 bits:\nenum n { A = 0x };\n             ^"},
      {"enum n { A = 18446744073709551616 }",
       "This is no number of 64 bits:\nenum n { A = 18446744073709551616 }\n             ^"},
      {"enum n { A = 1 << 64 }",
       "A shift is by 0 to 63 bits:\nenum n { A = 1 << 64 }\n"
       "                     ^"},
      {"enum n { A = (1 }", "A ')' is missing:\nenum n { A = (1 }\n                ^"},
      {"enum n { A B }", "A ',' or a '}' has to stand here:\nenum n { A B }\n           ^"},
      {"enum n { 5 }", "A name has to stand here:\nenum n { 5 }\n         ^"},
      {"enum n { A", "A ',' or a '}' has to stand here:\nenum n { A\n          ^"},
      {"enum n { A,", "A '}' is missing:\nenum n { A,\n           ^"},
      {"enum { A };", "An enumeration without a name is of no use:\nenum { A };\n           ^"},
      {"typedef enum n { A };",
       "The name of the type has to stand here:\ntypedef enum n { A };\n"
       "                    ^"},
      {"enum n { A } a;",
       "Nothing may stand behind an enumeration:\nenum n { A } a;\n             ^"},
      {"enum __attribute__((flag_enum { A };",
       "An attribute has no end:\nenum __attribute__((flag_enum { A };\n"
       "                                    ^"},
      {"enum f(n) { A };", "A '{' has to stand here:\nenum f(n) { A };\n      ^"},
  };
  for (const auto& one : kCases) EXPECT_EQ(parsed(one.line), one.message);
  const std::string deep(40, '(');
  EXPECT_TRUE(parsed("enum n { A = " + deep + "1 };").starts_with("Parentheses are not as deep"));
  EXPECT_EQ(parsed("enum n { " + std::string(1 << 20, 'A') + " };"), "An enumeration is shorter.");
}

}  // namespace
}  // namespace patchbay::cmd
