// SPDX-License-Identifier: MIT
#include "cmd/report/call_tree.h"

#include <algorithm>

namespace patchbay::cmd {
namespace {
constexpr uint32_t kMostLevels = 1024;  // that a list of callers goes up: recursion may be deep
}

void CallCounts::add(uint64_t total, uint64_t self) {
  min_ns = calls == 0 ? total : std::min(min_ns, total);
  max_ns = std::max(max_ns, total);
  calls++;
  total_ns += total;
  self_ns += self;
}

void CallCounts::add_off(const OffCpuShare& share, uint64_t self) {
  off_ns += share.off_ns;
  self_off_ns += self;
  unsure += !share.is_sure;
}

void CallCounts::add(const CallCounts& other) {
  if (other.calls == 0) return;
  min_ns = calls == 0 ? other.min_ns : std::min(min_ns, other.min_ns);
  max_ns = std::max(max_ns, other.max_ns);
  calls += other.calls;
  total_ns += other.total_ns;
  self_ns += other.self_ns;
  off_ns += other.off_ns;
  self_off_ns += other.self_off_ns;
  unsure += other.unsure;
}

uint32_t CallTree::child(uint32_t parent, uint64_t func) {
  auto [found, is_new] = index_.try_emplace({parent, func}, uint32_t(nodes_.size()));
  if (!is_new) return found->second;
  uint32_t index = uint32_t(nodes_.size());
  nodes_.emplace_back();
  nodes_.back().func = func;
  nodes_.back().parent = parent;
  nodes_[parent].children.push_back(index);
  return index;
}

uint64_t CallTree::total_ns() const {
  uint64_t total = 0;
  for (uint32_t child : nodes_[kRoot].children) total += nodes_[child].counts.total_ns;
  return total;
}

// Children have greater indexes than their parents: one pass tells all nodes.
std::vector<bool> CallTree::within(const Wanted& wanted) const {
  std::vector<bool> is_within(nodes_.size(), false);
  for (uint32_t i = 1; i < nodes_.size(); i++) {
    uint32_t up = nodes_[i].parent;
    is_within[i] = up != kRoot && (is_within[up] || wanted(nodes_[up].func));
  }
  return is_within;
}

void CallTree::merge_below(const CallTree& from, uint32_t node, uint32_t to) {
  std::vector<std::pair<uint32_t, uint32_t>> left{{node, to}};
  while (!left.empty()) {
    auto [source, target] = left.back();
    left.pop_back();
    nodes_[target].counts.add(from.node(source).counts);
    for (uint32_t below : from.node(source).children)
      left.emplace_back(below, child(target, from.node(below).func));
  }
}

CallTree CallTree::below(const Wanted& wanted) const {
  CallTree tree;
  std::vector<bool> is_within = within(wanted);
  for (uint32_t i = 1; i < nodes_.size(); i++) {
    if (!wanted(nodes_[i].func) || is_within[i]) continue;
    tree.merge_below(*this, i, tree.child(kRoot, nodes_[i].func));
  }
  return tree;
}

CallTree CallTree::callers(const Wanted& wanted) const {
  CallTree tree;
  std::vector<bool> is_within = within(wanted);
  for (uint32_t i = 1; i < nodes_.size(); i++) {
    if (!wanted(nodes_[i].func)) continue;
    CallCounts counts = nodes_[i].counts;
    if (is_within[i]) counts.set_no_total();
    uint32_t at = tree.child(kRoot, nodes_[i].func);
    tree.node(at).counts.add(counts);
    uint32_t up = nodes_[i].parent;
    for (uint32_t level = 0; up != kRoot && level < kMostLevels; up = nodes_[up].parent, level++) {
      at = tree.child(at, nodes_[up].func);
      tree.node(at).counts.add(counts);
    }
  }
  return tree;
}

std::vector<CallTree::Way> CallTree::ways(const Wanted& wanted) const {
  std::vector<Way> ways;
  std::vector<bool> is_within = within(wanted);
  for (uint32_t i = 1; i < nodes_.size(); i++) {
    if (!wanted(nodes_[i].func) || is_within[i]) continue;
    Way& way = ways.emplace_back();
    way.counts = nodes_[i].counts;
    for (uint32_t up = i; up != kRoot; up = nodes_[up].parent)
      way.functions.push_back(nodes_[up].func);
    std::reverse(way.functions.begin(), way.functions.end());
  }
  std::stable_sort(ways.begin(), ways.end(), [](const Way& a, const Way& b) {
    return a.counts.total_ns > b.counts.total_ns;
  });
  return ways;
}

// Walks the tree. `open` says how often a function is on the way down to the current node.
std::map<uint64_t, CallCounts> CallTree::flat() const {
  std::map<uint64_t, CallCounts> sums;
  std::unordered_map<uint64_t, uint32_t> open;
  std::vector<std::pair<uint32_t, size_t>> path{{kRoot, 0}};  // node, next child
  while (!path.empty()) {
    auto& [index, next] = path.back();
    if (next == nodes_[index].children.size()) {
      open[nodes_[index].func]--;
      path.pop_back();
      continue;
    }
    uint32_t below = nodes_[index].children[next++];
    CallCounts counts = nodes_[below].counts;
    if (open[nodes_[below].func]++ != 0) counts.set_no_total();
    sums[nodes_[below].func].add(counts);
    path.emplace_back(below, 0);
  }
  return sums;
}

// A call's tag is its node, and above it the group of its tree.
void CallTreeBuilder::enter(const ThreadCalls& thread, OpenCall* call) {
  int32_t group = 0;
  uint32_t parent = CallTree::kRoot;
  if (!thread.open.empty()) {
    group = int32_t(thread.open.back().tag >> 32);
    parent = uint32_t(thread.open.back().tag);
  } else if (group_of_) {
    group = group_of_(thread.tid);
  }
  call->tag = uint64_t(uint32_t(group)) << 32 | trees_[group].child(parent, call->func);
}

void CallTreeBuilder::leave(const ThreadCalls&, const OpenCall& call, CallEnd, uint64_t duration_ns,
                            const GraphRecord*) {
  uint64_t self_ns = duration_ns - std::min(duration_ns, call.child_ns);
  CallCounts& counts = trees_[int32_t(call.tag >> 32)].node(uint32_t(call.tag)).counts;
  counts.add(duration_ns, self_ns);
  counts.add_off(call.off, call.off.off_ns - std::min(call.off.off_ns, call.child_off_ns));
}

}  // namespace patchbay::cmd
