// SPDX-License-Identifier: MIT
#include "cmd/target/process_tree.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

namespace patchbay::cmd {
namespace {

// A child that starts another one at a byte of `gate`, and ends at the next.
class TreeTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(::prctl(PR_SET_CHILD_SUBREAPER, 1), 0);  // orphans come to us, and can be waited for
    ASSERT_EQ(::pipe(gate_), 0);
    ASSERT_EQ(::pipe(news_), 0);
    parent_ = ::fork();
    if (parent_ == 0) {
      ::close(gate_[1]);  // else the end of the test would end nobody
      char byte;
      (void)!::read(gate_[0], &byte, 1);
      const pid_t child = ::fork();
      if (child == 0)
        for (;;) ::pause();
      (void)!::write(news_[1], &child, sizeof child);
      (void)!::read(gate_[0], &byte, 1);
      ::_exit(0);
    }
    ASSERT_GT(parent_, 0);
  }
  void TearDown() override {
    for (const pid_t pid : {parent_, child_})
      if (pid > 0 && ::kill(pid, SIGKILL) == 0) ::waitpid(pid, nullptr, 0);
    for (const int fd : {gate_[0], gate_[1], news_[0], news_[1]}) ::close(fd);
    ::prctl(PR_SET_CHILD_SUBREAPER, 0);
  }
  void tell() { ASSERT_EQ(::write(gate_[1], "", 1), 1); }

  int gate_[2] = {-1, -1}, news_[2] = {-1, -1};
  pid_t parent_ = -1, child_ = -1;
};

TEST_F(TreeTest, WhoComesLaterIsInIt) {
  ProcessTrees trees;
  ASSERT_TRUE(trees.begin({uint64_t(parent_)}).ok());
  EXPECT_EQ(trees.living(), std::set<int>{parent_});
  tell();
  ASSERT_EQ(::read(news_[0], &child_, sizeof child_), ssize_t(sizeof child_));
  trees.look();
  EXPECT_EQ(trees.living(), (std::set<int>{parent_, child_}));
  EXPECT_FALSE(trees.has(::getpid()));
}

TEST_F(TreeTest, WhoWasSeenStaysWhenItsParentHasEnded) {
  ProcessTrees trees;
  tell();
  ASSERT_EQ(::read(news_[0], &child_, sizeof child_), ssize_t(sizeof child_));
  ASSERT_TRUE(trees.begin({uint64_t(parent_)}).ok());
  tell();
  ASSERT_EQ(::waitpid(parent_, nullptr, 0), parent_);
  parent_ = -1;
  trees.look();
  EXPECT_EQ(trees.living(), std::set<int>{child_});
  ::kill(child_, SIGKILL);
  ::waitpid(child_, nullptr, 0);
  child_ = -1;
  trees.look();
  EXPECT_FALSE(trees.lives());
}

TEST(ProcessTrees, NobodyIsOfNoTree) {
  ProcessTrees trees;
  ASSERT_TRUE(trees.begin({}).ok());
  trees.look();
  EXPECT_FALSE(trees.lives());
}

TEST(ProcessTrees, ARootThatIsNotThereIsAnError) {
  ProcessTrees trees;
  const Status begun = trees.begin({uint64_t{1} << 40});
  ASSERT_FALSE(begun.ok());
  EXPECT_EQ(begun.error().errno_value, ESRCH);
}

}  // namespace
}  // namespace patchbay::cmd
