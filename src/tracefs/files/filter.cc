// SPDX-License-Identifier: MIT
// events/SYSTEM/EVENT/filter: which records of the event are kept. `none`, the expression, or the
// failed expression with its error. events/SYSTEM/filter: sets the filters of all its events.
//
// An expression of 4096 bytes is refused before it is looked at, so it stays out of error_log. An
// empty write is an expression without text to an event's file, and nothing to a system's (kernel).
#include "registry/event_filters.h"
#include "tracefs/files/files.h"

namespace patchbay::tracefs {
namespace {

constexpr const char kSystemHelp[] =
    "### global filter ###\n"
    "# Use this to set filters for multiple events.\n"
    "# Only events with the given fields will be affected.\n"
    "# If no events are modified, an error message will be displayed here\n";

Result<std::string> show_event(const TraceArray& array, LiveEvent& event, const Place& place) {
  std::string text = place.registry().filters().show(array, &event);
  if (text.empty() || text.back() != '\n') text += "\n";
  return text;
}

Status write_event(TraceArray& array, LiveEvent& event, const Place& place,
                   std::string_view bytes) {
  PB_ASSIGN(std::string_view text, take_whole(bytes, kFilterLimit));
  return place.registry().filters().set(array, &event, text);
}

Status write_system(TraceArray& array, const Place& place, std::string_view bytes) {
  PB_ASSIGN(std::string_view text, take_whole(bytes, kFilterLimit));
  if (!place.tree->has_system(array, place.system)) {
    return user_error(ENODEV, "The system " + place.system + " has no events any more.");
  }
  return place.registry().filters().set_system(array, place.system, text);
}

Result<std::string> show_system(TraceArray& array, const Place& place) {
  if (place.tree->has_system(array, place.system)) return std::string(kSystemHelp);
  return user_error(ENODEV, "The system " + place.system + " has no events any more.");
}

}  // namespace

FilePtr make_event_filter(const Place& place) {
  return make_event_value_file(place, show_event, write_event);
}

FilePtr make_system_filter(const Place& place) {
  return make_value_file(place, show_system, write_system);
}

}  // namespace patchbay::tracefs
