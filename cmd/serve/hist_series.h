// SPDX-License-Identifier: MIT
//
// The series of one histogram of one process: from its images, look after look, to counters that
// never go back.
//
//   { n:  3 } hitcount: 2  ──by the labels of the key──>  slot {n="3"}  now    2
//   { n:  7 } hitcount: 1  ────────────────────────────>  slot {n="7"}  now    1
//   the most_keys are taken: all further keys ─────────>  slot {other="true"}
//
//   shown = base + now.  A slot that has less than at the look before was cleared (or its process
//   runs another program): then base takes what all slots had, and now begins at 0 again. What was
//   counted and cleared between two looks nobody has seen.
//
// At the first look the largest keys get the slots, later those that come while there are any; none
// gives its slot back, or the sum of the others would go down.
//
//   keys=size.log2            a histogram of size, for each value of the other keys
//   vals=lat.quantiles        a histogram of lat, for each key; lat.counters, too
//   vals=size                 a counter; a gauge ..._net where the field has a sign, as its sum may
//                             go down (names that end in _sum are histograms')
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "cmd/serve/families.h"
#include "cmd/serve/metrics.h"
#include "hist/image/hist_image.h"

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
};

class HistSeries {
 public:
  // `process`: the labels of the process, which those of each series begin with. `columns`: an
  // image of this histogram.
  HistSeries(const HistPlace& place, const Labels& process, size_t most_keys,
             const HistImage& columns);

  // One look. An image with other columns counts nothing.
  void look(const HistImage& image);
  // The process runs another program: what was counted stays, and the next look begins at 0.
  void restart();
  // The series as they are now. They refer to this object.
  void show(Families* families);
  size_t nr_series() const { return slots_.size(); }

 private:
  static constexpr uint32_t kLog2Ranges = 65;
  static constexpr size_t kMostValues = 3;  // hitcount and two others
  struct Counts {
    std::array<uint64_t, kMostValues> values{};
    std::vector<uint64_t> log2;  // kLog2Ranges of them, where a key has .log2
    std::array<HistRanges, kMostValues> ranges;
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

  Found find(const HistImage& image, const HistRow& row);
  Slot* slot_of(Labels labels);
  Slot* other();
  void take(const HistImage& image, const HistRow& row);
  void show_histograms(Families* families);
  void show_counters(Families* families);
  void show_hits(Families* families);
  void name_families();
  bool is_shown_elsewhere(size_t index) const;
  std::string name_of(const std::string& field) const { return names_.at(field); }
  bool has_sign(const std::string& field) const;

  const Labels process_;
  const std::string prefix_, about_;
  const size_t most_keys_;
  const std::vector<HistColumn> keys_, values_;
  std::vector<std::string> label_names_;      // of the keys
  std::map<std::string, std::string> names_;  // of the families of fields
  size_t log2_key_ = ~size_t{0};
  std::deque<Slot> slots_;
  std::map<std::string, Slot*> by_labels_;
  std::unordered_map<std::string, Found> by_key_;
  Slot* other_ = nullptr;
  Steady dropped_;
  Labels own_;  // without keys
  bool has_looked_ = false;
};

}  // namespace patchbay::cmd
