// SPDX-License-Identifier: MIT
#include "debug_info/source_lines.h"

#include <gtest/gtest.h>

#include "debug_info/dwarf_testing.h"

namespace patchbay {
namespace {

TEST(NearestLines, OfThoseThatThereAre) {
  const std::vector<int> lines = {10, 14, 20};
  const std::pair<int, const char*> rows[] = {{1, "; nearest 10"},         {11, "; nearest 10"},
                                              {12, "; nearest 10 and 14"}, {13, "; nearest 14"},
                                              {17, "; nearest 14 and 20"}, {99, "; nearest 20"}};
  for (const auto& [line, expected] : rows) EXPECT_EQ(nearest_lines(lines, line), expected) << line;
  EXPECT_EQ(nearest_lines({}, 3), "");
}

class Lines : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Objects, Lines,
                         ::testing::Values("values_4", "values_5", "values_z", "values_clang"));

TEST_P(Lines, OfFunctionsAndFiles) {
  if (!test::has_object(GetParam())) GTEST_SKIP();
  const auto info = test::open_info(test::object_path(GetParam()));
  ASSERT_TRUE(info);
  const UnitIndex index(*info);
  FunctionFinder finder(*info, index);
  SourceLines lines;
  const FunctionInstance reads = (*finder.find("reads", "")).front();
  EXPECT_EQ(SourceLines::first_line_of(reads), 100);
  EXPECT_TRUE(SourceLines::file_of(reads).ends_with("/values.c"));
  const SourceLines::Addresses found = lines.lines_of(reads);
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(found.begin()->first, 100);
  EXPECT_EQ(found.begin()->second, std::vector{reads.entry});
  EXPECT_LE(found.rbegin()->first, 106);
  for (const auto& [line, addresses] : found) {
    ASSERT_EQ(addresses.size(), 1u);
    const uint64_t address = addresses[0];
    EXPECT_TRUE(holds(reads.die, address)) << line;
    const int there = lines.line_at(reads.die, address);  // optimised code may have several
    EXPECT_TRUE(GetParam() == std::string("values_4") ? there == line : found.contains(there))
        << there << " " << line;
  }

  std::vector<int> all;
  const auto places = lines.places_of(index, finder, "other.c", 51, &all);
  ASSERT_EQ(places.size(), 1u);
  EXPECT_EQ(places[0].instance.name, "in_other");
  EXPECT_EQ(lines.line_at(places[0].instance.die, places[0].address), 51);
  EXPECT_EQ(all.front(), 50);
  EXPECT_TRUE(std::is_sorted(all.begin(), all.end()));
  all.clear();
  EXPECT_TRUE(lines.places_of(index, finder, "other.c", 7, &all).empty());
  EXPECT_FALSE(all.empty());
  all.clear();
  EXPECT_TRUE(lines.places_of(index, finder, "nothing.c", 51, &all).empty());
  EXPECT_TRUE(all.empty());
}

// A line of an inlined function has a place in each copy.
TEST(LinesOfCopies, EachHasItsPlace) {
  const auto info = test::open_info(test::object_path("values_4"));
  ASSERT_TRUE(info);
  const UnitIndex index(*info);
  FunctionFinder finder(*info, index);
  std::vector<int> all;
  const auto places = SourceLines().places_of(index, finder, "values.c", 300, &all);
  ASSERT_EQ(places.size(), 2u);
  EXPECT_LT(places[0].address, places[1].address);
  for (const auto& place : places) EXPECT_TRUE(place.instance.is_inlined);
}

// A line with code in both parts of a function has both places, the hot one first.
TEST(SourceLinesOfParts, AreAllPlaces) {
  const auto info = test::open_info(test::object_path("cold_5"));
  ASSERT_TRUE(info);
  if (test::made_by_clang(*info)) GTEST_SKIP() << "clang does not split functions";
  const UnitIndex index(*info);
  FunctionFinder finder(*info, index);
  const FunctionInstance split = (*finder.find("split", "")).front();
  SourceLines lines;
  const std::vector<uint64_t> places = lines.lines_of(split).at(103);
  ASSERT_EQ(places.size(), 2u);
  EXPECT_GT(places[0], split.entry);
  EXPECT_LT(places[1], split.entry);
  std::vector<int> all;
  EXPECT_EQ(lines.places_of(index, finder, "cold.c", 103, &all).size(), 2u);
}

}  // namespace
}  // namespace patchbay
