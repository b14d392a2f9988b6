// SPDX-License-Identifier: MIT
// events/functions/NAME/id: the number that stands in common_type of its records.
#include "tracefs/files/files.h"

namespace patchbay::tracefs {

FilePtr make_event_id(const TreeContext& context, std::string event) {
  FunctionEvents& events = context.events;
  return make_text_file([&events, event]() -> Result<std::string> {
    const EventCall* call = events.find(event);
    if (!call) return event_is_gone(event);
    return std::to_string(call->id) + "\n";
  });
}

}  // namespace patchbay::tracefs
