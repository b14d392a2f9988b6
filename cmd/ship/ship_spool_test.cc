// SPDX-License-Identifier: MIT
#include "cmd/ship/ship_spool.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace patchbay::cmd {
namespace {

class SpoolFolder : public testing::Test {
 protected:
  SpoolFolder() {
    char name[] = "/tmp/patchbay-spool-XXXXXX";
    if (const char* made = ::mkdtemp(name)) folder_ = made;
  }
  ~SpoolFolder() override { std::filesystem::remove_all(folder_); }
  void add(ShipSpool& spool, int pid, uint64_t events, size_t bytes) {
    const uint64_t source = spool.next_source();
    const std::string part = spool.begin(source, pid).value();
    std::ofstream(part + "/data") << std::string(bytes, 'x');
    SegmentMeta meta{.source = source, .pid = pid, .start = 5, .events = events};
    meta.rings[{"", 0}] = {events * 10, 0};
    meta.rings[{"an instance", 1}] = {3, 4};
    ASSERT_TRUE(spool.close(part, meta).ok());
  }
  std::string path() const { return folder_ + "/spool"; }
  std::string folder_;
};

TEST_F(SpoolFolder, KeepsWhatIsWholeInOrder) {
  {
    auto spool = ShipSpool::open(path(), 1 << 20);
    ASSERT_TRUE(spool.ok());
    EXPECT_EQ(EBUSY, ShipSpool::open(path(), 1).error().errno_value);
    add(**spool, 8, 1, 10);
    add(**spool, 7, 2, 20);
    (void)(*spool)->begin((*spool)->next_source(), 9).value();  // never closed
  }
  auto spool = ShipSpool::open(path(), 1 << 20);
  ASSERT_TRUE(spool.ok());
  std::vector<Segment> found = (*spool)->segments();
  ASSERT_EQ(2u, found.size());
  EXPECT_EQ(8, found[0].meta.pid);
  EXPECT_EQ(20u, found[1].bytes);
  EXPECT_EQ(30u, (*spool)->bytes());
  EXPECT_LT(found[1].meta.source, (*spool)->next_source());
  EXPECT_FALSE(std::filesystem::exists(path() + "/9.part"));
  // How far the rings were read stays known when it was shipped.
  for (const Segment& segment : found) ASSERT_TRUE((*spool)->done(segment).ok());
  EXPECT_TRUE((*spool)->segments().empty());
  auto rings = (*spool)->rings_of("7-5");
  EXPECT_EQ(20u, (rings[{"", 0}].entries));
  EXPECT_EQ(4u, (rings[{"an instance", 1}].dropped));
  EXPECT_TRUE((*spool)->rings_of("7-6").empty());
}

TEST_F(SpoolFolder, GivesUpTheOldestFirstAndCounts) {
  auto spool = ShipSpool::open(path(), 25);
  ASSERT_TRUE(spool.ok());
  add(**spool, 7, 1, 10);
  add(**spool, 7, 2, 10);
  EXPECT_EQ(0u, (*spool)->keep_bound());
  add(**spool, 7, 4, 10);
  add(**spool, 7, 8, 10);
  (*spool)->hold((*spool)->segments()[0].meta.source);  // is being sent
  EXPECT_EQ(6u, (*spool)->keep_bound());
  std::vector<Segment> found = (*spool)->segments();
  ASSERT_EQ(4u, found.size());
  EXPECT_FALSE(found[0].meta.dropped);
  EXPECT_TRUE(found[1].meta.dropped && found[2].meta.dropped);
  EXPECT_EQ(0u, found[1].bytes);
  EXPECT_EQ(2u, found[1].meta.events);
  EXPECT_EQ(0u, (*spool)->keep_bound());
}

TEST(SegmentMeta, IsReadAsItWasWritten) {
  SegmentMeta meta{.source = 1, .pid = 2, .start = 3, .events = 4, .dropped = true, .wall_ns = -5};
  meta.rings[{"a b", 6}] = {7, 8};
  auto read = parse_segment_meta(meta.text());
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(meta.text(), read->text());
  for (const char* wrong :
       {"", "end\n", "pid 1\n", "pid -1\nend\n", "pid x\nend\n", "pid 1\nring 1 2\nend\n",
        "pid 1\nmore 2\nend\n", "pid 1\ndropped 2\nend\n"})
    EXPECT_FALSE(parse_segment_meta(wrong).ok()) << wrong;
}

}  // namespace
}  // namespace patchbay::cmd
