// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "symbol/symbol.h"

namespace patchbay {
namespace {

using Names = std::vector<std::string>;

const std::vector<std::string_view> kNames = {"sqlite3_prepare",
                                              "sqlite3_prepare_v2",
                                              "sqlite3_prepare_v3",
                                              "sqlite3_step",
                                              "sqlite3_open",
                                              "memcpy",
                                              "memmove",
                                              "openat",
                                              "openat",
                                              "open",
                                              "BIO_new",
                                              "x"};

TEST(NearMatches, BestFirst) {
  EXPECT_EQ(near_matches("sqlite3_prepar_v2", kNames),
            (Names{"sqlite3_prepare_v2", "sqlite3_prepare_v3", "sqlite3_prepare"}));
  EXPECT_EQ(near_matches("memcyp", kNames, 1), Names{"memcpy"});
  EXPECT_EQ(near_matches("bio_new", kNames, 1), Names{"BIO_new"});
}

TEST(NearMatches, CompletesHalfAWord) {
  EXPECT_EQ(near_matches("sqlite3_s", kNames, 1), Names{"sqlite3_step"});
  EXPECT_EQ(near_matches("prepare_v3", kNames, 1), Names{"sqlite3_prepare_v3"});
}

TEST(NearMatches, NamesNothingThatIsFar) {
  EXPECT_TRUE(near_matches("completely_different", kNames).empty());
  EXPECT_TRUE(near_matches("", kNames).empty());
  EXPECT_TRUE(near_matches(std::string(5000, 'a'), kNames).empty());
  EXPECT_TRUE(near_matches("memcpy", {}).empty());
}

TEST(NearMatches, NamesEachOnceAndNoMoreThanAsked) {
  EXPECT_EQ(near_matches("openaz", kNames), (Names{"openat", "open"}));
  EXPECT_EQ(near_matches("sqlite3_prepare", kNames, 2).size(), 2u);
  EXPECT_TRUE(near_matches("memcpy", kNames, 0).empty());
}

}  // namespace
}  // namespace patchbay
