// SPDX-License-Identifier: MIT
// Call trees as text: what `patchbay graph` prints.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "cmd/report/call_tree.h"

namespace patchbay::cmd {

enum class GraphSort : uint8_t { kTotal, kSelf, kCalls };

struct GraphTextOptions {
  uint32_t depth = UINT32_MAX;  // levels to show
  uint64_t least_ns = 0;        // nodes with less time are left out
  GraphSort sort = GraphSort::kTotal;
  bool off_cpu = false;  // it is known: a column, and members of objects
  std::function<std::string(uint64_t)> name_of;
};

// The head of the columns, then a line for each node; children below their parents.
std::string graph_head(const GraphTextOptions& options);
std::string graph_text(const CallTree& tree, const GraphTextOptions& options);
// A line for each way: "  3 calls, 1.234 us: main > parse > next".
std::string ways_text(const std::vector<CallTree::Way>& ways, const GraphTextOptions& options);
// A line for each function.
std::string flat_text(const CallTree& tree, const GraphTextOptions& options);

// The same as JSON, an object a line. `head` is the first members of each, with a comma behind:
// "\"kind\": \"call\", ". A line of a tree has its id, and that of the line it stands below.
std::string graph_json(const CallTree& tree, const GraphTextOptions& options,
                       const std::string& head);
std::string ways_json(const std::vector<CallTree::Way>& ways, const GraphTextOptions& options,
                      const std::string& head);
std::string flat_json(const CallTree& tree, const GraphTextOptions& options,
                      const std::string& head);

}  // namespace patchbay::cmd
