// SPDX-License-Identifier: MIT
//
// A process is who it was when it was first looked at: not another program, and not another process
// with its number.
#include "attach/target.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <string>

#include "attach/target_fixture.h"

namespace patchbay::attach {
namespace {

const uint64_t g_word = 0x1234567890;

// A child that waits, and executes a program that waits when a byte comes.
class Waiting {
 public:
  Waiting() {
    EXPECT_EQ(::pipe2(pipe_, O_CLOEXEC), 0);
    pid_ = ::fork();
    if (pid_ != 0) return;
    char byte = 0;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)!::read(pipe_[0], &byte, 1);
    ::execl("/bin/sleep", "sleep", "60", nullptr);
    ::_exit(1);
  }
  ~Waiting() {
    end();
    ::close(pipe_[0]);
    ::close(pipe_[1]);
  }
  Waiting(const Waiting&) = delete;
  pid_t pid() const { return pid_; }
  void execute() {
    EXPECT_EQ(::write(pipe_[1], "x", 1), 1);
    EXPECT_TRUE(soon([&] {
      std::string name;
      std::ifstream("/proc/" + std::to_string(pid_) + "/comm") >> name;
      return name == "sleep";
    }));
  }
  void end() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(std::exchange(pid_, 0), nullptr, 0);
  }

 private:
  pid_t pid_ = 0;
  int pipe_[2];
};

uint64_t address() { return reinterpret_cast<uint64_t>(&g_word); }

void expect_out_of_reach(const Target& target) {
  uint64_t word = 1;
  EXPECT_EQ(target.is_same().ok(), false);
  EXPECT_FALSE(target.is_thread_same(target.pid()).ok());
  const Status written = target.write(address(), &word, sizeof word);
  ASSERT_FALSE(written.ok());
  EXPECT_EQ(written.error().errno_value, ESRCH) << written.error().message();
  EXPECT_FALSE(target.read(address(), &word, sizeof word).ok());
}

TEST(Target, MemoryIsReadAndWrittenWhateverItsProtection) {
  Waiting child;
  const Target target = target_of(child.pid());
  uint64_t word = 0;
  ASSERT_TRUE(target.read(address(), &word, sizeof word).ok());
  EXPECT_EQ(word, g_word);
  word = 77;  // the word is constant
  EXPECT_TRUE(target.write(address(), &word, sizeof word).ok());
  word = 0;
  ASSERT_TRUE(target.read(address(), &word, sizeof word).ok());
  EXPECT_EQ(word, 77u);
  EXPECT_TRUE(target.is_same().ok());
  EXPECT_TRUE(target.is_thread_same(child.pid()).ok());
  EXPECT_FALSE(target.is_thread_same(::getpid()).ok()) << "a thread of another process";
  EXPECT_EQ(target.threads(), std::vector<pid_t>{child.pid()});
}

TEST(Target, AProgramThatIsExecutedLaterIsOutOfReach) {
  Waiting child;
  const Target target = target_of(child.pid());
  child.execute();
  expect_out_of_reach(target);
  EXPECT_FALSE(target.take_descriptor(0).ok() && target.is_same().ok());
}

TEST(Target, AProcessThatGetsItsNumberIsOutOfReach) {
  Waiting child;
  const pid_t number = child.pid();
  const Target target = target_of(number);
  child.end();
  expect_out_of_reach(target);
  // The next process is to have this number. Others may be made meanwhile.
  constexpr int kTries = 200;
  for (int i = 0; i < kTries; i++) {
    std::ofstream last("/proc/sys/kernel/ns_last_pid");
    if (!(last << number - 1 << std::flush)) GTEST_SKIP() << "numbers cannot be chosen here";
    Waiting other;
    if (other.pid() != number) continue;
    expect_out_of_reach(target);
    EXPECT_TRUE(target.threads().empty());
    return;
  }
  GTEST_SKIP() << "the number " << number << " was not given again";
}

}  // namespace
}  // namespace patchbay::attach
