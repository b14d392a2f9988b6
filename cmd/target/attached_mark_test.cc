// SPDX-License-Identifier: MIT
#include "cmd/target/attached_mark.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

namespace patchbay::cmd {
namespace {

namespace fs = std::filesystem;

class AttachedMarkTest : public ::testing::Test {
 protected:
  AttachedMarkTest() {
    char name[] = "/tmp/mark.XXXXXX";
    if (::mkdtemp(name)) runtime_ = name;
  }
  ~AttachedMarkTest() override { fs::remove_all(runtime_); }
  bool has_mark(int pid) const { return fs::exists(attached_mark_path(runtime_, pid)); }

  std::string runtime_;
};

TEST(StartTime, IsThatOfTheProcess) {
  EXPECT_GT(std::atoll(start_time_of(::getpid()).c_str()), 0);
  EXPECT_EQ(start_time_of(0x3fffff), "");
  const pid_t child = ::fork();
  if (child == 0) {
    ::pause();
    ::_exit(0);
  }
  const std::string since = start_time_of(child);
  EXPECT_GE(std::atoll(since.c_str()), std::atoll(start_time_of(::getpid()).c_str()));
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_EQ(start_time_of(child), "");
}

TEST_F(AttachedMarkTest, BelongsToTheProcessThatItWasWrittenFor) {
  EXPECT_FALSE(AttachedMark::lock_if_there(runtime_, 77).value().is_locked());
  {
    AttachedMark mark = std::move(AttachedMark::lock(runtime_, 77).value());
    ASSERT_TRUE(mark.is_locked());
    EXPECT_FALSE(mark.is_of("123"));
    EXPECT_FALSE(mark.is_of(""));
    EXPECT_TRUE(mark.write("1234567").ok());
    EXPECT_TRUE(mark.write("123").ok());
    EXPECT_TRUE(mark.is_of("123"));
    EXPECT_FALSE(mark.is_of("12"));
    EXPECT_FALSE(mark.is_of("1234"));
  }
  AttachedMark again = std::move(AttachedMark::lock_if_there(runtime_, 77).value());
  ASSERT_TRUE(again.is_locked());
  EXPECT_TRUE(again.is_of("123"));
  again.remove();
  EXPECT_FALSE(has_mark(77));
}

// Whoever waits for a mark that is removed meanwhile gets the next one, and not the old file.
TEST_F(AttachedMarkTest, OneThatWasRemovedMeanwhileIsNotTaken) {
  AttachedMark first = std::move(AttachedMark::lock(runtime_, 77).value());
  EXPECT_TRUE(first.write("1").ok());
  bool is_of_first = true;
  std::thread waits([&] {
    AttachedMark second = std::move(AttachedMark::lock(runtime_, 77).value());
    is_of_first = second.is_of("1");
    EXPECT_TRUE(second.write("2").ok());
  });
  ::usleep(30000);
  first.remove();
  first = AttachedMark();
  waits.join();
  EXPECT_FALSE(is_of_first);
  EXPECT_TRUE(AttachedMark::lock_if_there(runtime_, 77).value().is_of("2"));
}

TEST_F(AttachedMarkTest, StaleOnesAreThoseOfProcessesThatHaveEnded) {
  for (const int pid : {0x3fffff, 1})
    EXPECT_TRUE(AttachedMark::lock(runtime_, pid).value().write("not its start time").ok());
  EXPECT_TRUE(
      AttachedMark::lock(runtime_, ::getpid()).value().write(start_time_of(::getpid())).ok());
  std::ofstream(runtime_ + "/x.attached") << "1\n";
  std::ofstream(runtime_ + "/12.other") << "1\n";
  AttachedMark held = std::move(AttachedMark::lock(runtime_, 0x3ffffe).value());
  EXPECT_TRUE(held.write("1").ok());  // a command is at work with it
  const std::vector<std::string> wanted = {attached_mark_path(runtime_, 1),
                                           attached_mark_path(runtime_, 0x3fffff)};
  EXPECT_EQ(stale_marks(runtime_), wanted);
  EXPECT_TRUE(remove_stale_mark(wanted[0], true));
  EXPECT_TRUE(has_mark(1));
  EXPECT_TRUE(remove_stale_mark(wanted[0], false));
  EXPECT_FALSE(has_mark(1));
  EXPECT_FALSE(remove_stale_mark(attached_mark_path(runtime_, ::getpid()), false));
  EXPECT_TRUE(has_mark(::getpid()));
}

TEST_F(AttachedMarkTest, ADiskThatIsFullIsNoMark) {
  AttachedMark mark = std::move(AttachedMark::lock(runtime_, 77).value());
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit none = {0, before.rlim_max};
  ::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &none), 0);
  const Status written = mark.write("123");
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  ::signal(SIGXFSZ, SIG_DFL);
  ASSERT_FALSE(written.ok());
  EXPECT_EQ(written.error().errno_value, EFBIG);
}

}  // namespace
}  // namespace patchbay::cmd
