// SPDX-License-Identifier: MIT
// tracing_thresh: microseconds; tracers of durations show only what took longer. 0: everything.
#include "registry/settings.h"
#include "tracefs/files/files.h"
#include "tracer/graph_control.h"

namespace patchbay::tracefs {

FilePtr make_tracing_thresh(const Place& place) {
  auto show = [](TraceArray&, const Place& at) -> Result<std::string> {
    return std::to_string(at.registry().settings().tracing_thresh()) + "\n";
  };
  auto write = [](TraceArray&, const Place& at, std::string_view bytes) -> Status {
    PB_ASSIGN(uint64_t us, parse_number(bytes));
    at.registry().settings().set_tracing_thresh(us);
    at.tree->context.tracers.graph().settings_changed();
    return {};
  };
  return make_value_file(place, show, write);
}

}  // namespace patchbay::tracefs
