// SPDX-License-Identifier: MIT
// function_profile_enabled: 0 or 1 (any other number means 1); 1 begins at 0.
#include "tracefs/files/files.h"
#include "tracer/profiler.h"

namespace patchbay::tracefs {
namespace {

Result<std::string> show_enabled(TraceArray&, const Place& place) {
  return std::string(place.tree->context.tracers.profiler().enabled() ? "1\n" : "0\n");
}

Status set_enabled(TraceArray&, const Place& place, std::string_view bytes) {
  PB_ASSIGN(uint64_t value, parse_number(bytes));
  return place.tree->context.tracers.set_profiling(value != 0);
}

}  // namespace

FilePtr make_function_profile_enabled(const Place& place) {
  return make_value_file(place, show_enabled, set_enabled);
}

}  // namespace patchbay::tracefs
