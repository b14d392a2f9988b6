// SPDX-License-Identifier: MIT
// events/functions/NAME/format: the event's fields and how to print them.
#include "tracefs/files/files.h"

namespace patchbay::tracefs {

FilePtr make_event_format(const TreeContext& context, std::string event) {
  FunctionEvents& events = context.events;
  return make_text_file([&events, event]() -> Result<std::string> {
    const EventCall* call = events.find(event);
    if (!call) return event_is_gone(event);
    return call->format_text();
  });
}

}  // namespace patchbay::tracefs
