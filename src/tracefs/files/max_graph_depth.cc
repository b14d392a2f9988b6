// SPDX-License-Identifier: MIT
// max_graph_depth: function_graph follows calls only so deep; 0: as deep as they are.
#include "tracefs/files/files.h"
#include "tracer/graph_control.h"

namespace patchbay::tracefs {
namespace {

Result<std::string> show_depth(TraceArray&, const Place& place) {
  return std::to_string(place.tree->context.tracers.graph().max_depth()) + "\n";
}

// The kernel's kstrtoul() into an unsigned int: what does not fit is cut off.
Status set_depth(TraceArray&, const Place& place, std::string_view bytes) {
  PB_ASSIGN(uint64_t depth, parse_number(bytes));
  place.tree->context.tracers.graph().set_max_depth(uint32_t(depth));
  return {};
}

}  // namespace

FilePtr make_max_graph_depth(const Place& place) {
  return make_value_file(place, show_depth, set_depth);
}

}  // namespace patchbay::tracefs
