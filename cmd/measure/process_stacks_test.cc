// SPDX-License-Identifier: MIT
#include "cmd/measure/process_stacks.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace patchbay::cmd {
namespace {

using Cycles = std::vector<std::vector<int>>;

TEST(Locks, CyclesAreFound) {
  EXPECT_EQ(cycles_in({}), Cycles{});
  EXPECT_EQ(cycles_in({{1, 2}, {2, 3}}), Cycles{});
  EXPECT_EQ(cycles_in({{1, 2}, {2, 1}}), (Cycles{{1, 2}}));
  EXPECT_EQ(cycles_in({{1, 1}}), (Cycles{{1}}));  // locked twice
  EXPECT_EQ(cycles_in({{1, 2}, {2, 3}, {3, 4}, {4, 2}, {5, 3}}), (Cycles{{2, 3, 4}}));
  EXPECT_EQ(cycles_in({{1, 2}, {2, 1}, {3, 4}, {4, 3}}), (Cycles{{1, 2}, {3, 4}}));
}

TEST(Stacks, NamesStayOnTheirLines) {
  ProcessStacks stacks;
  stacks.exe = "/a\nb";
  ThreadStack thread;
  thread.tid = 7;
  thread.name = "x\ny";
  thread.frames.push_back({.pc = 1, .function = "f\nthread 8", .module = "m\n"});
  stacks.threads.push_back(thread);
  const std::string text = stacks_text(stacks);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 4) << text;
}

}  // namespace
}  // namespace patchbay::cmd
