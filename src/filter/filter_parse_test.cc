// SPDX-License-Identifier: MIT
//
// What is accepted and what is not, with the text and the caret of each error as Linux 6.12 gives
// them, but for docs/decisions.md, D4 and D7.
#include <gtest/gtest.h>

#include "filter/filter_parse.h"
#include "filter/filter_testing.h"

namespace patchbay {
namespace {

namespace errors = filter_errors;

struct ErrorRow {
  const char* marked;  // '^' stands before the character at the caret's column; behind the end of
  const char* text;    // the expression, blanks lead up to it
};

// sched_switch. prev_state.function == nosuch names the function that there is none of.
const ErrorRow kErrors[] = {
    {"prev_pid ^", errors::kInvalidOperator},
    {"prev_pid =^ 5", errors::kInvalidOperator},
    {"prev_pid == 5^)", errors::kTooFewOpen},
    {"^(prev_pid == 5", errors::kTooManyOpen},
    {"^((prev_pid == 5)", errors::kTooManyOpen},
    {"prev_comm == ^'ab", errors::kMissingQuote},
    {"prev_comm == ^\"ab", errors::kMissingQuote},
    {"prev_comm == 5^", errors::kExpectString},
    {"prev_pid == '^a'", errors::kExpectNumber},
    {"prev_comm < '^a'", errors::kIllegalOperation},
    {"nosuch ^== 1", errors::kFieldNotFound},
    {"prev_pid == 1^x", errors::kIllegalInteger},
    {"prev_pid == 0^x12g", errors::kIllegalInteger},
    {"prev_pid == 123456789012345678901234 ^", errors::kOperandTooLong},
    {"prev_pid == 1^2345678901234567890123", errors::kIllegalInteger},
    {"prev_pid == 5 ^foo", errors::kTooManyTerms},
    {"prev_pid == 5 ^& next_pid == 3", errors::kTooManyTerms},
    {"prev_pid == 5 ^| next_pid == 3", errors::kTooManyTerms},
    {"prev_pid == 5 &&^", errors::kMeaningless},
    {"prev_pid == 5 ||^", errors::kMeaningless},
    {"!^", errors::kNoFilter},
    {"^", ""},
    {"^()", ""},
    {"^(())", ""},
    {"prev_pid == CPUS{1 ^", errors::kMissingBraceClose},
    {"prev_pid == CPUS1}^", errors::kMissingBraceOpen},
    {"prev_pid == CPUS{a}^", errors::kInvalidCpulist},
    {"prev_pid < C^PUS{1}", errors::kIllegalOperation},
    {"prev_pid.function == s^chedule", errors::kIllegalOperation},
    {"prev_state.function == nosuch ^", errors::kNoFunction},
    {"prev_state.function < s^chedule", errors::kInvalidOperator},
    {"prev_pid.ustring == \"^x\"", errors::kExpectNumber},
    {"common_stacktrace ^== 1", errors::kFieldNotFound},
    {"prev_pid == 5 && ^(next_pid == 3", errors::kTooManyOpen},
    {"prev_pid ~ 5^", errors::kIllegalOperation},
    {"prev_pid == 1^8446744073709551616", errors::kIllegalInteger},
    {"prev_pid == 0^9", errors::kIllegalInteger},
    // Nameless ones of the table in 2.5.
    {"^prev_pid == 1 && ()", ""},
    {"^() && prev_pid == 1", ""},
    {"^!()", ""},
    {"^(!)", ""},
    {"^&& prev_pid == 1", ""},
    {"^prev_pid == 1 &&& next_pid == 1", ""},
    // Asked besides.
    {"prev_comm == C^PUS{1}", errors::kIllegalOperation},
    {"prev_pid == CPUS{}^", errors::kInvalidCpulist},
    {"prev_pid == CPUS{9}^", errors::kInvalidCpulist},
    {"CPU == \"^a\"", errors::kExpectNumber},
    {"CPU ~ 1^", errors::kIllegalOperation},
    {"COMM == 5^", errors::kExpectString},
    {"CPU.function == s^chedule", errors::kIllegalOperation},
    {"stacktrace == \"^a\"", errors::kExpectNumber},
    {"prev_pid == 5 && !^", errors::kMeaningless},
    {"prev_pid == 5 ^!", errors::kTooManyTerms},
    {"  prev_pid == ^", errors::kInvalidValue},
    {"prev_pid == -^", errors::kIllegalInteger},
    {"prev_pid == 0^x", errors::kIllegalInteger},
    {"common_type == -^1", errors::kIllegalInteger},
    {"prev_state.function == 5 ^", errors::kNoFunction},
    {"prev_state.function == 0xzz ^", errors::kInvalidValue},
    {"prev_state.function == one^)", errors::kTooFewOpen},
    {"prev_state.function == ^", errors::kNoFunction},
    {"(prev_pid == 5) && ^)", errors::kTooFewOpen},
    {"((prev_pid == 5) && ^(next_pid == 3", errors::kTooManyOpen},
    {"prev_pid==5&&^", errors::kMeaningless},
    {"prev_pid == 5 ||(next_pid == 4)||^", errors::kMeaningless},
    {"a ^", errors::kFieldNotFound},
    {"größe ^== 1", errors::kFieldNotFound},
    {"prev_pid == 1^8446744073709551615", errors::kIllegalInteger},
    {"prev_pid > =^ 5", errors::kInvalidValue},
    {"prev_pid == =^ 5", errors::kInvalidValue},
    {"prev_comm ~ 5^", errors::kExpectString},
    {"prev_comm & \"^a\"", errors::kIllegalOperation},
    {"prev_state.function ~ \"^a\"", errors::kInvalidOperator},
    // A word where a number belongs, and signs.
    {"prev_pid == a^bc", errors::kInvalidValue},
    {"prev_pid == +^5", errors::kInvalidValue},
    {"prev_comm == a^'b'", errors::kTooManyTerms},
    {"prev_comm < b^ash", errors::kIllegalOperation},
    {"prev_comm == .^/bin", errors::kInvalidValue},
};

TEST(FilterParse, ErrorsHaveTheKernelsTextAndCaret) {
  for (const ErrorRow& row : kErrors) {
    std::string text = row.marked;
    const size_t caret = text.find('^');
    text.erase(caret, 1);
    FilterResult result = compile_filter(text, test_context());
    ASSERT_TRUE(result.error) << row.marked;
    EXPECT_EQ(result.program, nullptr) << row.marked;
    EXPECT_EQ(result.error->text, row.text) << row.marked;
    const bool nameless = !*row.text;
    EXPECT_EQ(result.error->position, nameless ? 0 : caret) << row.marked;
  }
}

TEST(FilterParse, TooLong) {
  const std::string text(256, 'a');
  auto result = compile_filter("prev_comm == '" + text + "'", test_context());
  ASSERT_TRUE(result.error);
  EXPECT_EQ(result.error->text, errors::kOperandTooLong);
  result = compile_filter("prev_comm == '" + text.substr(1) + "'", test_context());
  EXPECT_FALSE(result.error);
  result = compile_filter("prev_comm == " + text, test_context());
  ASSERT_TRUE(result.error);
  EXPECT_EQ(result.error->text, errors::kOperandTooLong);
  // The file takes less than 4096 bytes.
  const std::string start = "prev_pid == 1";
  result = compile_filter(start + std::string(4096 - start.size(), ')'), test_context());
  EXPECT_TRUE(result.error);
  std::string many = start;
  while (many.size() + 16 < 4095) many += "||prev_pid == 1";
  result = compile_filter(many, test_context());
  EXPECT_FALSE(result.error);
}

TEST(FilterParse, DepthIsNoMatter) {
  const std::string open(2000, '('), close(2000, ')');
  EXPECT_FALSE(compile_filter(open + "prev_pid == 1" + close, test_context()).error);
  EXPECT_FALSE(compile_filter(std::string(3999, '!') + "prev_pid == 1", test_context()).error);
}

TEST(FilterParse, Accepts) {
  const char* const kGood[] = {
      "prev_pid==1&&next_pid==2",
      "!!(prev_pid == 5)",
      "!prev_pid == 5",
      "prev_pid == 9999999999",
      "prev_pid == CPUS{,}",
      "prev_pid == CPUS{N}",
      "prev_pid == CPUS{0-1:1/2}",
      "CPU & 1",
      "stacktrace != 1",
      "prev_pid.ustring == 5",
      "prev_comm.ustring == \"a\"",
      "prev_state == -1",
      "common_pid == -1",
      "prev_comm != bash",
      "prev_comm == größe",
      "prev_comm==/usr/bin/wget",  // of the kernel's document on histograms
      "prev_comm == ''",
      "prev_comm ~ ba*",
      "prev_comm == 'a\"b'",
      "(prev_comm==bash)&&prev_comm==a||prev_comm==b",
      "prev_state.function == two(int)",
      "(prev_state.function == one)",
      "prev_state.function == one&&prev_pid==1",
      "prev_state.function != 0x1001",
      "cpu == CPUS{all}",
      "cpus & CPUS{0, 2-3}",
      "args == 5",
      "prev_pid == 5   ",
      "prev_pid == -2147483649",
      "u64 == 18446744073709551615",
      "\tprev_pid\n==\r5",
  };
  for (const char* text : kGood) {
    FilterResult result = compile_filter(text, test_context());
    EXPECT_FALSE(result.error) << text << ": " << result.error->text;
    EXPECT_NE(result.program, nullptr) << text;
  }
}

TEST(FilterParse, OwnFieldsComeBeforeGenericOnes) {
  FilterContext context = test_context();
  context.field = [](std::string_view name) -> std::optional<FilterField> {
    if (name == "comm") return FilterField{FilterField::Kind::kNumber, 8, 4, true};
    return std::nullopt;
  };
  EXPECT_FALSE(compile_filter("comm == 5", context).error);
  EXPECT_TRUE(compile_filter("COMM == 5", context).error);
}

TEST(FilterParse, TextInTheFilterFile) {
  auto shown = [](const std::string& text) {
    return filter_error_text(text, *compile_filter(text, test_context()).error);
  };
  EXPECT_EQ(shown("prev_pid == 1x"),
            "prev_pid == 1x\n             ^\nparse_error: Illegal integer value\n\n");
  // The column is cut at the end of the text.
  EXPECT_EQ(shown("prev_pid == CPUS{1"),
            "prev_pid == CPUS{1\n                  ^\nparse_error: Missing '}'\n\n");
  EXPECT_EQ(shown("(prev_pid == 5"), "(prev_pid == 5\n^\nparse_error: Too many '('\n\n");
  EXPECT_EQ(shown("()"), "()\nError: (0)\n\n");
}

TEST(FilterParse, CpuLists) {
  struct Row {
    const char* list;
    int bits;  // -1: refused
  };
  const Row kRows[] = {{"0", 1},        {"0-3", 15},     {"1,3", 10},
                       {"all", 255},    {"N", 128},      {"6-N", 192},
                       {"0-7:1/2", 85}, {"0-7:2/4", 51}, {" 1 , 2 ", 6},
                       {",", 0},        {"", 0},         {"8", -1},
                       {"3-1", -1},     {"1-", -1},      {"-1", -1},
                       {"0-3:1", -1},   {"0-3:1/0", -1}, {"0-3:3/2", -1},
                       {"x", -1},       {"1x", -1},      {"0-99999999999999999999", -1}};
  for (const Row& row : kRows) {
    auto cpus = parse_cpulist(row.list, 8);
    EXPECT_EQ(cpus ? int(uint8_t((*cpus)[0])) : -1, row.bits) << row.list;
  }
  EXPECT_EQ(parse_cpulist("9", 10), std::string("\0\2", 2));
}

}  // namespace
}  // namespace patchbay
