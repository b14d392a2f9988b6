// SPDX-License-Identifier: MIT
// events/SYSTEM/EVENT/format: the event's fields and how to print them.
#include "tracefs/files/files.h"

namespace patchbay::tracefs {

FilePtr make_event_format(const Place& place) {
  return make_event_text_file(
      place, [](const TraceArray&, LiveEvent& event, const Place&) -> Result<std::string> {
        return event.call.format_text();
      });
}

}  // namespace patchbay::tracefs
