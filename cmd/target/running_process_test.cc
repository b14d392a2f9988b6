// SPDX-License-Identifier: MIT
#include "cmd/target/running_process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "base/unique_fd.h"

namespace patchbay::cmd {
namespace {

// What a child is, while it waits: first as our image, then as another program's.
TEST(RunningProcess, AnExecIsAnotherImageOfTheSameProcess) {
  int gate[2];
  ASSERT_EQ(::pipe(gate), 0);
  const pid_t pid = ::fork();
  if (pid == 0) {
    char byte;
    (void)!::read(gate[0], &byte, 1);
    ::execl("/bin/sleep", "sleep", "100", nullptr);
    ::_exit(1);
  }
  const auto before = running_process(pid);
  ASSERT_TRUE(before);
  EXPECT_EQ(before->parent, ::getpid());
  EXPECT_FALSE(before->has_ended);
  EXPECT_TRUE(running_process(pid)->is_same_program(*before));
  EXPECT_FALSE(running_process(::getpid())->is_same_process(*before));
  ASSERT_EQ(::write(gate[1], "", 1), 1);
  for (int i = 0; i < 2000 && short_name_of(pid) != "sleep"; i++) ::usleep(5000);
  std::optional<RunningProcess> after = running_process(pid);
  for (int i = 0; i < 2000 && (after->is_same_program(*before) || command_line_of(pid).empty());
       i++) {
    ::usleep(5000);  // the name comes before the memory is complete, and this before the words
    after = running_process(pid);
  }
  EXPECT_TRUE(after->is_same_process(*before));
  EXPECT_FALSE(after->is_same_program(*before));
  EXPECT_EQ(command_line_of(pid), (std::vector<std::string>{"sleep", "100"}));
  ::kill(pid, SIGKILL);
  siginfo_t info;
  ASSERT_EQ(::waitid(P_PID, id_t(pid), &info, WEXITED | WNOWAIT), 0);
  EXPECT_TRUE(running_process(pid)->has_ended);
  ::waitpid(pid, nullptr, 0);
  EXPECT_FALSE(running_process(pid));
  ::close(gate[0]), ::close(gate[1]);
}

TEST(RunningProcess, WhoseBufferIsMapped) {
  const std::string maps =
      "7f00-7f01 rw-s 00000000 00:1d 99 /run/pb/12/instances/x/buffer\n"
      "7f01-7f02 r--s 00000000 00:1d 98 /run/pb/13/buffer\n"
      "7f02-7f03 rw-s 00000000 00:1d 97 /run/pb/14.2/buffer\n";
  EXPECT_EQ(buffer_owner_in(maps, "/run/pb"), 12);
  EXPECT_EQ(buffer_owner_in(maps.substr(maps.find("7f01-7f02")), "/run/pb"), 14);
  EXPECT_EQ(buffer_owner_in(maps, "/run"), 0);
  EXPECT_EQ(buffer_owner_in("", "/run/pb"), 0);
  EXPECT_EQ(records_with(::getpid(), "/run/pb"), 0);
}

// Also when the process has executed another program, or the directory is gone. Who asks has not
// mapped the file.
TEST(RunningProcess, AForkedChildWritesIntoItsParentsBuffer) {
  char top[] = "/tmp/patchbay-mapped.XXXXXX";
  ASSERT_NE(::mkdtemp(top), nullptr);
  const std::string directory = std::string(top) + "/12", moved = directory + ".1";
  std::filesystem::create_directory(directory);
  const auto map = [](const std::string& path) {
    UniqueFd fd(::open(path.c_str(), O_RDWR | O_CREAT, 0600));
    EXPECT_EQ(::ftruncate(fd.get(), 4096), 0);
    return ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
  };
  void* const at = map(directory + "/buffer");
  ASSERT_NE(at, MAP_FAILED);
  const pid_t pid = ::fork();
  if (pid == 0) ::pause();
  ::munmap(at, 4096);
  const MappedBuffer buffer = mapped_buffer(directory);
  const auto writers = [&buffer] {
    std::vector<int> pids;
    for (const RunningProcess& one : writers_of(buffer, shared_maps())) pids.push_back(one.pid);
    return pids;
  };
  const std::vector<int> child{pid};
  EXPECT_EQ(writers(), child);
  std::filesystem::rename(directory, moved);
  EXPECT_EQ(writers(), child);
  EXPECT_FALSE((MappedBuffer{buffer.inode, "1"}).is_in(" "));
  EXPECT_TRUE(writers_of({buffer.inode, "13"}, shared_maps()).empty());
  EXPECT_TRUE(writers_of({buffer.inode + 1, "12"}, shared_maps()).empty());
  std::filesystem::remove_all(moved);
  EXPECT_EQ(writers(), child);
  ::kill(pid, SIGKILL);
  ::waitpid(pid, nullptr, 0);
  EXPECT_TRUE(writers().empty());
  EXPECT_TRUE(writers_of(mapped_buffer(directory), shared_maps()).empty());
  std::filesystem::remove_all(top);
}

}  // namespace
}  // namespace patchbay::cmd
