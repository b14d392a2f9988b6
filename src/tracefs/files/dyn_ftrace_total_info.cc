// SPDX-License-Identifier: MIT
// dyn_ftrace_total_info: how many functions can be traced, and what their records take.
#include "tracefs/files/files.h"

namespace patchbay::tracefs {

FilePtr make_dyn_ftrace_total_info(const Place& place) {
  return make_text_file(place, [](TraceArray&, const Place& at) -> Result<std::string> {
    return at.tree->context.tracers.total_info();
  });
}

}  // namespace patchbay::tracefs
