// SPDX-License-Identifier: MIT
//
// All calls of a recording as one tree: a node is a path of functions from the outermost, with how
// often and how long. Recursion is a longer path, so a node's time never counts twice.
//
//   main            1 call
//   +- parse       40 calls     from main
//   |  +- next    900 calls     from main, parse
//   +- next         2 calls     from main
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <unordered_map>
#include <vector>

#include "cmd/report/call_pairing.h"

namespace patchbay::cmd {

struct CallCounts {
  uint64_t calls = 0;
  uint64_t total_ns = 0;            // with the calls that it made
  uint64_t self_ns = 0;             // without
  uint64_t min_ns = 0, max_ns = 0;  // of one call
  uint64_t off_ns = 0;              // of the total, off the CPU; 0: not recorded
  uint64_t self_off_ns = 0;         // of its own time
  uint64_t unsure = 0;              // calls for whose off_ns something is missing
  void add(uint64_t total, uint64_t self);
  void add_off(const OffCpuShare& share, uint64_t self);
  void set_no_total() { total_ns = off_ns = 0; }
  void add(const CallCounts& other);
};

struct CallNode {
  uint64_t func = 0;
  uint32_t parent = 0;
  CallCounts counts;
  std::vector<uint32_t> children;
};

class CallTree {
 public:
  static constexpr uint32_t kRoot = 0;  // no function: its children are the outermost calls

  CallTree() : nodes_(1) {}
  // The child of a node with this function, made when it is not there.
  uint32_t child(uint32_t parent, uint64_t func);
  CallNode& node(uint32_t index) { return nodes_[index]; }
  const CallNode& node(uint32_t index) const { return nodes_[index]; }
  size_t size() const { return nodes_.size(); }
  bool empty() const { return nodes_.size() == 1; }
  // Time of all outermost calls.
  uint64_t total_ns() const;

  // The tree below every call of a function that `wanted` names, merged. Of recursive calls only
  // the outermost begins a tree.
  using Wanted = std::function<bool(uint64_t func)>;
  CallTree below(const Wanted& wanted) const;
  // The callers of the function: its node first, and below each node its callers, up to the
  // outermost. The time is that of the wanted function on these ways. Of recursive calls only the
  // outermost has any.
  CallTree callers(const Wanted& wanted) const;
  // Ways from the outermost call to a wanted one, the most time first.
  struct Way {
    std::vector<uint64_t> functions;
    CallCounts counts;
  };
  std::vector<Way> ways(const Wanted& wanted) const;
  // Sums by function. Time of a function within itself counts once.
  std::map<uint64_t, CallCounts> flat() const;

 private:
  void merge_below(const CallTree& from, uint32_t node, uint32_t to);
  // Which nodes have a wanted function above them.
  std::vector<bool> within(const Wanted& wanted) const;

  struct KeyHash {
    size_t operator()(const std::pair<uint32_t, uint64_t>& key) const {
      return (key.second * 0x9e3779b97f4a7c15u) ^ (uint64_t{key.first} << 29 | key.first);
    }
  };
  std::vector<CallNode> nodes_;
  std::unordered_map<std::pair<uint32_t, uint64_t>, uint32_t, KeyHash> index_;
};

// Makes trees of calls: one of all threads, one a thread, or one a group of whatever kind.
class CallTreeBuilder : public CallSink {
 public:
  // The group of a thread, asked when an outermost call begins.
  using GroupOf = std::function<int32_t(int32_t tid)>;
  explicit CallTreeBuilder(bool per_thread) {
    if (per_thread) group_of_ = [](int32_t tid) { return tid; };
  }
  explicit CallTreeBuilder(GroupOf group_of) : group_of_(std::move(group_of)) {}
  void enter(const ThreadCalls& thread, OpenCall* call) override;
  void leave(const ThreadCalls& thread, const OpenCall& call, CallEnd how, uint64_t duration_ns,
             const GraphRecord* exit) override;
  // By thread id or group; 0 when all threads are one.
  std::map<int32_t, CallTree>& trees() { return trees_; }

 private:
  GroupOf group_of_;
  std::map<int32_t, CallTree> trees_;
};

}  // namespace patchbay::cmd
