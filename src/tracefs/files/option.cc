// SPDX-License-Identifier: MIT
// options/NAME: one trace option, 0 or 1.
#include "tracefs/files/files.h"

namespace patchbay::tracefs {

FilePtr make_option(const Place& place) {
  auto show = [](TraceArray& array, const Place& at) -> Result<std::string> {
    return std::string(array.options[TraceOption(at.option)] ? "1\n" : "0\n");
  };
  auto write = [](TraceArray& array, const Place& at, std::string_view bytes) -> Status {
    Result<bool> on = parse_switch(bytes);
    if (!on.ok()) return on.error();
    return at.registry().set_option(array, TraceOption(at.option), *on);
  };
  return make_value_file(place, show, write);
}

}  // namespace patchbay::tracefs
