// SPDX-License-Identifier: MIT
#include "symbol/held_files.h"

#include <fcntl.h>
#include <gtest/gtest.h>

namespace patchbay {
namespace {

UniqueFd opened(const char* path) { return UniqueFd(::open(path, O_RDONLY | O_CLOEXEC)); }

TEST(HeldFiles, AreFoundByBuildIdElseByPath) {
  using Places = std::vector<std::string>;
  EXPECT_EQ(places_of_file("/lib/a", "aa"), Places{"/lib/a"});
  EXPECT_TRUE(hold_file({"aa", "/lib/a", "/proc/7/root//lib/a", opened("/proc/self/exe")}));
  EXPECT_FALSE(hold_file({"aa", "/lib/of_another", "", opened("/proc/self/exe")}));
  const Places found = places_of_file("/whatever", "aa");
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0], "/proc/7/root//lib/a");
  EXPECT_TRUE(found[1].starts_with("/proc/self/fd/") && found[1].ends_with("//lib/a")) << found[1];
  EXPECT_EQ(places_of_file("/lib/a", "bb"), Places{"/lib/a"});
  EXPECT_TRUE(hold_file({"bb", "/lib/b", "", opened("/proc/self/exe")}));
  EXPECT_EQ(places_of_file("/lib/b", "bb").front(), "/lib/b");
}

// Two containers may have different files of one path: neither is taken for the other.
TEST(HeldFiles, WithoutABuildIdMustBeOne) {
  EXPECT_TRUE(hold_file({"", "/lib/c", "", opened("/proc/self/exe")}));
  EXPECT_FALSE(hold_file({"", "/lib/c", "", opened("/proc/self/exe")}));
  EXPECT_EQ(places_of_file("/lib/c", "").size(), 1u);
  EXPECT_TRUE(places_of_file("/lib/c", "").front().ends_with("//lib/c"));
  EXPECT_FALSE(hold_file({"", "/lib/c", "", opened("/proc/self/status")}));
  EXPECT_TRUE(places_of_file("/lib/c", "").empty());
}

}  // namespace
}  // namespace patchbay
