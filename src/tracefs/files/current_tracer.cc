// SPDX-License-Identifier: MIT
// current_tracer: the tracer of the instance. Writing the name of the current one keeps the buffer,
// which counts as used from then on (buffer_size_kb); blanks around the name are allowed (the
// kernel: "nop\n\n" and " nop" too).
#include "base/text.h"
#include "tracefs/files/files.h"

namespace patchbay::tracefs {
namespace {

// The kernel copies at most so many bytes of a write and compares what it has.
constexpr size_t kMaxName = 100;

Result<std::string> show_tracer(TraceArray& array, const Place& place) {
  return std::string(place.tree->context.tracers.tracer_name(array)) + "\n";
}

Status set_tracer(TraceArray& array, const Place& place, std::string_view bytes) {
  PB_ASSIGN(std::string_view text, take_whole(bytes.substr(0, kMaxName), kMaxName + 1));
  return place.tree->context.tracers.set_tracer(array, trim(text));
}

}  // namespace

FilePtr make_current_tracer(const Place& place) {
  return make_value_file(place, show_tracer, set_tracer);
}

}  // namespace patchbay::tracefs
