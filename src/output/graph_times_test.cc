// SPDX-License-Identifier: MIT
// calltime and rettime of funcgraph_exit, and of nothing else, become nanoseconds.
#include "output/graph_times.h"

#include <gtest/gtest.h>

#include "abi/ftrace_records.h"
#include "output/page_feed.h"

namespace patchbay {
namespace {

std::string exit_record(uint16_t id, uint64_t calltime, uint64_t rettime) {
  abi::GraphExitRecord record{{id, 0, 0, 7}, 0x1000, 5, 2, 0, calltime, rettime};
  return {reinterpret_cast<const char*>(&record), sizeof record};
}

abi::GraphExitRecord as_exit(std::span<const uint8_t> bytes) {
  abi::GraphExitRecord record{};
  EXPECT_EQ(bytes.size(), sizeof record);
  std::memcpy(&record, bytes.data(), std::min(bytes.size(), sizeof record));
  return record;
}

TEST(GraphTimes, OnlyExitsOfAPageAreConverted) {
  PageImage page = test::make_page({{100, exit_record(abi::kGraphExitId, 1000, 1600)},
                                    {200, exit_record(abi::kGraphEntryId, 1000, 1600)},
                                    {300, exit_record(abi::kGraphExitId, 2000, 2002).substr(0, 40)},
                                    {400, exit_record(abi::kGraphExitId, 3000, 3002)}});
  convert_graph_times_of_page(page.bytes, [](uint64_t ticks) { return ticks / 2 + 7; });
  EventIterator events(page.bytes, page.used);
  EventView event;
  ASSERT_TRUE(events.next(&event));
  EXPECT_EQ(event.time, 100u);
  EXPECT_EQ(as_exit(event.record).calltime, 507u);
  EXPECT_EQ(as_exit(event.record).rettime, 807u);
  EXPECT_EQ(as_exit(event.record).func, 0x1000u);
  ASSERT_TRUE(events.next(&event));  // another event of the same size
  EXPECT_EQ(as_exit(event.record).rettime, 1600u);
  ASSERT_TRUE(events.next(&event));  // too short
  uint64_t calltime = 0;
  std::memcpy(&calltime, event.record.data() + 32, sizeof calltime);
  EXPECT_EQ(calltime, 2000u);
  ASSERT_TRUE(events.next(&event));
  EXPECT_EQ(as_exit(event.record).rettime, 1508u);
  EXPECT_FALSE(events.next(&event));
}

TEST(GraphTimes, AMalformedPageIsLeftWhereItEnds) {
  std::vector<uint8_t> page(64, 0xff);
  const std::vector<uint8_t> before = page;
  convert_graph_times_of_page(page, [](uint64_t) { return uint64_t{0}; });
  EXPECT_EQ(page, before);
  convert_graph_times_of_page({}, [](uint64_t) { return uint64_t{0}; });
}

}  // namespace
}  // namespace patchbay
