// SPDX-License-Identifier: MIT
//
// A recording as weighted stacks, which flame graphs are drawn from:
//
//   function_graph   the paths of calls, weighted by their own nanoseconds
//   stacks           of stacktrace, func_stack_trace: how often each was seen
//   function         caller;function, how often
//
// of which a buffer gives the first that it has.
#pragma once

#include <string>
#include <vector>

#include "cmd/report/call_groups.h"
#include "cmd/report/call_tree.h"
#include "cmd/report/graph_source.h"

namespace patchbay::cmd {

// One frame of a flame graph; the first one is the root, "all".
struct FlameFrame {
  std::string name;
  uint64_t weight = 0;  // with all above it
  uint64_t self = 0;
  uint64_t calls = 0;  // 0: not known
  std::vector<uint32_t> children;
};

struct FlameStacks {
  bool in_ns = false;  // else numbers of stacks or calls
  std::vector<FlameFrame> frames;
  PairingTotals totals;
};

// Instances have a frame of their own when there are several, and so has each group. ENODATA with a
// sentence when nothing of a recording is a stack.
Result<FlameStacks> read_stacks(GraphSource& source, GroupBy by);

// Lines "main;parse;next 1234", in order of their texts.
std::string folded_text(const FlameStacks& stacks);

}  // namespace patchbay::cmd
