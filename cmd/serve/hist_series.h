// SPDX-License-Identifier: MIT
//
// The series of one histogram of one process: from its texts, look after look, to counters that
// never go back.
//
//   { n:  3 } hitcount: 2  ──by the bytes of the key──>  slot {n="3"}  now    2
//   { n:  7 } hitcount: 1  ──────────────────────────>   slot {n="7"}  now    1
//   the most_keys are taken: all further keys ───────>   slot {other="true"}
//
//   shown = base + now.  A slot that has less than at the look before was cleared (or its process
//   runs another program): then base takes what all slots had, and now begins at 0 again. What was
//   counted and cleared between two looks nobody has seen.
//
// At the first look the largest keys get the slots, later those that come while there are any; none
// gives its slot back, or the sum of the others would go down.
//
//   keys=size.log2            a histogram of size, for each value of the other keys
//   vals=lat.counters         a histogram of lat, for each key
//   vals=size                 a counter; a gauge ..._net where the field has a sign, as its sum may
//                             go down (names that end in _sum are histograms')
//   vals=lat.quantiles        what is shown of it cannot be added up: it is left out
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "cmd/measure/hist_columns.h"
#include "cmd/serve/families.h"
#include "cmd/serve/metrics.h"
#include "hist/text/hist_values.h"

namespace patchbay::cmd {

// One counter that never goes back, of looks at one that may.
struct Steady {
  uint64_t base = 0, last = 0;
  void look(uint64_t now) {
    if (now < last) base += last;
    last = now;
  }
  uint64_t value() const { return base + last; }
};

struct HistPlace {
  std::string instance, system, event;
  std::string definition;  // as the trigger file lists it: "hist:keys=n:vals=…"
  std::vector<std::string> signed_fields;
};

class HistSeries {
 public:
  // `process`: the labels of the process, which those of each series begin with.
  HistSeries(const HistPlace& place, const Labels& process, size_t most_keys);

  // One look: the text of this histogram alone.
  void look(std::string_view untrusted_text);
  // The process runs another program: what was counted stays, and the next look begins at 0.
  void restart();
  // The series as they are now. They refer to this object.
  void show(Families* families);
  size_t nr_series() const { return slots_.size(); }
  const std::string& definition() const { return definition_; }

 private:
  static constexpr uint32_t kLog2Ranges = 65;
  static constexpr size_t kMostValues = 3;  // hitcount and two others
  struct Counts {
    std::array<uint64_t, kMostValues> values{};
    std::vector<uint64_t> log2;  // kLog2Ranges of them, where a key has .log2
    std::array<HistCounters, kMostValues> counters;
    void add(const Counts& other);
    void clear();
  };
  struct Slot {
    Labels labels;
    Counts base, last, now;
  };
  struct Found {
    Slot* slot = nullptr;
    uint32_t range = 0;  // of the key with .log2
  };
  struct ByBytes {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };

  Found find(std::string_view key);
  Slot* slot_of(const std::vector<HistKeyPart>& parts);
  Slot* other();
  void take(std::string_view key, std::string_view values);
  void show_histograms(Families* families);
  void show_counters(Families* families);
  void show_hits(Families* families);
  void name_families();
  bool is_shown_elsewhere(size_t index) const;
  std::string name_of(const std::string& field) const { return names_.at(field); }
  bool has_sign(const std::string& field) const { return signed_fields_.contains(field); }
  std::string key_label(size_t index, const HistKeyPart& part) const;

  const Labels process_;
  const std::string definition_, prefix_, about_;
  const size_t most_keys_;
  std::set<std::string> signed_fields_;
  std::vector<HistColumn> keys_, values_;
  std::vector<std::string> label_names_;      // of the keys
  std::map<std::string, std::string> names_;  // of the families of fields
  size_t log2_key_ = ~size_t{0};
  std::deque<Slot> slots_;
  std::map<std::string, Slot*> by_labels_;
  std::unordered_map<std::string, Found, ByBytes, std::equal_to<>> by_key_;
  Slot* other_ = nullptr;
  Steady dropped_;
  Labels own_;  // without keys
  bool has_looked_ = false;
};

}  // namespace patchbay::cmd
