// SPDX-License-Identifier: MIT
#include "base/memory_room.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace patchbay {
namespace {

constexpr uint64_t kMb = 1 << 20;

// A tree of control groups that is made of plain files.
class MemoryRoomTest : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/memory-room.XXXXXX";
    top_ = ::mkdtemp(name);
  }
  void TearDown() override { std::filesystem::remove_all(top_); }

  void write(const std::string& path, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(top_ + path).parent_path());
    std::ofstream(top_ + path) << text;
  }
  void second(const std::string& group, const std::string& limit, uint64_t used, uint64_t cache) {
    write("/two" + group + "/memory.max", limit + "\n");
    write("/two" + group + "/memory.current", std::to_string(used) + "\n");
    write("/two" + group + "/memory.stat",
          "anon 7\nactive_file 5\ninactive_file " + std::to_string(cache) + "\nslab 3\n");
  }
  void first(const std::string& group, uint64_t limit, uint64_t used, uint64_t cache) {
    write("/one/memory" + group + "/memory.limit_in_bytes", std::to_string(limit) + "\n");
    write("/one/memory" + group + "/memory.usage_in_bytes", std::to_string(used) + "\n");
    write("/one/memory" + group + "/memory.stat",
          "inactive_file 1\ntotal_inactive_file " + std::to_string(cache) + "\n");
  }
  // `root`: the group that is mounted.
  std::optional<MemoryRoom> room(const std::string& cgroups, const std::string& root = "/") {
    const std::string mountinfo =
        "17 31 0:35 / " + top_ + "/one/cpu rw - cgroup cgroup rw,cpu\n" + "16 31 0:34 " + root +
        " " + top_ + "/one/memory rw shared:4 - cgroup cgroup rw,memory\n" + "20 31 0:38 " + root +
        " " + top_ + "/two rw,relatime - cgroup2 cgroup2 rw\n" + "broken\n";
    return memory_room(cgroups, cgroup_mounts(mountinfo));
  }
  std::string top_;
};

TEST_F(MemoryRoomTest, WhatTheGroupLeaves) {
  second("/a", "max", 1, 0);
  second("/a/b", std::to_string(64 * kMb), 40 * kMb, 8 * kMb);
  const auto left = room("0::/a/b\n");
  ASSERT_TRUE(left);
  EXPECT_EQ(left->group, top_ + "/two/a/b");
  EXPECT_EQ(left->limit, 64 * kMb);
  EXPECT_EQ(left->left, 32 * kMb);
  EXPECT_FALSE(room("0::/a\n"));
  EXPECT_FALSE(room("0::/\n"));
  EXPECT_FALSE(room("0::/gone\n"));
  EXPECT_FALSE(room("3:cpu:/a/b\n"));
}

TEST_F(MemoryRoomTest, ATighterGroupAboveCounts) {
  second("/a", std::to_string(50 * kMb), 45 * kMb, 0);
  second("/a/b", std::to_string(64 * kMb), 40 * kMb, 8 * kMb);
  const auto left = room("0::/a/b\n");
  ASSERT_TRUE(left);
  EXPECT_EQ(left->group, top_ + "/two/a");
  EXPECT_EQ(left->left, 5 * kMb);
}

TEST_F(MemoryRoomTest, Version1) {
  first("", uint64_t{1} << 63, 1, 0);
  first("/a", 16 * kMb, 20 * kMb, kMb);
  const auto left = room("5:cpu:/a\n4:memory,other:/a\n0::/\n");
  ASSERT_TRUE(left);
  EXPECT_EQ(left->group, top_ + "/one/memory/a");
  EXPECT_EQ(left->left, 0u);
  EXPECT_FALSE(room("4:memory:/\n"));
}

// A container has a part of the tree; what is above is not seen there.
TEST_F(MemoryRoomTest, APartOfTheTreeIsMounted) {
  second("", std::to_string(9 * kMb), kMb, 0);
  const auto left = room("0::/docker/4f5e\n", "/docker/4f5e");
  ASSERT_TRUE(left);
  EXPECT_EQ(left->group, top_ + "/two");
  EXPECT_EQ(left->left, 8 * kMb);
  EXPECT_FALSE(room("0::/docker/4f5e2\n", "/docker/4f5e"));
  EXPECT_FALSE(room("0::/../x\n"));
}

TEST_F(MemoryRoomTest, WhatDoesNotFitIsRefused) {
  const MemoryRoom small{"/sys/fs/cgroup/x", 16 * kMb, 8 * kMb};
  const struct {
    std::optional<MemoryRoom> room;
    uint64_t bytes;
    bool fits;
  } cases[] = {
      {{}, ~uint64_t{0}, true},
      {small, 0, true},
      {small, 7 * kMb, true},
      {small, 8 * kMb - 1, false},
      {small, 8 * kMb, false},
      {small, ~uint64_t{0}, false},
      {MemoryRoom{"/x", kMb, 0}, 0, false},
  };
  for (const auto& one : cases)
    EXPECT_EQ(check_memory_room(one.room, one.bytes, "x", "").ok(), one.fits) << one.bytes;
  const Status refused = check_memory_room(small, 9 * kMb, "The buffer", "Make it smaller.");
  EXPECT_EQ(refused.error().errno_value, ENOMEM);
  EXPECT_EQ(refused.error().message(),
            "The buffer would take about 9.0 MB, and the control group /sys/fs/cgroup/x has 8.0 MB "
            "left of 16.0 MB: the kernel would kill a process of it. Make it smaller.");
}

}  // namespace
}  // namespace patchbay
