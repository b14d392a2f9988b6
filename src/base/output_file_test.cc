// SPDX-License-Identifier: MIT
#include "base/output_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace patchbay {
namespace {

namespace fs = std::filesystem;
constexpr uid_t kOther = 65534;

class OutputFileTest : public testing::Test {
 protected:
  OutputFileTest() {
    EXPECT_NE(::mkdtemp(top_.data()), nullptr);
    EXPECT_EQ(::chmod(top_.c_str(), 0755), 0);
    precious_ = top_ + "/precious";
    write(precious_, "kept");
  }
  ~OutputFileTest() override { fs::remove_all(top_); }

  static void write(const std::string& path, const std::string& text) {
    std::ofstream(path, std::ios::binary) << text;
  }
  static std::string text_of(const std::string& path) { return *read_file(path); }
  static mode_t mode_of(const std::string& path) {
    struct stat status {};
    EXPECT_EQ(::lstat(path.c_str(), &status), 0) << path;
    return status.st_mode & 07777;
  }
  // A new directory that is empty.
  std::string directory(mode_t mode, uid_t owner) {
    const std::string path = top_ + "/d" + std::to_string(++nr_);
    fs::create_directory(path);
    EXPECT_EQ(::chown(path.c_str(), owner, gid_t(-1)), 0);
    EXPECT_EQ(::chmod(path.c_str(), mode), 0);
    return path;
  }
  size_t files_in(const std::string& path) const {
    return size_t(std::distance(fs::directory_iterator(path), fs::directory_iterator()));
  }

  std::string top_ = "/tmp/output-file-XXXXXX", precious_;
  int nr_ = 0;
};

TEST_F(OutputFileTest, LinkOfAnotherOneIsNotFollowedWhereOthersMayWrite) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs files of several users";
  struct Row {
    mode_t mode;
    uid_t directory, link;
    bool is_followed;
  };
  constexpr Row kRows[] = {
      {0755, 0, 0, true},        {0755, 0, kOther, true},
      {0777, 0, 0, true},        {0777, 0, kOther, false},
      {01777, 0, kOther, false}, {01777, 0, 0, true},
      {0775, 0, kOther, false},  {0755, kOther, kOther, false},
      {0755, kOther, 0, true},   {0777, kOther, kOther, false},
  };
  for (const Row& row : kRows) {
    SCOPED_TRACE(testing::Message() << std::oct << row.mode << std::dec << " of " << row.directory
                                    << ", link of " << row.link);
    for (const bool is_on_the_way : {false, true}) {
      write(precious_, "kept");
      const std::string in = directory(row.mode, row.directory), link = in + "/link";
      fs::create_symlink(is_on_the_way ? top_ : precious_, link);
      ASSERT_EQ(::lchown(link.c_str(), row.link, gid_t(-1)), 0);
      const std::string name = is_on_the_way ? link + "/precious" : link;
      const Result<OutputFile> file = OutputFile::open(name, O_WRONLY | O_TRUNC);
      EXPECT_EQ(file.ok(), row.is_followed);
      EXPECT_EQ(text_of(precious_), row.is_followed ? "" : "kept");
      if (!file.ok()) {
        EXPECT_EQ(file.error().errno_value, EACCES) << file.error().message();
        EXPECT_NE(file.error().message().find("link of user"), std::string::npos);
      }
    }
  }
}

TEST_F(OutputFileTest, FileOfAnotherOneIsNotTakenInADirectoryOfAll) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs files of several users";
  struct Row {
    mode_t mode;
    uid_t directory, file;
    bool has_two_names, is_taken;
  };
  constexpr Row kRows[] = {
      {0755, 0, kOther, false, true},      {0755, 0, 0, true, true},
      {0777, 0, kOther, false, false},     {01777, 0, kOther, false, false},
      {01777, 0, 0, false, true},          {0775, 0, kOther, false, true},
      {0755, kOther, kOther, false, true}, {0777, kOther, kOther, false, true},
      {01777, 0, 0, true, false},          {0755, kOther, 0, true, false},
  };
  for (const Row& row : kRows) {
    SCOPED_TRACE(testing::Message() << std::oct << row.mode << std::dec << " of " << row.directory
                                    << ", file of " << row.file << ", " << row.has_two_names);
    const std::string in = directory(row.mode, row.directory), path = in + "/file";
    write(path, "there");
    if (row.has_two_names) fs::create_hard_link(path, in + "/second");
    ASSERT_EQ(::chown(path.c_str(), row.file, gid_t(-1)), 0);
    EXPECT_EQ(OutputFile::open(path, O_WRONLY | O_TRUNC).ok(), row.is_taken);
    EXPECT_EQ(text_of(path), row.is_taken ? "" : "there");
  }
  // A FIFO is not even opened: that would wait for its reader.
  const std::string fifo = directory(0777, 0) + "/fifo";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0666), 0);
  ASSERT_EQ(::chown(fifo.c_str(), kOther, gid_t(-1)), 0);
  EXPECT_FALSE(OutputFile::open(fifo, O_WRONLY).ok());
}

TEST_F(OutputFileTest, WhatTheUserNamesIsTaken) {
  ASSERT_TRUE(fs::create_directory(top_ + "/in"));
  fs::create_symlink("in/new", top_ + "/dangling");
  Result<OutputFile> file = OutputFile::open(top_ + "/dangling", O_WRONLY);
  ASSERT_TRUE(file.ok());
  EXPECT_TRUE(file->is_made());
  EXPECT_EQ(file->path(), top_ + "/in/new");
  EXPECT_TRUE(fs::is_regular_file(top_ + "/in/new"));
  fs::create_symlink("loop", top_ + "/loop");
  EXPECT_EQ(OutputFile::open(top_ + "/loop", O_WRONLY).error().errno_value, ELOOP);
  EXPECT_EQ(OutputFile::open(top_ + "/no/x", O_WRONLY).error().errno_value, ENOENT);
  EXPECT_EQ(OutputFile::open(top_ + "/precious/x", O_WRONLY).error().errno_value, ENOTDIR);
  EXPECT_EQ(OutputFile::open(top_ + "/in/", O_WRONLY).error().errno_value, EISDIR);
  EXPECT_EQ(OutputFile::open(top_, O_WRONLY).error().errno_value, EISDIR);
  EXPECT_EQ(OutputFile::open("", O_WRONLY).error().errno_value, ENOENT);
  // Devices, pipes, and what /dev/stdout is.
  EXPECT_TRUE(OutputFile::open("/dev/null", O_WRONLY | O_TRUNC).ok());
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  file = OutputFile::open("/proc/self/fd/" + std::to_string(ends[1]), O_WRONLY | O_TRUNC);
  ASSERT_TRUE(file.ok()) << file.error().message();
  EXPECT_FALSE(file->is_regular());
  EXPECT_TRUE(file->write("x").ok());
  char read = 0;
  EXPECT_EQ(::read(ends[0], &read, 1), 1);
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST_F(OutputFileTest, ReplacementKeepsModeAndOwnerAndFollowsNothing) {
  const std::string output = top_ + "/page";
  ::umask(022);
  {
    Result<OutputFile> file = OutputFile::replacement(output, ".part");
    ASSERT_TRUE(file.ok());
    EXPECT_TRUE(file->write("one").ok());
    EXPECT_FALSE(fs::exists(output));
    EXPECT_TRUE(file->take_place().ok());
  }
  EXPECT_EQ(text_of(output), "one");
  EXPECT_EQ(mode_of(output), 0644u);
  ASSERT_EQ(::chmod(output.c_str(), 0640), 0);
  const uid_t owner = ::geteuid() == 0 ? kOther : ::geteuid();
  ASSERT_EQ(::chown(output.c_str(), owner, gid_t(-1)), 0);
  {
    Result<OutputFile> file = OutputFile::replacement(output, ".part");
    ASSERT_TRUE(file.ok());
    EXPECT_EQ(mode_of(file->path()), 0600u);
    EXPECT_TRUE(file->take_place().ok());
  }
  EXPECT_EQ(mode_of(output), 0640u);
  struct stat status {};
  ASSERT_EQ(::stat(output.c_str(), &status), 0);
  EXPECT_EQ(status.st_uid, owner);
  // A link that comes to the name meanwhile is replaced; what it leads to stays.
  Result<OutputFile> file = OutputFile::replacement(output, ".part");
  fs::remove(output);
  fs::create_symlink(precious_, output);
  EXPECT_TRUE(file->take_place().ok());
  EXPECT_FALSE(fs::is_symlink(output));
  EXPECT_EQ(text_of(precious_), "kept");
  const size_t before = files_in(top_);
  { EXPECT_TRUE(OutputFile::replacement(output, ".part").ok()); }  // is given up
  EXPECT_EQ(files_in(top_), before);
}

TEST_F(OutputFileTest, GoneOutputIsNoticedAndMadeAgain) {
  const std::string output = top_ + "/trace.dat";
  Result<OutputFile> file = OutputFile::open(output, O_RDWR, 0600);
  ASSERT_TRUE(file.ok());
  fs::rename(output, top_ + "/moved");
  EXPECT_FALSE(file->is_gone());
  EXPECT_TRUE(file->finish().ok());
  fs::remove(top_ + "/moved");
  EXPECT_TRUE(file->is_gone());
  EXPECT_FALSE(file->finish().ok());
  Result<bool> is_same = file->renew();
  ASSERT_TRUE(is_same.ok());
  EXPECT_TRUE(*is_same);
  EXPECT_EQ(mode_of(output), 0600u);
  // The name is another one's now.
  fs::remove(output);
  write(output, "other");
  is_same = file->renew();
  ASSERT_TRUE(is_same.ok());
  EXPECT_FALSE(*is_same);
  EXPECT_TRUE(file->path().starts_with(output + ".")) << file->path();
  EXPECT_EQ(text_of(output), "other");
}

TEST_F(OutputFileTest, OutputOfARemovedDirectoryIsMadeElsewhere) {
  const std::string in = top_ + "/in", here = top_ + "/here";
  fs::create_directory(in);
  fs::create_directory(here);
  Result<OutputFile> file = OutputFile::open(in + "/trace.dat", O_RDWR);
  ASSERT_TRUE(file.ok());
  fs::remove_all(in);
  const Result<UniqueFd> spool = file->make_spool();
  EXPECT_TRUE(spool.ok()) << spool.error().message();
  const fs::path before = fs::current_path();
  fs::current_path(here);
  Result<bool> is_same = file->renew();
  fs::current_path(before);
  ASSERT_TRUE(is_same.ok()) << is_same.error().message();
  EXPECT_FALSE(*is_same);
  EXPECT_TRUE(file->path().starts_with("./trace.dat.")) << file->path();
  EXPECT_EQ(files_in(here), 1u);
}

TEST_F(OutputFileTest, AnotherFileOfTheNameIsNotTakenForTheFirst) {
  const std::string path = top_ + "/data";
  const OutputFile::Id id = OutputFile::open(path, O_WRONLY)->id();
  EXPECT_TRUE(OutputFile::open_again(path, O_WRONLY | O_APPEND, id).ok());
  fs::rename(path, top_ + "/data.old");
  fs::create_symlink(precious_, path);
  EXPECT_FALSE(OutputFile::open_again(path, O_WRONLY | O_APPEND, id).ok());
  fs::remove(path);
  write(path, "other");
  EXPECT_FALSE(OutputFile::open_again(path, O_WRONLY | O_APPEND, id).ok());
}

}  // namespace
}  // namespace patchbay
