// SPDX-License-Identifier: MIT
#include "base/foreign_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <filesystem>
#include <fstream>

#include "base/file_mapping.h"
#include "base/mapped_files.h"
#include "base/testing.h"

namespace patchbay {
namespace {

class ForeignFile : public testing::Test {
 protected:
  ForeignFile() {
    std::string name = testing::TempDir() + "foreign_XXXXXX";
    top_ = ::mkdtemp(name.data());
  }
  ~ForeignFile() override { std::filesystem::remove_all(top_); }

  std::string path(const std::string& name) const { return top_ + "/" + name; }
  std::string file(const std::string& name, const std::string& text) const {
    std::ofstream(path(name)) << text;
    return path(name);
  }

  std::string top_;
};

// Each answers at once, and of none anything is read.
TEST_F(ForeignFile, WhatIsNoOrdinaryFileIsRefused) {
  ASSERT_EQ(::mkfifo(path("fifo").c_str(), 0600), 0);
  std::filesystem::create_symlink("fifo", path("link_to_fifo"));
  std::filesystem::create_symlink("plain", path("link"));
  std::filesystem::create_symlink("self", path("self"));
  file("plain", std::string(20000, 'x'));
  const struct {
    std::string path;
    Links links;
    int error;  // 0: it is read
  } cases[] = {
      {path("plain"), Links::kRefuse, 0},     {path("link"), Links::kFollow, 0},
      {path("link"), Links::kRefuse, ELOOP},  {path("self"), Links::kFollow, ELOOP},
      {path("fifo"), Links::kFollow, EINVAL}, {path("link_to_fifo"), Links::kFollow, EINVAL},
      {"/dev/zero", Links::kFollow, EINVAL},  {top_, Links::kFollow, EISDIR},
      {path("none"), Links::kFollow, ENOENT}};
  for (const auto& one : cases) {
    const Result<std::string> read = read_foreign_file(one.path, 20000, one.links);
    EXPECT_EQ(read.ok() ? 0 : read.error().errno_value, one.error) << one.path;
    const Result<FileMapping> mapped = FileMapping::open(one.path);
    EXPECT_EQ(mapped.ok(), one.error == 0 || one.links == Links::kRefuse) << one.path;
  }
  EXPECT_EQ(read_foreign_file(path("plain"), 19999).error().errno_value, EFBIG);
  EXPECT_EQ(read_foreign_file("/proc/self/maps", 20000).value(), "");
}

// A container's link leads to the container's file, and never to the host's.
TEST_F(ForeignFile, AnotherRootIsNotLeft) {
  const std::string host = file("host", "the host's");
  std::filesystem::create_directories(path("root/etc"));
  file("root/etc/own", "its own");
  std::filesystem::create_symlink("/etc", path("root/absolute"));
  std::filesystem::create_symlink(top_, path("root/out"));
  std::filesystem::create_symlink("../../../../../.." + host, path("root/up"));
  ASSERT_EQ(::mkfifo(path("root/fifo").c_str(), 0600), 0);
  const struct {
    const char *path, *text;  // null: refused
  } cases[] = {{"/etc/own", "its own"},    {"/absolute/own", "its own"},
               {"/../etc/own", "its own"}, {"/out/host", nullptr},
               {"/up", nullptr},           {"/../host", nullptr},
               {"/absolute", nullptr},     {"/fifo", nullptr},
               {"/none", nullptr}};
  for (const auto& one : cases) {
    const Result<std::string> read = read_in_root(path("root"), one.path, 100);
    ASSERT_EQ(read.ok(), one.text != nullptr) << one.path;
    EXPECT_EQ(read.ok() ? read.value() : "", one.text ? one.text : "") << one.path;
  }
}

// Before Linux 5.6: no link is followed.
TEST_F(ForeignFile, AnotherRootIsNotLeftWithoutOpenat2) {
  std::filesystem::create_directories(path("root/etc"));
  file("root/etc/own", "its own");
  std::filesystem::create_symlink("etc", path("root/inside"));
  file("host", "the host's");
  const int status = test::status_of_child([&] {
    sock_filter filter[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
                            BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat2, 0, 1),
                            BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
                            BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    const sock_fprog program = {4, filter};
    if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
      return 1;
    const auto is_read = [&](const char* name) {
      return read_in_root(path("root"), name, 100).ok();
    };
    return is_read("/etc/./own") && !is_read("/inside/own") && !is_read("/../host") ? 0 : 2;
  });
  EXPECT_EQ(status, 0);
}

TEST_F(ForeignFile, ThePathOfAProcessHasTwoParts) {
  const struct {
    std::string path, place, inside;
    bool is_in_root = false;
  } cases[] = {{"/proc/7/root//usr/bin/x", "/proc/7/root", "/usr/bin/x", true},
               {"/proc/7/exe//usr/bin/x", "/proc/7/exe", "/usr/bin/x"},
               {"/proc/7/map_files/55aa-55bb//x y", "/proc/7/map_files/55aa-55bb", "/x y"},
               {"/proc/self/fd/5//a//b", "/proc/self/fd/5", "/a//b"},
               {"/proc/7/root/usr/bin/x", "", "/proc/7/root/usr/bin/x"},
               {"/usr//bin/x", "", "/usr//bin/x"},
               {"", "", ""}};
  for (const auto& one : cases) {
    const ProcessPath found = split_process_path(one.path);
    EXPECT_EQ(found.place, one.place) << one.path;
    EXPECT_EQ(found.inside, one.inside) << one.path;
    EXPECT_EQ(found.is_in_root(), one.is_in_root) << one.path;
  }
}

// In the root of a process no link leads out of it, as none does in open_in_root().
TEST_F(ForeignFile, APathOfAProcessLeadsToItsFile) {
  const std::string name = file("mine", "mine");
  std::filesystem::create_symlink("/proc/self/root", path("out"));
  const UniqueFd held(::open(name.c_str(), O_RDONLY | O_CLOEXEC));
  std::filesystem::remove(name);
  file("mine", "another");
  const std::string by_number = "/proc/self/fd/" + std::to_string(held.get());
  EXPECT_EQ(read_foreign_file(by_number + "//gone/there", 100).value(), "mine");
  EXPECT_EQ(read_foreign_file("/proc/self/root/" + name, 100).value(), "another");
  EXPECT_FALSE(read_foreign_file("/proc/self/root/" + path("out") + name, 100).ok());
}

// Where a page has gone zeros are read, and the file is named.
TEST_F(ForeignFile, AFileThatIsCutShortIsNoEnd) {
  constexpr size_t kSize = 3 * 4096 + 100;
  const auto read_while_it_is_cut = [&](Result<FileMapping> mapped, const std::string& name) {
    if (!mapped.ok() || mapped->size() != kSize || mapped->data()[kSize - 1] != 'x') return 1;
    if (::truncate(name.c_str(), 4096 + 7) != 0) return 2;
    const uint8_t* bytes = mapped->data();
    const bool is_right =
        bytes[0] == 'x' && bytes[4096 + 6] == 'x' && bytes[2 * 4096] == 0 && bytes[kSize - 1] == 0;
    return is_right && changed_file() == name ? 0 : 3;
  };
  for (const auto& open : {FileMapping::open, FileMapping::open_private}) {
    const std::string name = file("cut", std::string(kSize, 'x'));
    EXPECT_EQ(test::status_of_child([&] {
                const MappedFilesGuard guard;
                Result<FileMapping> gone = open(name);
                gone.value().reset();  // its place is used again
                return read_while_it_is_cut(open(name), name);
              }),
              0);
  }
}

TEST_F(ForeignFile, WhatIsKeptOfAPrivateFileStays) {
  const std::string name = file("private", std::string(8192, 'x'));
  Result<FileMapping> mapped = FileMapping::open_private(name);
  ASSERT_TRUE(mapped.ok());
  mapped->data()[0] = 'y';
  mapped->keep(4096, 1);
  std::ofstream(name) << std::string(4097, 'z');
  EXPECT_EQ(mapped->data()[0], 'z');  // it has gone with the file's page
  EXPECT_EQ(mapped->data()[4096], 'x');
  EXPECT_EQ(mapped->data()[8192], 0);  // the page behind it
}

// The fault of the program is its own, and finds its own handler.
TEST_F(ForeignFile, AnotherBusErrorIsNotOurs) {
  const std::string name = file("other", "x");
  const int status = test::status_of_child([&] {
    struct sigaction own = {};
    own.sa_handler = [](int) { ::_exit(7); };
    ::sigaction(SIGBUS, &own, nullptr);
    const MappedFilesGuard guard;
    const UniqueFd fd(::open(name.c_str(), O_RDONLY));
    auto* page =
        static_cast<volatile char*>(::mmap(nullptr, 8192, PROT_READ, MAP_PRIVATE, fd.get(), 0));
    return page[4096] == 'x';
  });
  EXPECT_EQ(status, 7 << 8);
}

}  // namespace
}  // namespace patchbay
