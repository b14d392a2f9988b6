// SPDX-License-Identifier: MIT
#include "debug_info/kept_units.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "debug_info/dwarf_testing.h"
#include "debug_info/unit_index.h"

namespace patchbay {
namespace {

namespace fs = std::filesystem;
using Units = std::vector<uint64_t>;

class KeptUnitsTest : public ::testing::Test {
 protected:
  KeptUnitsTest() {
    char name[] = "/tmp/kept_units_test.XXXXXX";
    if (::mkdtemp(name)) root_ = name;
  }
  ~KeptUnitsTest() override { fs::remove_all(root_); }
  std::string directory() const { return root_ + "/patchbay/units"; }
  std::string text() const {
    std::ifstream file(directory() + "/key");
    return {std::istreambuf_iterator<char>(file), {}};
  }
  std::string root_;
};

TEST(KeptUnits, WhatALineSays) {
  const struct {
    const char* text;
    size_t count;
    std::optional<Units> f;
  } rows[] = {
      {"f\t0 1a ff\n", 1, Units{0, 0x1a, 0xff}},
      {"f\t\n", 1, Units{}},
      {"f\t1\nf\t2\n", 1, Units{2}},
      {"f\t1", 0, {}},                // half a line
      {"f\t1 2g\t3\nh\t4\n", 1, {}},  // and the one that stands behind it
      {"f\t1 2bad\t3\n", 0, {}},
      {"f\t1 xyz\n", 0, {}},
      {"f\t-1\n", 0, {}},
      {"f\t1  2\n", 0, {}},
      {"f\t11111111111111111\n", 0, {}},  // more than 64 bits
      {"f 1\n\n\t1\n", 0, {}},
      {"operator new(unsigned long)\t7\n", 1, {}},
  };
  for (const auto& row : rows) {
    const auto known = parse_kept_units(row.text);
    EXPECT_EQ(known.size(), row.count) << row.text;
    const auto f = known.find("f");
    EXPECT_EQ(f == known.end() ? std::nullopt : std::optional(f->second), row.f) << row.text;
  }
}

TEST_F(KeptUnitsTest, TheNextOneKnowsIt) {
  {
    KeptUnits kept(directory(), "key");
    EXPECT_FALSE(kept.find("f"));
    kept.add("f", {0, 0x2f});
    kept.add("none", {});
    kept.add("two\nlines", {1});
    kept.add("", {1});
    EXPECT_EQ(kept.find("f"), (Units{0, 0x2f}));
  }
  EXPECT_EQ(text(), "f\t0 2f\nnone\t\n");
  const KeptUnits next(directory(), "key");
  EXPECT_EQ(next.find("f"), (Units{0, 0x2f}));
  EXPECT_EQ(next.find("none"), Units{});
  EXPECT_FALSE(next.find("g"));
  EXPECT_FALSE(KeptUnits(directory(), "other").find("f"));
  KeptUnits nowhere("", "key");
  nowhere.add("f", {1});
  EXPECT_FALSE(nowhere.find("f"));
}

TEST_F(KeptUnitsTest, ALongListIsNotKeptAndALongFileBeginsAnew) {
  KeptUnits(directory(), "key").add("f", Units(3000, 0x12345678));
  EXPECT_EQ(text(), "");
  std::ofstream(directory() + "/key") << std::string(2 << 20, 'x');
  KeptUnits kept(directory(), "key");
  kept.add("f", {1});
  EXPECT_EQ(text(), "f\t1\n");
}

TEST_F(KeptUnitsTest, WhatOthersMayWriteIsNotRead) {
  fs::create_directories(directory());
  std::ofstream(directory() + "/key") << "f\t1\n";
  ASSERT_TRUE(KeptUnits(directory(), "key").find("f"));
  ASSERT_EQ(::chmod((directory() + "/key").c_str(), 0666), 0);
  EXPECT_FALSE(KeptUnits(directory(), "key").find("f"));
  ASSERT_EQ(::chmod((directory() + "/key").c_str(), 0600), 0);
  ASSERT_EQ(::chmod(directory().c_str(), 0777), 0);
  EXPECT_FALSE(KeptUnits(directory(), "key").find("f"));
  ASSERT_EQ(::chmod(directory().c_str(), 0700), 0);
  fs::rename(directory() + "/key", directory() + "/elsewhere");
  fs::create_symlink("elsewhere", directory() + "/key");
  EXPECT_FALSE(KeptUnits(directory(), "key").find("f"));
}

TEST_F(KeptUnitsTest, ManyAtOnceKeepWholeLines) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; i++)
    threads.emplace_back([&, i] {
      KeptUnits kept(directory(), "key");
      for (int n = 0; n < 200; n++)
        kept.add("f" + std::to_string(i) + "_" + std::to_string(n), Units(20, uint64_t(n)));
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(parse_kept_units(text()).size(), 1600u);
}

TEST_F(KeptUnitsTest, AnotherUsersHomeIsLeftAlone) {
  const char* const home = std::getenv("HOME");
  const std::string before = home ? home : "";
  ::unsetenv("XDG_CACHE_HOME");
  ::setenv("HOME", root_.c_str(), 1);
  EXPECT_EQ(kept_units_directory(), root_ + "/.cache/patchbay/units");
  if (::geteuid() == 0) {
    ASSERT_EQ(::chown(root_.c_str(), 65534, 65534), 0);
    EXPECT_EQ(kept_units_directory(), "");
  }
  ::setenv("HOME", "relative", 1);
  EXPECT_EQ(kept_units_directory(), "");
  ::setenv("HOME", before.c_str(), 1);
}

// The index finds the same with it; what does not fit to the file is not believed.
TEST_F(KeptUnitsTest, TheIndexAsksItFirst) {
  const auto info = test::open_info(test::object_path("values_5"));
  ASSERT_TRUE(info);
  ASSERT_NE(info->build_id(), "");
  ::setenv("XDG_CACHE_HOME", root_.c_str(), 1);
  const auto offsets = [&](const UnitIndex& index, const char* name) {
    Units found;
    for (Dwarf_Die unit : index.naming(name)) found.push_back(::dwarf_dieoffset(&unit));
    return found;
  };
  const Units wanted = offsets(UnitIndex(*info), "twice");
  EXPECT_FALSE(fs::exists(directory())) << "a small file is searched";
  ASSERT_EQ(wanted.size(), 1u);
  EXPECT_EQ(offsets(UnitIndex(*info, 0), "twice"), wanted);
  ASSERT_TRUE(fs::exists(directory()));
  const std::string file = fs::directory_iterator(directory())->path();
  EXPECT_TRUE(file.find(info->build_id()) != file.npos) << file;
  EXPECT_EQ(offsets(UnitIndex(*info, 0), "twice"), wanted);
  std::ofstream(file) << "twice\t\n";
  EXPECT_EQ(offsets(UnitIndex(*info, 0), "twice"), Units{}) << "it is asked";
  std::ofstream(file) << "twice\t3\n";
  EXPECT_EQ(offsets(UnitIndex(*info, 0), "twice"), wanted) << "no unit begins there";
  ::unsetenv("XDG_CACHE_HOME");
}

}  // namespace
}  // namespace patchbay
