// SPDX-License-Identifier: MIT
#include "cmd/target/inside_ids.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace patchbay::cmd {
namespace {

TEST(InsideIds, NumbersOfAStatusFile) {
  struct Row {
    const char* text;
    std::vector<int> numbers;
  };
  const Row rows[] = {
      {"Name:\tsh\nNSpid:\t30817\t1\nNSsid:\t5\n", {30817, 1}},
      {"NSpid:\t12\n", {12}},
      {"NSpid:\t12\t7\t1", {12, 7, 1}},
      {"Name:\tNSpid:\t3\n", {}},
      {"NSpid:\n", {}},
      {"", {}},
  };
  for (const Row& row : rows) EXPECT_EQ(numbers_in(row.text), row.numbers) << row.text;
}

TEST(InsideIds, WeAreInNoNamespaceOfOurOwn) {
  InsideIds ids(::getpid());
  ids.look();
  EXPECT_FALSE(ids.is_inside());
  EXPECT_TRUE(ids.outside().empty());
  EXPECT_EQ(number_inside(0), 0);
}

}  // namespace
}  // namespace patchbay::cmd
