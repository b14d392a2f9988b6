// SPDX-License-Identifier: MIT
#include "attach/process_maps.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "attach/target_fixture.h"

namespace patchbay::attach {
namespace {

class LibraryFileTest : public ::testing::Test {
 protected:
  LibraryFileTest() {
    char name[] = "/tmp/library.XXXXXX";
    if (::mkdtemp(name)) top_ = name;
  }
  ~LibraryFileTest() override { std::filesystem::remove_all(top_); }

  std::string path(const char* name) const { return top_ + "/" + name; }
  // A file of a terabyte, of which nothing is on the disk.
  std::string huge(const char* name) const {
    const UniqueFd file(::open(path(name).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0700));
    for (int bits = 40; bits > 30 && ::ftruncate(file.get(), off_t{1} << bits) != 0; bits--) {
    }
    return path(name);
  }

  std::string top_;
};

TEST_F(LibraryFileTest, IsReadToItsEnd) {
  std::ofstream(path("plain")) << std::string(100000, 'x');
  EXPECT_EQ(read_library_file(path("plain")).value(), std::string(100000, 'x'));
  std::ofstream(path("empty")).flush();
  EXPECT_EQ(read_library_file(path("empty")).value(), "");
}

// Each answers at once, and nothing is read.
TEST_F(LibraryFileTest, WhatIsNoLibraryIsRefused) {
  ASSERT_EQ(::mkfifo(path("fifo").c_str(), 0600), 0);
  const struct {
    std::string path, sentence;
  } cases[] = {{path("fifo"), "is no ordinary file"},
               {top_, "Is a directory"},
               {"/dev/zero", "is no ordinary file"},
               {huge("huge"), "File too large"},
               {path("none"), "No such file"}};
  for (const auto& one : cases) {
    const auto read = read_library_file(one.path);
    ASSERT_FALSE(read.ok()) << one.path;
    EXPECT_NE(read.error().message().find(one.sentence), std::string::npos)
        << read.error().message();
  }
}

// A process may map anything under the name of libc.
TEST_F(LibraryFileTest, AHugeLibcOfAProcessIsRefused) {
  const std::string file = huge("libc.so.6");
  TargetProgram program([&](TargetShared& shared) {
    const UniqueFd opened(::open(file.c_str(), O_RDONLY));
    void* low = reinterpret_cast<void*>(0x10000);
    if (::mmap(low, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, opened.get(), 0) != low)
      shared.errors = 1;
    shared.is_ready = 1;
    ::pause();
  });
  ASSERT_EQ(program.shared().errors.load(), 0) << "low memory cannot be mapped here";
  const auto is_it = [](const MapLine& line) { return line.name.ends_with("/libc.so.6"); };
  const auto module = Module::find(program.pid(), read_maps(program.pid()), is_it);
  ASSERT_FALSE(module.ok());
  EXPECT_NE(module.error().message().find("File too large"), std::string::npos)
      << module.error().message();
}

}  // namespace
}  // namespace patchbay::attach
