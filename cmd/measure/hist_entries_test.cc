// SPDX-License-Identifier: MIT
#include "cmd/measure/hist_entries.h"

#include <gtest/gtest.h>

namespace patchbay::cmd {
namespace {

constexpr char kTable[] =
    "# event histogram\n#\n# trigger info: hist:keys=sql [active]\n#\n\n"
    "{ sql: select 1,\n  2\x1b[31m } ok                       } hitcount:          3  lat:  7\n"
    "{ sql: a } hitcount: b                          } hitcount:          1\n"
    "\tmax:          7 n:          1\n"
    "\nTotals:\n    Hits: 4\n";

TEST(HistEntries, KeysMayHaveLineEnds) {
  const std::vector<HistEntry> entries = hist_entries(kTable);
  ASSERT_EQ(entries.size(), 2u);
  EXPECT_TRUE(entries[0].key.starts_with("sql: select 1,\n  2\x1b[31m } ok "));
  EXPECT_EQ(entries[0].values, "} hitcount:          3  lat:  7");
  EXPECT_TRUE(entries[1].key.starts_with("sql: a } hitcount: b"));
  EXPECT_TRUE(hist_entries("\nTotals:\n    Hits: 0\n").empty());
  EXPECT_TRUE(hist_entries("{ a: unfinished").empty());
}

TEST(HistEntries, CannotCommandATerminal) {
  EXPECT_EQ(printable_hist(kTable),
            "# event histogram\n#\n# trigger info: hist:keys=sql [active]\n#\n\n"
            "{ sql: select 1,\\n  2\\x1b[31m } ok                       } hitcount:          3  "
            "lat:  7\n"
            "{ sql: a } hitcount: b                          } hitcount:          1\n"
            "\tmax:          7 n:          1\n"
            "\nTotals:\n    Hits: 4\n");
}

TEST(HistEntries, StacksStayLines) {
  const char stacks[] =
      "# trigger info: hist:keys=common_stacktrace [active]\n\n"
      "{ common_stacktrace:\n         f+0x1/0x2\n         main+0x1/0x2\n} hitcount:          1\n";
  EXPECT_EQ(printable_hist(stacks), stacks);
  const char without[] = "{ n:          1 } v:          1\n{ n:          2 } v:          9\n";
  EXPECT_EQ(printable_hist(without), without);
}

}  // namespace
}  // namespace patchbay::cmd
