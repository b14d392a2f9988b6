// SPDX-License-Identifier: MIT
// stack_trace: the frames of the deepest stack that the stack tracer has seen.
#include "tracefs/files/files.h"
#include "tracer/stack_tracer.h"

namespace patchbay::tracefs {
namespace {

Result<std::string> show_stack(TraceArray&, const Place& place) {
  return place.tree->context.tracers.stack_tracer().show();
}

}  // namespace

FilePtr make_stack_trace(const Place& place) { return make_value_file(place, show_stack, nullptr); }

}  // namespace patchbay::tracefs
