// SPDX-License-Identifier: MIT
// tracing_thresh: microseconds; tracers of durations show only what took longer. 0: everything.
#include "tracefs/files/files.h"

namespace patchbay::tracefs {

FilePtr make_tracing_thresh(const Place& place) {
  auto show = [](TraceArray&, const Place& at) -> Result<std::string> {
    return std::to_string(at.registry().tracing_thresh()) + "\n";
  };
  auto write = [](TraceArray&, const Place& at, std::string_view bytes) -> Status {
    Result<uint64_t> us = parse_number(bytes);
    if (us.ok()) at.registry().set_tracing_thresh(*us);
    return us.ok() ? Status() : us.error();
  };
  return make_value_file(place, show, write);
}

}  // namespace patchbay::tracefs
