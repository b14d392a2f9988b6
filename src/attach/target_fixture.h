// SPDX-License-Identifier: MIT
//
// A program to be attached to: a child of the test that runs a function, and says by shared memory
// what it has seen. What a test loads lies beside it, in attach/.
#pragma once

#include <dirent.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "attach/process_maps.h"
#include "attach/target.h"
#include "base/monotonic_clock.h"
#include "base/unique_fd.h"

namespace patchbay::attach {

inline constexpr char kTestAgent[] = "attach/test_agent.so";
inline constexpr char kBrokenLibrary[] = "attach/broken_library.so";
inline constexpr int kPatienceMs = 20000;

// Whether it comes true in time.
inline bool soon(const std::function<bool()>& is_so) {
  const int64_t end = monotonic_ms() + kPatienceMs;
  while (!is_so()) {
    if (monotonic_ms() > end) return false;
    ::usleep(500);
  }
  return true;
}

inline Target target_of(pid_t pid) {
  auto target = Target::open(pid);
  EXPECT_TRUE(target.ok()) << target.error().message();
  return std::move(*target);
}

struct TargetShared {
  std::atomic<int> is_ready, ends, eintrs, errors, rounds;
  std::atomic<uint64_t> word, other_word;
  int pipe[2];
};

class TargetProgram {
 public:
  // `run` sets is_ready when it is about to wait, and should come back after `ends`.
  explicit TargetProgram(const std::function<void(TargetShared&)>& run) {
    shared_ = static_cast<TargetShared*>(::mmap(
        nullptr, sizeof(TargetShared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    EXPECT_EQ(::pipe(shared_->pipe), 0);
    pid_ = ::fork();
    if (pid_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      run(*shared_);
      ::_exit(0);
    }
    EXPECT_TRUE(soon([&] { return shared_->is_ready.load() != 0; }));
  }
  ~TargetProgram() {
    if (pid_ > 0) {
      ::kill(pid_, SIGKILL);
      ::waitpid(pid_, nullptr, 0);
    }
    ::close(shared_->pipe[0]);
    ::close(shared_->pipe[1]);
    ::munmap(shared_, sizeof *shared_);
  }
  TargetProgram(const TargetProgram&) = delete;
  TargetProgram& operator=(const TargetProgram&) = delete;

  pid_t pid() const { return pid_; }
  TargetShared& shared() const { return *shared_; }

  // It ends by itself and has seen nothing.
  void expect_good_end() {
    shared_->ends = 1;
    EXPECT_EQ(::write(shared_->pipe[1], "x", 1), 1);
    int status = -1;
    EXPECT_TRUE(soon([&] { return ::waitpid(pid_, &status, WNOHANG) == pid_; }));
    EXPECT_EQ(status, 0);
    EXPECT_EQ(shared_->errors.load(), 0);
    pid_ = -1;
  }

  std::vector<std::string> descriptors() const { return entries("fd"); }
  std::vector<std::string> threads() const { return entries("task"); }
  // Without the heap, which grows and shrinks as the program works.
  std::vector<std::string> maps() const {
    std::vector<std::string> lines;
    for (const MapLine& line : read_maps(pid_))
      if (line.name != "[heap]")
        lines.push_back(std::to_string(line.range.start) + "-" + std::to_string(line.range.end) +
                        " " + line.name);
    return lines;
  }

 private:
  std::vector<std::string> entries(const char* directory) const {
    std::vector<std::string> names;
    DIR* opened = ::opendir(("/proc/" + std::to_string(pid_) + "/" + directory).c_str());
    while (const dirent* entry = opened ? ::readdir(opened) : nullptr)
      if (entry->d_name[0] != '.') names.push_back(entry->d_name);
    if (opened) ::closedir(opened);
    std::sort(names.begin(), names.end());
    return names;
  }
  TargetShared* shared_;
  pid_t pid_ = -1;
};

}  // namespace patchbay::attach
