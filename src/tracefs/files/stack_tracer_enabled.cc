// SPDX-License-Identifier: MIT
// stack_tracer_enabled: the switch of the stack tracer, which the kernel has as the sysctl
// kernel.stack_tracer_enabled.
#include "tracefs/files/files.h"
#include "tracer/stack_tracer.h"

namespace patchbay::tracefs {
namespace {

Result<std::string> show_enabled(TraceArray&, const Place& place) {
  return std::string(place.tree->context.tracers.stack_tracer().enabled() ? "1\n" : "0\n");
}

Status set_enabled(TraceArray&, const Place& place, std::string_view bytes) {
  PB_ASSIGN(uint64_t value, parse_number(bytes));
  return place.tree->context.tracers.stack_tracer().set_enabled(value != 0);
}

}  // namespace

FilePtr make_stack_tracer_enabled(const Place& place) {
  return make_value_file(place, show_enabled, set_enabled);
}

}  // namespace patchbay::tracefs
