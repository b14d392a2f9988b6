// SPDX-License-Identifier: MIT
//
// The families of one scrape, found by their names while its series come in from one process after
// the other. A family `x` writes other names, too: a counter x_total, a histogram x_bucket, x_sum
// and x_count, each perhaps x_created. Readers refuse a page where two families have one of these.
#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "cmd/serve/metrics.h"

namespace patchbay::cmd {

class Families {
 public:
  // The family of this name, which is made when it is not there. Where another one has that name,
  // or one that this would write, it gets a _ behind it. It stays where it is until take().
  Family& get(std::string_view name, MetricType type, std::string_view help,
              RangeKind kind = RangeKind::kLog2) {
    std::string own(name);
    for (;; own += '_') {
      if (const auto at = by_name_.find(own); at != by_name_.end()) {
        Family& one = families_[at->second];
        if (one.type == type && one.kind == kind) return one;
        continue;
      }
      if (!claim(own, type)) continue;
      by_name_.emplace(own, families_.size());
      families_.push_back({own, std::string(help), type, kind, false, {}, {}});
      return families_.back();
    }
  }
  Exposition take() { return {families_.begin(), families_.end()}; }

 private:
  bool claim(const std::string& name, MetricType type) {
    std::vector<std::string> names = {name};
    if (type == MetricType::kCounter)
      names.insert(names.end(), {name + "_total", name + "_created"});
    if (type == MetricType::kHistogram)
      for (const char* suffix : {"_bucket", "_sum", "_count", "_created"})
        names.push_back(name + suffix);
    for (const std::string& one : names)
      if (written_.contains(one)) return false;
    written_.insert(names.begin(), names.end());
    return true;
  }

  std::deque<Family> families_;
  std::unordered_map<std::string, size_t> by_name_;
  std::unordered_set<std::string> written_;
};

}  // namespace patchbay::cmd
