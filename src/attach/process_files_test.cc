// SPDX-License-Identifier: MIT
#include "attach/process_files.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "attach/target_fixture.h"
#include "base/file_mapping.h"
#include "base/foreign_file.h"
#include "symbol/elf_image.h"
#include "symbol/held_files.h"

namespace patchbay::attach {
namespace {

std::string bytes_of(const std::string& path) {
  const Result<std::string> read = read_foreign_file(path, kMostMappedFile);
  return read.ok() ? read.value() : read.error().message();
}

// A copy of sleep, which runs until the end of the test.
class ProcessFiles : public ::testing::Test {
 protected:
  ProcessFiles() {
    char name[] = "/tmp/process_files.XXXXXX";
    if (::mkdtemp(name)) top_ = std::filesystem::canonical(name);
    program_ = top_ + "/sleeper";
    std::filesystem::copy_file(std::filesystem::canonical("/proc/self/exe"), top_ + "/other");
    std::filesystem::copy_file("/bin/sleep", program_);
    whole_ = bytes_of(program_);
    pid_ = ::fork();
    if (pid_ == 0) {
      ::execl(program_.c_str(), "sleeper", "1000", nullptr);
      ::_exit(1);
    }
    EXPECT_TRUE(soon([this] { return program().name == program_ && !of_libc().path.empty(); }));
  }
  ~ProcessFiles() override {
    end();
    std::filesystem::remove_all(top_);
  }
  void end() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(std::exchange(pid_, 0), nullptr, 0);
  }
  ProcessFile of_libc() const {
    for (const ProcessFile& file : files_of(pid_))
      if (file.name.find("/libc.so.6") != file.name.npos) return file;
    return {};
  }
  ProcessFile program() const {
    const std::vector<ProcessFile> files = files_of(pid_);
    return files.empty() || !files.front().is_program ? ProcessFile() : files.front();
  }

  std::string top_, program_, whole_;
  pid_t pid_ = 0;
};

TEST_F(ProcessFiles, AreThoseOfTheirPathsWhereTheseLeadThere) {
  EXPECT_EQ(program().name, program_);
  EXPECT_EQ(program().path, program_);
  EXPECT_FALSE(program().is_gone);
  EXPECT_EQ(of_libc().path, of_libc().name);
}

TEST_F(ProcessFiles, ThatWereRemovedOrReplacedAreWhatIsMapped) {
  const std::vector<std::function<void()>> changes = {
      [this] { std::filesystem::remove(program_); },
      [this] { std::filesystem::copy_file(top_ + "/other", program_); }};
  for (const auto& change : changes) {
    change();
    const ProcessFile file = program();
    EXPECT_TRUE(file.is_gone);
    EXPECT_EQ(file.name, program_);
    EXPECT_EQ(split_process_path(file.path).inside, program_);
    EXPECT_TRUE(bytes_of(file.path) == whole_) << file.path;
  }
}

TEST_F(ProcessFiles, AreHeldForTheTimeAfterTheProcess) {
  auto image_of = [](Result<FileMapping>& file) { return ElfImage::from_file(file->bytes()); };
  Result<FileMapping> bytes = FileMapping::open(program_);
  ASSERT_TRUE(bytes.ok());
  const std::string build_id = image_of(bytes)->build_id();
  hold_files_of(pid_);
  std::filesystem::remove(program_);
  end();
  const std::string place = place_of_file(program_, build_id);
  EXPECT_NE(place, program_);
  EXPECT_TRUE(bytes_of(place) == whole_) << place;
  // Another build's file of this path is not taken for it.
  EXPECT_EQ(place_of_file(program_, "0123456789"), program_);
}

}  // namespace
}  // namespace patchbay::attach
