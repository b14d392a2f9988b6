// SPDX-License-Identifier: MIT
#include "cmd/mount/trace_merge.h"

#include <gtest/gtest.h>

namespace patchbay::cmd {
namespace {

std::string line(const char* time, const char* text) {
  return "           nginx-4711    [001] ..... " + std::string(time) + ": " + text + "\n";
}
std::string comment(const char* tracer, const char* entries) {
  return "# tracer: " + std::string(tracer) +
         "\n#\n# entries-in-buffer/entries-written: " + entries +
         "   #P:2\n#\n#           TASK-PID     CPU#  |||||  TIMESTAMP  FUNCTION\n"
         "#              | |         |   |||||     |         |\n";
}

TEST(TraceMerge, LineTime) {
  struct Row {
    const char* line;
    std::optional<uint64_t> time;
  };
  const Row rows[] = {
      {"           nginx-4711    [001] ..... 12.000345: f: x", 12'000'345},
      {"           nginx-4711    [001]  9999912.000345: f: x: 1.000000: y", 9999912'000'345},
      {"           nginx-4711    (   4711) [001] ..... 12.000345: f", 12'000'345},
      {"           nginx-4711    (-------) [001] ..... 12.000345: f", 12'000'345},
      {"           nginx-4711    [001] ..... 123456789: f", 123456789},
      {"     a-1 [0] 1: b-4711    [001] ..... 3.000001: f", 3'000'001},
      {"a very long name of a thread-4711    [001] ..... 3.000001: f", 3'000'001},
      {"           <...>-4711    [001] ..... 18446744073709551615.000345: f", std::nullopt},
      {" => f", std::nullopt},
      {" 0)   1.234 us    |  f();", std::nullopt},
      {"CPU:1 [LOST 12 EVENTS]", std::nullopt},
      {"", std::nullopt},
  };
  for (const Row& row : rows) EXPECT_EQ(line_time(row.line), row.time) << row.line;
}

TEST(TraceMerge, TraceByTime) {
  TraceMerge merge(TraceMerge::Of::kTrace);
  const size_t a = merge.add_source(1, "a"), b = merge.add_source(2, "b");
  const std::string stack = line("1.000003", "<stack trace>") + " => f\n => g\n";
  merge.feed(a, comment("nop", "2/5") + line("1.000001", "a1") + stack, true);
  EXPECT_TRUE(merge.wants_more(b));
  EXPECT_EQ(merge.take(), "");
  merge.feed(b, comment("function", "3/3") + line("1.000002", "b1") + line("1.0000", "cut"), true);
  EXPECT_EQ(merge.take(), "");  // the record of b may go on
  merge.feed(b, line("1.000004", "b2"), true);
  EXPECT_EQ(merge.take(), comment("nop function", "5/8") + line("1.000001", "a1"));
  EXPECT_TRUE(merge.wants_more(a));  // the stack may go on
  merge.end(a);
  merge.end(b);
  EXPECT_EQ(merge.take(),
            line("1.000002", "b1") + line("1.0000", "cut") + stack + line("1.000004", "b2"));
  EXPECT_TRUE(merge.all_ended());
}

TEST(TraceMerge, TraceWithoutTimes) {
  TraceMerge merge(TraceMerge::Of::kTrace);
  const size_t a = merge.add_source(1, "a"), b = merge.add_source(2, "b");
  merge.feed(a, "# tracer: function_graph\n# CPU  DURATION\n 0)  f();\n", true);
  merge.feed(b, comment("nop", "0/0"), true);
  merge.end(b);
  std::string text = merge.take();
  EXPECT_TRUE(merge.wants_more(a));
  merge.feed(a, " 0)  g();\n", true);
  merge.end(a);
  text += merge.take();
  EXPECT_EQ(text,
            "# 1 a\n# tracer: function_graph\n# CPU  DURATION\n 0)  f();\n 0)  g();\n# 2 b\n" +
                comment("nop", "0/0"));
}

TEST(TraceMerge, EqualCommentsWithoutRecordsOnce) {
  TraceMerge merge(TraceMerge::Of::kTrace);
  for (size_t i = 0; i < 3; i++) {
    merge.add_source(int(i), "a");
    merge.feed(i, "# tracer: nop\n#\n# * Snapshot is freed *\n", true);
    merge.end(i);
  }
  EXPECT_EQ(merge.take(), "# tracer: nop\n#\n# * Snapshot is freed *\n");
}

TEST(TraceMerge, PipeWaitsForOneMoreRound) {
  TraceMerge merge(TraceMerge::Of::kPipe);
  const size_t a = merge.add_source(1, "a"), b = merge.add_source(2, "b");
  merge.feed(a, line("1.000010", "a") + line("1.000014", "a"), false);
  merge.feed(b, line("1.000012", "b"), false);
  EXPECT_EQ(merge.end_round(), "");
  EXPECT_TRUE(merge.holds_something());
  merge.feed(a, line("1.000017", "a"), false);
  merge.feed(b, "CPU:1 [LOST 7 EVENTS]\n" + line("1.000011", "b") + line("1.000016", "b"), false);
  EXPECT_EQ(merge.end_round(), line("1.000010", "a") + line("1.000012", "b") +
                                   "CPU:1 [LOST 7 EVENTS] (2 b)\n" + line("1.000011", "b") +
                                   line("1.000014", "a"));
  EXPECT_EQ(merge.end_round(), line("1.000016", "b") + line("1.000017", "a"));
  EXPECT_FALSE(merge.holds_something());
}

TEST(TraceMerge, PipeWaitsForWhoHasMore) {
  TraceMerge merge(TraceMerge::Of::kPipe);
  const size_t a = merge.add_source(1, "a"), b = merge.add_source(2, "b");
  merge.feed(a, line("1.000020", "a"), false);
  merge.feed(b, line("1.000001", "b") + line("1.000002", "b"), true);
  (void)merge.end_round();
  EXPECT_EQ(merge.end_round(), line("1.000001", "b"));  // the second may not be whole
  merge.feed(b, line("1.000003", "b"), false);
  EXPECT_EQ(merge.end_round(),
            line("1.000002", "b") + line("1.000003", "b") + line("1.000020", "a"));
}

TEST(TraceMerge, PipeKeepsPlacesOfThoseThatAreThere) {
  TraceMerge merge(TraceMerge::Of::kPipe);
  const size_t a = merge.add_source(1, "a"), b = merge.add_source(2, "b");
  merge.feed(a, line("1.000001", "a"), false);
  merge.end(a);
  EXPECT_EQ(merge.add_source(3, "c"), 2u);  // something of a is still here
  (void)merge.end_round();
  EXPECT_EQ(merge.end_round(), "");  // b and c were not asked yet
  merge.feed(b, "", false);
  merge.feed(2, "", false);
  EXPECT_EQ(merge.end_round(), line("1.000001", "a"));
  EXPECT_EQ(merge.add_source(4, "d"), a);
  merge.feed(a, line("1.000002", "d"), false);
  (void)merge.end_round();
  EXPECT_EQ(merge.end_round(), line("1.000002", "d"));
}

TEST(TraceMerge, PipeNamesWhoHasNoTimes) {
  TraceMerge merge(TraceMerge::Of::kPipe);
  const size_t a = merge.add_source(1, "a"), b = merge.add_source(2, "b");
  merge.feed(a, " 0)  f();\n 0)  g();\n", false);
  merge.feed(b, " 1)  h();\n", false);
  EXPECT_EQ(merge.end_round(), "# 1 a\n 0)  f();\n 0)  g();\n# 2 b\n 1)  h();\n");
}

}  // namespace
}  // namespace patchbay::cmd
