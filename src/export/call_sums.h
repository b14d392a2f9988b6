// SPDX-License-Identifier: MIT
//
// Paths of calls with their own time, for flame graphs. A tree with a node a path; it grows with
// the number of different paths, and has a bound.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "export/export_event.h"
#include "export/export_source.h"

namespace patchbay {

class CallSums {
 public:
  struct Node {
    uint32_t parent = 0, name = 0;
    uint64_t self = 0;
  };
  static constexpr size_t kMostNodes = 1'000'000, kMostLevels = 1000;

  // 0 is the root. Behind the bounds it is `parent` itself: time counts for the last path known.
  uint32_t child(uint32_t parent, std::string_view name);
  void add(uint32_t node, uint64_t self) { nodes_[node].self += self; }
  const std::vector<Node>& nodes() const { return nodes_; }
  const std::string& name(uint32_t node) const { return names_[nodes_[node].name]; }
  bool is_full() const { return nodes_.size() >= kMostNodes; }

 private:
  std::vector<Node> nodes_ = std::vector<Node>(1);
  std::vector<uint32_t> levels_ = std::vector<uint32_t>(1);
  std::vector<std::string> names_ = std::vector<std::string>(1);
  std::unordered_map<std::string, uint32_t> name_ids_;
  std::unordered_map<uint64_t, uint32_t> children_;  // parent << 32 | name
};

// What flame graphs show of a recording, as report --folded decides it: the times of the calls of
// function_graph; where there are none, how often each stack was seen; where there are none either,
// the function tracer's calls with their callers.
class CallSumsBuilder {
 public:
  void begin(const ExportMeta* meta, ExportSource* source) {
    meta_ = meta;
    source_ = source;
  }
  void take(const ExportEvent& event);
  const CallSums* chosen() const {
    return has_calls_ ? &calls_ : has_stacks_ ? &stacks_ : &functions_;
  }
  bool in_ns() const { return has_calls_; }
  bool is_empty() const { return chosen()->nodes().size() == 1; }

 private:
  struct Open {
    uint32_t node;
    uint64_t child_ns;
  };
  uint32_t root(CallSums* sums, const ExportEvent& event) const;
  void begin_call(const ExportEvent& event);
  void end_call(const ExportEvent& event);
  void count_stack(const ExportEvent& event);
  void count_function(const ExportEvent& event);

  const ExportMeta* meta_ = nullptr;
  ExportSource* source_ = nullptr;
  CallSums calls_, stacks_, functions_;
  std::unordered_map<uint64_t, std::vector<Open>> open_;  // by input, buffer and thread
  bool has_calls_ = false, has_stacks_ = false;
};

}  // namespace patchbay
