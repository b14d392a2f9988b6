// SPDX-License-Identifier: MIT
// options/NAME: one trace option, 0 or 1.
#include "base/check.h"
#include "registry/settings.h"
#include "tracefs/files/files.h"

namespace patchbay::tracefs {

FilePtr make_option(const Place& place) {
  PB_CHECK_VALUES(place.option < kTraceOptions.size(), place.option, kTraceOptions.size());
  auto show = [](TraceArray& array, const Place& at) -> Result<std::string> {
    return std::string(array.options[TraceOption(at.option)] ? "1\n" : "0\n");
  };
  auto write = [](TraceArray& array, const Place& at, std::string_view bytes) -> Status {
    PB_ASSIGN(bool on, parse_switch(bytes));
    return at.registry().settings().set_option(array, TraceOption(at.option), on);
  };
  return make_value_file(place, show, write);
}

}  // namespace patchbay::tracefs
