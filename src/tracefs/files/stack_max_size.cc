// SPDX-License-Identifier: MIT
// stack_max_size: bytes of the deepest stack that the stack tracer has seen; a deeper one than what
// is written here is kept next.
#include "tracefs/files/files.h"
#include "tracer/stack_tracer.h"

namespace patchbay::tracefs {
namespace {

Result<std::string> show_size(TraceArray&, const Place& place) {
  return std::to_string(place.tree->context.tracers.stack_tracer().max_size()) + "\n";
}

Status set_size(TraceArray&, const Place& place, std::string_view bytes) {
  PB_ASSIGN(uint64_t size, parse_number(bytes));
  place.tree->context.tracers.stack_tracer().set_max_size(size);
  return {};
}

}  // namespace

FilePtr make_stack_max_size(const Place& place) {
  return make_value_file(place, show_size, set_size);
}

}  // namespace patchbay::tracefs
