// SPDX-License-Identifier: MIT
// buffer_percent: how full a CPU's buffer is when poll and splice of trace_pipe_raw wake; 0: with
// the first event.
#include "tracefs/files/files.h"

namespace patchbay::tracefs {

FilePtr make_buffer_percent(const Place& place) {
  auto show = [](TraceArray& array, const Place&) -> Result<std::string> {
    return std::to_string(array.buffer_percent) + "\n";
  };
  auto write = [](TraceArray& array, const Place&, std::string_view bytes) -> Status {
    PB_ASSIGN(uint64_t number, parse_number(bytes));
    if (number > 100) return user_error(EINVAL, "buffer_percent is at most 100.");
    array.buffer_percent = uint32_t(number);
    return {};
  };
  return make_value_file(place, show, write);
}

}  // namespace patchbay::tracefs
