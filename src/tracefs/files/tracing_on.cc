// SPDX-License-Identifier: MIT
// tracing_on: whether the rings take events. Any number but 0 means 1.
#include "registry/settings.h"
#include "tracefs/files/files.h"

namespace patchbay::tracefs {

FilePtr make_tracing_on(const Place& place) {
  auto show = [](TraceArray& array, const Place&) -> Result<std::string> {
    return std::string(array.tracing_on() ? "1\n" : "0\n");
  };
  auto write = [](TraceArray& array, const Place& at, std::string_view bytes) -> Status {
    PB_ASSIGN(uint64_t number, parse_number(bytes));
    return at.registry().settings().set_tracing_on(array, number != 0);
  };
  return make_value_file(place, show, write);
}

}  // namespace patchbay::tracefs
