// SPDX-License-Identifier: MIT
// saved_cmdlines_size: how many threads saved_cmdlines shows.
#include "registry/settings.h"
#include "tracefs/files/files.h"

namespace patchbay::tracefs {

FilePtr make_saved_cmdlines_size(const Place& place) {
  auto show = [](TraceArray&, const Place& at) -> Result<std::string> {
    return std::to_string(at.registry().settings().saved_cmdlines_size()) + "\n";
  };
  auto write = [](TraceArray&, const Place& at, std::string_view bytes) -> Status {
    PB_ASSIGN(uint64_t slots, parse_number(bytes));
    return at.registry().settings().set_saved_cmdlines_size(slots);
  };
  return make_value_file(place, show, write);
}

}  // namespace patchbay::tracefs
