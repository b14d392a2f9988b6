// SPDX-License-Identifier: MIT
// available_tracers: names that current_tracer takes.
#include "tracefs/files/files.h"

namespace patchbay::tracefs {

FilePtr make_available_tracers(const Place& place) {
  return make_text_file(place, [](TraceArray&, const Place&) -> Result<std::string> {
    return std::string(Tracers::available()) + "\n";
  });
}

}  // namespace patchbay::tracefs
