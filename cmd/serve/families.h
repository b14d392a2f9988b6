// SPDX-License-Identifier: MIT
//
// The families of one scrape, found by their names while its series come in from one process after
// the other.
#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>

#include "cmd/serve/metrics.h"

namespace patchbay::cmd {

class Families {
 public:
  // The family of this name, which is made when it is not there. Where one of that name is of
  // another kind, the name gets a _ behind it. It stays where it is until take().
  Family& get(std::string_view name, MetricType type, std::string_view help,
              RangeKind kind = RangeKind::kLog2) {
    std::string own(name);
    for (;; own += '_') {
      const auto [at, is_new] = by_name_.try_emplace(own, families_.size());
      if (is_new) {
        families_.push_back({own, std::string(help), type, kind, false, {}, {}});
        return families_.back();
      }
      Family& one = families_[at->second];
      if (one.type == type && one.kind == kind) return one;
    }
  }
  Exposition take() { return {families_.begin(), families_.end()}; }

 private:
  std::deque<Family> families_;
  std::unordered_map<std::string, size_t> by_name_;
};

}  // namespace patchbay::cmd
