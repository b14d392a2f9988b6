// SPDX-License-Identifier: MIT
// events/enable, events/functions/enable: `0`, `1`, `X` (some), `?` (there is none).
// events/functions/NAME/enable: `0` or `1`.
#include "tracefs/files/files.h"
#include "tracefs/write_style.h"

namespace patchbay::tracefs {

FilePtr make_events_enable(const TreeContext& context) {
  FunctionEvents& events = context.events;
  auto read = [&events]() -> Result<std::string> { return std::string{events.summary(), '\n'}; };
  auto write = [&events](std::string_view bytes) -> Status {
    Result<bool> on = parse_switch(bytes);
    if (!on.ok()) return on.error();
    return events.set_all_enabled(*on);
  };
  return make_value_file(read, write);
}

FilePtr make_event_enable(const TreeContext& context, std::string event) {
  FunctionEvents& events = context.events;
  auto read = [&events, event]() -> Result<std::string> {
    if (!events.find(event)) return event_is_gone(event);
    return std::string(events.is_enabled(event) ? "1\n" : "0\n");
  };
  auto write = [&events, event](std::string_view bytes) -> Status {
    Result<bool> on = parse_switch(bytes);
    if (!on.ok()) return on.error();
    if (!events.find(event)) return event_is_gone(event);
    return events.set_enabled(event, *on);
  };
  return make_value_file(read, write);
}

}  // namespace patchbay::tracefs
