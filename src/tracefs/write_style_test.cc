// SPDX-License-Identifier: MIT
#include "tracefs/write_style.h"

#include <gtest/gtest.h>

#include <cerrno>

namespace patchbay::tracefs {
namespace {

std::string number(std::string_view bytes) {
  Result<uint64_t> result = parse_number(bytes);
  return result.ok() ? std::to_string(*result) : std::to_string(-result.error().errno_value);
}

TEST(Number, AsTheKernelTakesThem) {
  const struct {
    std::string_view bytes;
    const char* expected;
  } table[] = {
      {"0", "0"},
      {"1\n", "1"},
      {"01", "1"},
      {"+1", "1"},
      {"+01\n", "1"},
      {"", "-22"},
      {"\n", "-22"},
      {" 1", "-22"},
      {"1 ", "-22"},
      {" 1 ", "-22"},
      {"-1", "-22"},
      {"1\n\n", "-22"},
      {"+", "-22"},
      {"++1", "-22"},
      {"0x1", "-22"},
      {"1a", "-22"},
      {"18446744073709551615", "18446744073709551615"},
      {"18446744073709551616", "-34"},
      {"99999999999999999999x", "-22"},
  };
  for (const auto& row : table) EXPECT_EQ(number(row.bytes), row.expected) << row.bytes;
}

TEST(Number, SwitchTakesOnlyTwo) {
  EXPECT_TRUE(*parse_switch("1\n"));
  EXPECT_FALSE(*parse_switch("0"));
  EXPECT_EQ(parse_switch("2").error().errno_value, EINVAL);
  EXPECT_EQ(parse_switch("on").error().errno_value, EINVAL);
}

// The lines that were executed, joined by '|', then the result. A line `bad` fails with ENOENT.
std::string run_lines(std::string_view bytes) {
  std::string done;
  Result<size_t> result = for_each_line(bytes, [&done](std::string_view line) -> Status {
    if (line == "bad") return sys_error("x", ENOENT);
    done += std::string(line) + "|";
    return {};
  });
  return done +
         (result.ok() ? std::to_string(*result) : std::to_string(-result.error().errno_value));
}

TEST(Lines, OneAtATime) {
  const struct {
    const char* bytes;
    const char* expected;
  } table[] = {
      {"", "0"},
      {"a", "a|1"},
      {"a\nb\n", "a|b|4"},
      {"\n \n\t\na\n", "a|7"},
      {"# only a comment\n  a b # and one\n#", "a b |34"},
      {"f(int)::{lambda(char)#12}::g(int n) # }", "f(int)::{lambda(char)#12}::g(int n) |39"},
      {"a #}\nb #1\nc #1 }\n", "a |b |c |17"},
      {"a\nbad\nb\n", "a|-2"},
  };
  for (const auto& row : table) EXPECT_EQ(run_lines(row.bytes), row.expected) << row.bytes;
}

TEST(Lines, AtMost4095BytesWithTheNewline) {
  std::string longest(4094, 'a'), longer(4095, 'a');
  EXPECT_EQ(run_lines(longest + "\n"), longest + "|4095");
  EXPECT_EQ(run_lines(longer + "\n"), "-22");
  EXPECT_EQ(run_lines("b\n" + longer + "\n"), "b|-22");
}

TEST(Tokens, OneAWriteWithAShortCount) {
  Result<Token> first = take_token("sched_wakeup sched_waking\n");
  ASSERT_TRUE(first.ok());
  EXPECT_EQ(first->word, "sched_wakeup");
  EXPECT_EQ(first->consumed, 13u);
  EXPECT_EQ(take_token("  a")->consumed, 3u);
  EXPECT_EQ(take_token(" \n\t")->word, "");
  EXPECT_EQ(take_token(" \n\t")->consumed, 3u);
  EXPECT_EQ(take_token(std::string_view("\0\0\0", 3))->consumed,
            1u);  // the kernel: a write returns 1
  EXPECT_EQ(take_token(std::string_view("a\0b", 3))->word, "a");
  EXPECT_EQ(take_token(std::string_view("a\0b", 3))->consumed, 2u);
  EXPECT_TRUE(take_token(std::string(127, 'x')).ok());
  EXPECT_EQ(take_token(std::string(128, 'x')).error().errno_value, EINVAL);
}

TEST(Whole, LimitAndNul) {
  EXPECT_EQ(*take_whole(std::string_view("a b\0c", 5), 64), "a b");
  EXPECT_TRUE(take_whole(std::string(63, 'x'), 64).ok());
  EXPECT_EQ(take_whole(std::string(64, 'x'), 64).error().errno_value, EINVAL);
}

}  // namespace
}  // namespace patchbay::tracefs
