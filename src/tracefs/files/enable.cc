// SPDX-License-Identifier: MIT
// events/enable, events/SYSTEM/enable: `0`, `1`, `X` (some), `?` (there is none).
// events/SYSTEM/EVENT/enable: `0` or `1`, with `*` while a trigger holds the event.
#include "tracefs/files/files.h"

namespace patchbay::tracefs {
namespace {

Status enable_all(TraceArray& array, const Place& place, std::string_view bytes) {
  PB_ASSIGN(bool on, parse_switch(bytes));
  std::vector<LiveEvent*> events = place.registry().events_of(array, place.system);
  std::erase_if(events, [](const LiveEvent* event) { return !event->can_enable; });
  return place.registry().set_enabled(array, events, on);
}

Result<std::string> show_event(const TraceArray& array, LiveEvent& event, const Place& place) {
  const EventFile* file = place.registry().file(array, &event);
  std::string text(file && file->is_on() ? "1" : "0");
  if (file && file->soft_users > 0) text += "*";
  return text + "\n";
}

Status enable_event(TraceArray& array, LiveEvent& event, const Place& place,
                    std::string_view bytes) {
  PB_ASSIGN(bool on, parse_switch(bytes));
  LiveEvent* one = &event;
  return place.registry().set_enabled(array, {&one, 1}, on);
}

}  // namespace

FilePtr make_events_enable(const Place& place) {
  auto show = [](TraceArray& array, const Place& at) -> Result<std::string> {
    return std::string{at.registry().summary(array, at.system), '\n'};
  };
  return make_value_file(place, show, enable_all);
}

FilePtr make_event_enable(const Place& place) {
  return make_event_value_file(place, show_event, enable_event);
}

}  // namespace patchbay::tracefs
