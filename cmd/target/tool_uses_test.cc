// SPDX-License-Identifier: MIT
#include "cmd/target/tool_uses.h"

#include <gtest/gtest.h>

#include "cmd/target/trace_request.h"

namespace patchbay::cmd {
namespace {

TEST(ToolUse, ALineIsReadAsItWasWritten) {
  const ToolUse table[] = {
      {ToolUse::Kind::kInstance, "patchbay-1-1", ""},
      {ToolUse::Kind::kFunction, "f_2", ""},
      {ToolUse::Kind::kEvent, "uprobes/p", ""},
      {ToolUse::Kind::kTrigger, "instances/i/events/s/e/trigger",
       "hist:keys=a if b == \"\\\\\t\n\""},
      {ToolUse::Kind::kFile, "set_ftrace_filter", "a\nb [c]\n\\n\n"},
  };
  for (const ToolUse& use : table) {
    const std::string line = use.line();
    EXPECT_EQ(line.find('\n'), line.npos);
    ToolUse again;
    ASSERT_TRUE(ToolUse::parse(line, &again)) << line;
    EXPECT_TRUE(again.is_same(use));
    EXPECT_EQ(again.text, use.text);
  }
}

TEST(ToolUse, OtherLinesAreNone) {
  ToolUse use;
  for (const char* line : {"", "\t", "\t\t", "file", "file\tname", "file\t\ttext", "files\tname\t",
                           "inst\tname\t", "File\tname\t"})
    EXPECT_FALSE(ToolUse::parse(line, &use)) << line;
  ASSERT_TRUE(ToolUse::parse("file\tname\\\ttext\\", &use));
  EXPECT_EQ(use.text, "text\\");
}

TEST(TraceRequest, SizesHaveUnits) {
  const struct {
    const char* text;
    uint64_t kb;  // 0: refused
  } table[] = {{"512", 512},
               {"512K", 512},
               {"64M", 65536},
               {"64MB", 65536},
               {"1GiB", 1048576},
               {"2m", 2048},
               {"4194303", 4194303},
               {"4194304", 0},
               {"4G", 0},
               {"0", 0},
               {"0M", 0},
               {"M", 0},
               {"64Q", 0},
               {"64MM", 0},
               {"-1", 0},
               {"", 0},
               {"1 M", 0},
               {"64Mi", 0},
               {"18446744073709551616", 0}};
  for (const auto& row : table) {
    TraceRequest request;
    const char* wrong = request.take('b', row.text);
    EXPECT_EQ(wrong == nullptr, row.kb != 0) << row.text;
    if (!wrong) {
      EXPECT_EQ(request.take_top_buffer_kb(), row.kb) << row.text;
    }
  }
}

}  // namespace
}  // namespace patchbay::cmd
