// SPDX-License-Identifier: MIT
#include "cmd/target/kept_source.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <chrono>
#include <filesystem>

namespace patchbay::cmd {
namespace {

namespace fs = std::filesystem;

class KeptSourceTest : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/kept_source.XXXXXX";
    directory_ = ::mkdtemp(name);
    path_ = directory_ + "/program";
    fs::copy_file("/proc/self/exe", path_);
  }
  void TearDown() override { fs::remove_all(directory_); }

  // Which one a use has had.
  SourceProbes* one_use() {
    Result<KeptSource> source = KeptSource::open(path_);
    return source.ok() ? &**source : nullptr;
  }

  std::string directory_, path_;
};

TEST_F(KeptSourceTest, TheNextUseHasTheSame) {
  SourceProbes* const first = one_use();
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(one_use(), first);
}

// Of inlined copies nothing is found where many functions are expected.
TEST_F(KeptSourceTest, TheNextUseExpectsNothing) {
  SourceProbes* first = nullptr;
  {
    Result<KeptSource> source = KeptSource::open(path_);
    ASSERT_TRUE(source.ok()) << source.error().message();
    first = &**source;
    first->expect_many(true);
  }
  Result<KeptSource> again = KeptSource::open(path_);
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(&**again, first);
  EXPECT_FALSE((*again)->expects_many());
}

TEST_F(KeptSourceTest, TwoAtOneTimeHaveTheirOwn) {
  Result<KeptSource> one = KeptSource::open(path_), two = KeptSource::open(path_);
  ASSERT_TRUE(one.ok() && two.ok());
  EXPECT_NE(&**one, &**two);
  KeptSource moved = std::move(*one);
  EXPECT_NE(&*moved, &**two);
}

TEST_F(KeptSourceTest, AFileThatHasChangedIsOpenedAgain) {
  SourceProbes* const old = one_use();  // it is still kept: its address is not another's
  ASSERT_NE(old, nullptr);
  fs::last_write_time(path_, fs::last_write_time(path_) + std::chrono::seconds(2));
  EXPECT_NE(one_use(), old);
  fs::remove(path_);
  EXPECT_EQ(one_use(), nullptr);
}

}  // namespace
}  // namespace patchbay::cmd
