// SPDX-License-Identifier: MIT
// report --folded and report --flame FILE. They return the exit status.
#pragma once

#include <string>

#include "cmd/report/report_group.h"

namespace patchbay::cmd {

struct FlameRequest {
  std::string output;  // of --flame
  bool folded = false;
  bool per_thread = false;
  GroupBy group = GroupBy::kNone;
  WhoChoice who;
  bool wanted() const { return folded || !output.empty(); }
};

int report_flame(const std::string& input, const FlameRequest& request);

}  // namespace patchbay::cmd
