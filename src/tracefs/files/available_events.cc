// SPDX-License-Identifier: MIT
// available_events: SYSTEM:EVENT of each event that can be enabled.
#include "tracefs/files/files.h"

namespace patchbay::tracefs {

FilePtr make_available_events(const Place& place) {
  return make_text_file(place, [](TraceArray& array, const Place& at) -> Result<std::string> {
    if (at.tree->context.look_for_events) at.tree->context.look_for_events();
    std::string text;
    for (const LiveEvent* event : at.registry().events_of(array, "")) {
      if (event->can_enable) text += event->call.system + ":" + event->call.name + "\n";
    }
    return text;
  });
}

}  // namespace patchbay::tracefs
