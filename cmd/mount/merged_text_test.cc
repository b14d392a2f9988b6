// SPDX-License-Identifier: MIT
#include "cmd/mount/merged_text.h"

#include <gtest/gtest.h>

namespace patchbay::cmd {
namespace {

std::string merged(const char* path, const std::vector<const char*>& texts) {
  std::vector<ProcessText> list;
  for (size_t i = 0; i < texts.size(); i++) list.push_back({int(i + 1), "a", texts[i]});
  return merge_texts(path, list);
}

TEST(MergedText, Table) {
  struct Row {
    const char* path;
    std::vector<const char*> texts;
    const char* merged;
  };
  const Row rows[] = {
      {"set_event", {}, ""},
      {"trace_clock", {"[local] mono\n", "[local] mono\n"}, "[local] mono\n"},
      {"set_event", {"a\nb\n", "c\na\n", ""}, "a\nb\nc\n"},
      {"instances/i/set_event", {"a", "b"}, "a\nb\n"},
      {"set_ftrace_filter", {"#### all ####\n", "f\n"}, "# 1 a\n#### all ####\n# 2 a\nf\n"},
      {"set_ftrace_filter",
       {"#### all ####\nx:traceon\n", "#### all ####\n"},
       "#### all ####\nx:traceon\n"},
      {"events/a/trigger",
       {"# Available triggers:\n# x\n", "# Available triggers:\n# x\n"},
       "# Available triggers:\n# x\n"},
      {"events/enable", {"0\n", "1\n"}, "X\n"},
      {"events/enable", {"?\n", "1\n", "?\n", "1\n"}, "1\n"},
      {"events/enable", {"?\n", "?\n"}, "?\n"},
      {"events/a/b/enable", {"1*\n", "1\n"}, "X\n"},
      {"options/stacktrace", {"0\n", "1\n"}, "X\n"},
      {"tracing_on", {"0\n", "odd\n"}, "# 1 a\n0\n# 2 a\nodd\n"},
      {"max_graph_depth", {"0\n", "1\n"}, "# 1 a\n0\n# 2 a\n1\n"},
      {"events/a/b/format", {"x\n", "y", "x\n"}, "# 1 a\n# 3 a\nx\n# 2 a\ny\n"},
  };
  for (const Row& row : rows) EXPECT_EQ(merged(row.path, row.texts), row.merged) << row.path;
}

}  // namespace
}  // namespace patchbay::cmd
