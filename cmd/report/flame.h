// SPDX-License-Identifier: MIT
//
// A flame graph as one SVG file that a browser opens: frames as wide as their time, callers below.
// A click on a frame zooms into it, Ctrl-F or "Search" colours what a regular expression matches;
// the script for it is in the file, nothing is loaded from elsewhere.
#pragma once

#include <string>

#include "cmd/report/folded.h"

namespace patchbay::cmd {

struct FlameOptions {
  std::string title, subtitle;
  uint32_t width = 1200;
};

std::string flame_svg(const FlameStacks& stacks, const FlameOptions& options);

}  // namespace patchbay::cmd
