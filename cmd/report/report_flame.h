// SPDX-License-Identifier: MIT
// report --folded and report --flame FILE. They return the exit status.
#pragma once

#include <string>

namespace patchbay::cmd {

struct FlameRequest {
  std::string output;  // of --flame
  bool folded = false;
  bool per_thread = false;
  bool wanted() const { return folded || !output.empty(); }
};

int report_flame(const std::string& input, const FlameRequest& request);

}  // namespace patchbay::cmd
