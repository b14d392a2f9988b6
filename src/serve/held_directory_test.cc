// SPDX-License-Identifier: MIT
#include "serve/held_directory.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace patchbay::serve {
namespace {

namespace fs = std::filesystem;

class HeldDirectoryTest : public ::testing::Test {
 protected:
  HeldDirectoryTest() {
    char name[] = "/tmp/held.XXXXXX";
    if (::mkdtemp(name)) top_ = name;
  }
  ~HeldDirectoryTest() override { fs::remove_all(top_); }

  std::string make(const std::string& name) {
    fs::create_directories(top_ + "/" + name + "/instances/one");
    std::ofstream(top_ + "/" + name + "/instances/one/buffer") << "bytes";
    std::ofstream(top_ + "/" + name + "/buffer") << "bytes";
    return top_ + "/" + name;
  }
  bool has(const std::string& name) { return fs::exists(fs::symlink_status(top_ + "/" + name)); }

  std::string top_;
};

TEST_F(HeldDirectoryTest, GoesWithAllThatIsInIt) {
  HeldDirectory held = HeldDirectory::open(make("12"));
  make("123");
  EXPECT_TRUE(held.is_in_place());
  held.remove();
  EXPECT_FALSE(has("12"));
  EXPECT_TRUE(has("123/buffer"));
  EXPECT_FALSE(held.is_in_place());
}

TEST_F(HeldDirectoryTest, GoesUnderItsNewNameAndLeavesTheLaterOne) {
  HeldDirectory held = HeldDirectory::open(make("12"));
  fs::rename(top_ + "/12", top_ + "/12.3");
  make("12");
  EXPECT_FALSE(held.is_in_place());
  struct stat moved = {};
  ASSERT_EQ(::stat((top_ + "/12.3").c_str(), &moved), 0);
  EXPECT_TRUE(held.is_held());
  EXPECT_TRUE(held.is(moved.st_dev, moved.st_ino));
  EXPECT_FALSE(HeldDirectory::open(top_ + "/12").is(moved.st_dev, moved.st_ino));
  EXPECT_FALSE(HeldDirectory::open(top_ + "/none").is_held());
  held.remove();
  EXPECT_FALSE(has("12.3"));
  EXPECT_TRUE(has("12/buffer"));
}

TEST_F(HeldDirectoryTest, FollowsNoLink) {
  const std::string other = make("elsewhere");
  HeldDirectory held = HeldDirectory::open(make("12"));
  fs::create_directory_symlink(other, top_ + "/12/instances/two");
  fs::create_symlink(other + "/buffer", top_ + "/12/three");
  held.remove();
  EXPECT_FALSE(has("12"));
  EXPECT_TRUE(has("elsewhere/buffer"));
  EXPECT_TRUE(has("elsewhere/instances/one/buffer"));

  fs::create_directory_symlink(other, top_ + "/13");
  HeldDirectory link = HeldDirectory::open(top_ + "/13");
  link.remove();
  EXPECT_TRUE(has("13"));
  EXPECT_TRUE(has("elsewhere/buffer"));
}

TEST_F(HeldDirectoryTest, OneThatHasGoneIsNoMatter) {
  HeldDirectory held = HeldDirectory::open(make("12"));
  fs::remove_all(top_ + "/12");
  held.remove();
  HeldDirectory none = HeldDirectory::open(top_ + "/14");
  EXPECT_FALSE(none.is_in_place());
  none.remove();
  EXPECT_TRUE(fs::is_empty(top_));
}

}  // namespace
}  // namespace patchbay::serve
