// SPDX-License-Identifier: MIT
//
// A profile for pprof (github.com/google/pprof, proto/profile.proto): counts by stack. Stacks share
// their callers, so they are kept as a tree:
//
//   child(child(kRoot, main), parse)     a node: main;parse
//   add(node, 0, 1)                      the value 0 of this stack grows by 1
//
// The tree has a bound. A stack that would go beyond it counts for the part of it that is there,
// and says so (cut_stacks()): the sums stay right.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"

namespace patchbay {

class PprofProfile {
 public:
  struct ValueType {
    std::string type, unit;  // "calls", "count"
  };
  struct Mapping {
    uint64_t start = 0, end = 0;
    std::string path, build_id;
  };
  static constexpr uint32_t kRoot = 0;
  static constexpr size_t kMostNodes = 1 << 20, kMostValues = 3;

  explicit PprofProfile(std::vector<ValueType> types, size_t most_nodes = kMostNodes);

  void set_mappings(std::vector<Mapping> mappings) { mappings_ = std::move(mappings); }
  void set_times(uint64_t start_ns, uint64_t duration_ns) {
    start_ns_ = start_ns;
    duration_ns_ = duration_ns;
  }
  void add_comment(std::string_view text) { comments_.emplace_back(text); }

  // A frame: `name` is looked at when the address is met first. Frames of one address are one.
  // `name_of()` gives the function's name.
  template <typename NameOf>
  uint32_t frame(uint64_t address, NameOf name_of) {
    auto [found, is_new] = frames_.try_emplace(address, uint32_t(locations_.size()));
    if (is_new) locations_.push_back({address, text(name_of())});
    return found->second;
  }
  uint32_t child(uint32_t node, uint32_t frame);
  // The root of stacks of their own, which all have the label `event` with this text.
  uint32_t root(std::string_view label);
  void add(uint32_t node, size_t value, uint64_t more) { nodes_[node].values[value] += more; }

  size_t nodes() const { return nodes_.size(); }
  uint64_t cut_stacks() const { return cut_stacks_; }
  // The message, not compressed. Nodes without any value are left out, and so are kinds of values
  // that nobody has added to; the last one that is there is what pprof shows first.
  std::string encode();

 private:
  struct Node {
    uint32_t parent = 0, frame = 0;  // frame: or kLabel and a text
    uint64_t values[kMostValues] = {};
  };
  static constexpr uint32_t kLabel = 1u << 31;
  struct Location {
    uint64_t address = 0;
    uint32_t name = 0;  // in texts_
  };
  uint32_t text(std::string_view text);
  std::vector<size_t> used_values() const;
  std::string sample(const Node& node, const std::vector<size_t>& values, uint32_t key) const;
  void put_mappings(std::string* out);
  void put_locations(std::string* out) const;

  std::vector<ValueType> types_;
  const size_t most_nodes_;
  std::vector<Mapping> mappings_;
  uint64_t start_ns_ = 0, duration_ns_ = 0, cut_stacks_ = 0;
  std::vector<std::string> comments_;
  std::vector<Node> nodes_;
  std::vector<Location> locations_;
  std::unordered_map<uint64_t, uint32_t> frames_;    // address to location
  std::unordered_map<uint64_t, uint32_t> children_;  // node and frame to node
  std::unordered_map<std::string, uint32_t> text_numbers_;
  std::vector<const std::string*> texts_;
};

}  // namespace patchbay
