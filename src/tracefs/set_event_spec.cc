// SPDX-License-Identifier: MIT
#include "tracefs/set_event_spec.h"

namespace patchbay::tracefs {

EventSpec parse_event_spec(std::string_view word) {
  EventSpec spec;
  if (!word.empty() && word.front() == '!') {
    spec.on = false;
    word.remove_prefix(1);
  }
  size_t colon = word.find(':');
  if (colon == word.npos) {
    spec.match = word;
    return spec;
  }
  std::string_view system = word.substr(0, colon), event = word.substr(colon + 1);
  if (system != "*") spec.system = system;
  if (event != "*") spec.event = event;
  return spec;
}

bool EventSpec::matches(std::string_view system_name, std::string_view event_name) const {
  if (!match.empty()) return match == system_name || match == event_name;
  return (system.empty() || system == system_name) && (event.empty() || event == event_name);
}

}  // namespace patchbay::tracefs
