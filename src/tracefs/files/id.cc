// SPDX-License-Identifier: MIT
// events/SYSTEM/EVENT/id: the number that stands in common_type of its records.
#include "tracefs/files/files.h"

namespace patchbay::tracefs {

FilePtr make_event_id(const Place& place) {
  return make_event_text_file(
      place, [](const TraceArray&, LiveEvent& event, const Place&) -> Result<std::string> {
        return std::to_string(event.call.id) + "\n";
      });
}

}  // namespace patchbay::tracefs
