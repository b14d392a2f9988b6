// SPDX-License-Identifier: MIT
#include "cmd/report/graph_text.h"

#include <algorithm>
#include <cstdio>

#include "cmd/common/commands.h"
#include "cmd/report/graph_source.h"

namespace patchbay::cmd {
namespace {

constexpr size_t kMostDrawn = 200;  // levels that are drawn; deeper ones stand below the last

uint64_t sort_key(const CallCounts& counts, GraphSort sort) {
  if (sort == GraphSort::kCalls) return counts.calls;
  return sort == GraphSort::kSelf ? counts.self_ns : counts.total_ns;
}

uint64_t on_cpu_ns(uint64_t ns, uint64_t off_ns) { return ns - std::min(ns, off_ns); }

// "  1.234 us? ": something is missing.
std::string on_cpu_column(const CallCounts& counts) {
  return time_text(on_cpu_ns(counts.total_ns, counts.off_ns)) + (counts.unsure ? "?" : " ");
}

std::string columns(const CallCounts& counts, const GraphTextOptions& options) {
  char calls[24];
  std::snprintf(calls, sizeof calls, "%10llu", static_cast<unsigned long long>(counts.calls));
  uint64_t average = counts.calls ? counts.total_ns / counts.calls : 0;
  return time_text(counts.total_ns) + "  " + time_text(counts.self_ns) + " " +
         (options.off_cpu ? " " + on_cpu_column(counts) : "") + calls + "  " + time_text(average) +
         "  " + time_text(counts.min_ns) + "  " + time_text(counts.max_ns) + "  ";
}

// The shown children of a node, the first one last: as they are taken from a stack.
std::vector<uint32_t> shown_children(const CallTree& tree, uint32_t node,
                                     const GraphTextOptions& options) {
  std::vector<uint32_t> children;
  for (uint32_t child : tree.node(node).children)
    if (tree.node(child).counts.total_ns >= options.least_ns) children.push_back(child);
  std::stable_sort(children.begin(), children.end(), [&](uint32_t a, uint32_t b) {
    return sort_key(tree.node(a).counts, options.sort) >
           sort_key(tree.node(b).counts, options.sort);
  });
  std::reverse(children.begin(), children.end());
  return children;
}

struct ShownNode {
  uint32_t node, level;
  bool last;  // of its sisters
};

// Children below their parents.
template <typename Show>
void for_each_shown(const CallTree& tree, const GraphTextOptions& options, const Show& show) {
  std::vector<ShownNode> left;
  auto push = [&](uint32_t node, uint32_t level) {
    if (level >= options.depth) return;
    std::vector<uint32_t> children = shown_children(tree, node, options);
    for (size_t i = 0; i < children.size(); i++) left.push_back({children[i], level, i == 0});
  };
  push(CallTree::kRoot, 0);
  while (!left.empty()) {
    const ShownNode line = left.back();
    left.pop_back();
    show(line);
    push(line.node, line.level + 1);
  }
}

// The functions with their sums, in the order that was asked for.
std::vector<std::pair<uint64_t, CallCounts>> shown_sums(const CallTree& tree,
                                                        const GraphTextOptions& options) {
  std::map<uint64_t, CallCounts> sums = tree.flat();
  std::vector<std::pair<uint64_t, CallCounts>> rows(sums.begin(), sums.end());
  std::erase_if(rows, [&](const auto& row) {
    return row.second.total_ns < options.least_ns && row.second.self_ns < options.least_ns;
  });
  std::stable_sort(rows.begin(), rows.end(), [&](const auto& a, const auto& b) {
    return sort_key(a.second, options.sort) > sort_key(b.second, options.sort);
  });
  return rows;
}

std::string json_counts(const CallCounts& counts, const GraphTextOptions& options) {
  const auto member = [](const char* name, uint64_t value) {
    return std::string(", \"") + name + "\": " + std::to_string(value);
  };
  std::string off_cpu;
  if (options.off_cpu)
    off_cpu = member("on_cpu_ns", on_cpu_ns(counts.total_ns, counts.off_ns)) +
              member("self_on_cpu_ns", on_cpu_ns(counts.self_ns, counts.self_off_ns)) +
              member("off_cpu_ns", counts.off_ns) + member("off_cpu_unsure", counts.unsure);
  return member("calls", counts.calls) + member("total_ns", counts.total_ns) +
         member("self_ns", counts.self_ns) +
         member("average_ns", counts.calls ? counts.total_ns / counts.calls : 0) +
         member("min_ns", counts.min_ns) + member("max_ns", counts.max_ns) + off_cpu + "}\n";
}

}  // namespace

std::string graph_head(const GraphTextOptions& options) {
  const std::string on_cpu = options.off_cpu ? "    ON-CPU   " : "";
  return "#   TOTAL        SELF   " + on_cpu +
         "    CALLS      AVG         MIN         MAX      FUNCTION\n";
}

std::string graph_text(const CallTree& tree, const GraphTextOptions& options) {
  std::string text;
  std::vector<bool> more;  // by level: a sister comes below
  for_each_shown(tree, options, [&](const ShownNode& line) {
    more.resize(line.level + 1);
    more[line.level] = !line.last;
    text += columns(tree.node(line.node).counts, options);
    for (size_t level = 1; level < std::min<size_t>(line.level, kMostDrawn); level++)
      text += more[level] ? "|  " : "   ";
    if (line.level > 0) text += "+- ";
    text += options.name_of(tree.node(line.node).func) + "\n";
  });
  return text;
}

std::string ways_text(const std::vector<CallTree::Way>& ways, const GraphTextOptions& options) {
  std::string text;
  for (const CallTree::Way& way : ways) {
    char calls[48];
    std::snprintf(calls, sizeof calls, "%10llu call%s  ",
                  static_cast<unsigned long long>(way.counts.calls),
                  way.counts.calls == 1 ? " " : "s");
    text += time_text(way.counts.total_ns) + calls;
    size_t first = way.functions.size() > kMostDrawn ? way.functions.size() - kMostDrawn : 0;
    if (first != 0) text += "... > ";
    for (size_t i = first; i < way.functions.size(); i++)
      text += (i == first ? "" : " > ") + options.name_of(way.functions[i]);
    text += '\n';
  }
  return text;
}

std::string flat_text(const CallTree& tree, const GraphTextOptions& options) {
  std::string text;
  for (const auto& [func, counts] : shown_sums(tree, options))
    text += columns(counts, options) + options.name_of(func) + "\n";
  return text;
}

std::string graph_json(const CallTree& tree, const GraphTextOptions& options,
                       const std::string& head) {
  std::string json;
  for_each_shown(tree, options, [&](const ShownNode& line) {
    const CallNode& node = tree.node(line.node);
    json += "{" + head + "\"id\": " + std::to_string(line.node) + ", \"parent\": " +
            (node.parent == CallTree::kRoot ? "null" : std::to_string(node.parent)) +
            ", \"depth\": " + std::to_string(line.level) +
            ", \"function\": " + json_quote(options.name_of(node.func)) +
            json_counts(node.counts, options);
  });
  return json;
}

std::string ways_json(const std::vector<CallTree::Way>& ways, const GraphTextOptions& options,
                      const std::string& head) {
  std::string json;
  for (const CallTree::Way& way : ways) {
    json += "{" + head + "\"functions\": [";
    for (size_t i = 0; i < way.functions.size(); i++)
      json += (i ? ", " : "") + json_quote(options.name_of(way.functions[i]));
    json += "]" + json_counts(way.counts, options);
  }
  return json;
}

std::string flat_json(const CallTree& tree, const GraphTextOptions& options,
                      const std::string& head) {
  std::string json;
  for (const auto& [func, counts] : shown_sums(tree, options))
    json += "{" + head + "\"function\": " + json_quote(options.name_of(func)) +
            json_counts(counts, options);
  return json;
}

}  // namespace patchbay::cmd
