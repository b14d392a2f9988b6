// SPDX-License-Identifier: MIT
#include "debug_info/prototypes.h"

#include <gtest/gtest.h>

#include "debug_info/dwarf_testing.h"

namespace patchbay {
namespace {

// "a 0 signed/1": name, words, how, bytes.
std::string shown(const CallArgument& argument) {
  using Show = CallArgument::Show;
  std::string text = argument.name;
  for (const int8_t one : argument.word)
    if (one >= 0) text += " " + std::to_string(one);
  switch (argument.show) {
    case Show::kSigned:
      return text + " signed/" + std::to_string(argument.size);
    case Show::kUnsigned:
      return text + " unsigned/" + std::to_string(argument.size);
    case Show::kBool:
      return text + " bool";
    case Show::kHex:
      return text + " hex";
    case Show::kAggregate:
      return text + " aggregate";
    case Show::kElsewhere:
      return text + " elsewhere";
    case Show::kMore:
      return text + " more";
  }
  return text + " ?";
}

struct Row {
  const char *function, *arguments;
};
constexpr Row kRows[] = {
    {"integers",
     "a 0 signed/1, b 1 signed/2, c 2 signed/4, d 3 signed/8, e 4 hex, f 5 unsigned/1, g more"},
    {"floats", "a 0 signed/4, b elsewhere, c elsewhere, d 1 signed/8"},
    {"structs", "p 0 aggregate, m 1 aggregate, v aggregate, b more"},
    {"transparent", "a 0 signed/4, b 1 aggregate, c 2 signed/4"},
    {"small", "a 0 aggregate, b 1 aggregate, c 2 unsigned/4, d 3 bool"},
    {"int128", "a 0 signed/4, b 1 2 aggregate, c 3 signed/4"},
    {"packed_struct", "p more"},
    {"returns_big", "n 1 signed/4"},
    {"nothing", ""},
};

struct ResultRow {
  const char* function;
  bool has_result_word;
};
constexpr ResultRow kResults[] = {
    {"returns_int", true},     {"nothing", false},       {"returns_big", false},
    {"returns_pair", false},   {"returns_mixed", false}, {"returns_double", false},
    {"returns_text", true},    {"returns_colour", true}, {"returns_long_double", false},
    {"returns_int128", false},
};

class Prototypes : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Compilers, Prototypes,
                         ::testing::Values("passing_4", "passing_5", "passing_split_4",
                                           "passing_split_5", "passing_clang",
                                           "passing_clang_split"));

TEST_P(Prototypes, OfFunctionsByTheirAddress) {
  if (!test::has_object(GetParam())) GTEST_SKIP();
  const std::string path = test::object_path(GetParam());
  const auto info = test::open_info(path);
  ASSERT_TRUE(info);
  auto prototypes = FunctionPrototypes::open(path, info->build_id());
  ASSERT_TRUE(prototypes.ok()) << prototypes.error().message();
  for (const Row& row : kRows) {
    const uint64_t entry = entry_of(test::die_named(*info, row.function)).value_or(0);
    const std::optional<CallArguments> arguments = (*prototypes)->at(entry);
    ASSERT_TRUE(arguments) << row.function;
    std::string text;
    for (const CallArgument& one : *arguments) text += (text.empty() ? "" : ", ") + shown(one);
    // Optimizing, clang does not say where a value in two registers is.
    const bool is_lost = path.find("clang") != path.npos && row.function == std::string("int128");
    EXPECT_EQ(text, is_lost ? "a 0 signed/4, b elsewhere, c 3 signed/4" : row.arguments)
        << row.function;
    EXPECT_FALSE((*prototypes)->at(entry + 1)) << row.function;
  }
  for (const ResultRow& row : kResults) {
    const uint64_t entry = entry_of(test::die_named(*info, row.function)).value_or(0);
    const std::optional<CallArguments> arguments = (*prototypes)->at(entry);
    ASSERT_TRUE(arguments) << row.function;
    EXPECT_EQ(arguments->result == ResultWord::kResult, row.has_result_word) << row.function;
  }
  EXPECT_FALSE((*prototypes)->at(0));
  EXPECT_FALSE((*prototypes)->at(UINT64_MAX));
}

// LLVM takes away a result that all callers know without the function.
TEST(PrototypesOfOptimizedFunctions, HaveNoResultThatNobodyReads) {
  if (!test::has_object("unread_clang")) GTEST_SKIP() << "no clang";
  const std::string path = test::object_path("unread_clang");
  const auto info = test::open_info(path);
  auto prototypes = FunctionPrototypes::open(path, "");
  ASSERT_TRUE(info && prototypes.ok());
  const auto result_of = [&](const char* function) {
    const auto entry = entry_of(test::die_named(*info, function));
    const std::optional<CallArguments> arguments = (*prototypes)->at(entry.value_or(0));
    return arguments ? arguments->result : ResultWord::kUnknown;
  };
  EXPECT_EQ(result_of("known_number"), ResultWord::kNone);
  EXPECT_EQ(result_of("number"), ResultWord::kResult);
}

TEST(PrototypesOfAnotherFile, AreRefused) {
  const std::string path = test::object_path("passing_5");
  auto prototypes = FunctionPrototypes::open(path, "0123456789abcdef");
  ASSERT_FALSE(prototypes.ok());
  EXPECT_EQ(prototypes.error().message(), path + " is another file than the one that was loaded.");
  EXPECT_TRUE(FunctionPrototypes::open(path, "").ok());
}

}  // namespace
}  // namespace patchbay
