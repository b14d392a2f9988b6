// SPDX-License-Identifier: MIT
// events/SYSTEM/EVENT/mirror: `1` is the trigger `mirror` without a filter, `0` takes the trigger
// away, whatever it has. It shows whether there is one.
#include "tracefs/files/files.h"

namespace patchbay::tracefs {
namespace {

Result<std::string> show_mirror(const TraceArray& array, LiveEvent& event, const Place& place) {
  return std::string(place.tree->context.triggers.is_mirrored(array, &event) ? "1\n" : "0\n");
}

Status set_mirror(TraceArray& array, LiveEvent& event, const Place& place, std::string_view bytes) {
  PB_ASSIGN(const bool on, parse_switch(bytes));
  EventTriggers& triggers = place.tree->context.triggers;
  if (triggers.is_mirrored(array, &event) == on) return {};
  return triggers.write(array, &event, on ? "mirror" : "!mirror");
}

}  // namespace

FilePtr make_event_mirror(const Place& place) {
  return make_event_value_file(place, show_mirror, set_mirror);
}

}  // namespace patchbay::tracefs
