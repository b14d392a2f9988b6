// SPDX-License-Identifier: MIT
// tracing_max_latency: microseconds, the longest that a latency tracer has seen. There is none
// here, so it says what was written; programs reset it (libtracefs: instance reset).
#include "tracefs/files/files.h"

namespace patchbay::tracefs {

FilePtr make_tracing_max_latency(const Place& place) {
  auto show = [](TraceArray& array, const Place& at) -> Result<std::string> {
    return std::to_string(at.tree->max_latency_ns[array.serial] / 1000) + "\n";
  };
  auto write = [](TraceArray& array, const Place& at, std::string_view bytes) -> Status {
    PB_ASSIGN(uint64_t us, parse_number(bytes));
    at.tree->max_latency_ns[array.serial] = us * 1000;  // modulo 2^64, as the kernel
    return {};
  };
  return make_value_file(place, show, write);
}

}  // namespace patchbay::tracefs
