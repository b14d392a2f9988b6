// SPDX-License-Identifier: MIT
// show_event_filters: SYSTEM:EVENT and its filter, for each event that has one in force.
#include "tracefs/files/files.h"

namespace patchbay::tracefs {
namespace {

constexpr size_t kNameColumns = 32;  // before the filter; a longer name is followed by one blank

std::string line_of(const EventCall& call, const std::string& filter) {
  std::string line = call.system + ":" + call.name;
  line.resize(std::max(kNameColumns, line.size() + 1), ' ');
  return line + filter + "\n";
}

}  // namespace

FilePtr make_show_event_filters(const Place& place) {
  return make_text_file(place, [](TraceArray& array, const Place& at) -> Result<std::string> {
    std::string text;
    for (const LiveEvent* event : at.registry().events_of(array, "")) {
      const EventFile* file = at.registry().file(array, event);
      if (file && file->filter) text += line_of(event->call, file->filter_text);
    }
    return text;
  });
}

}  // namespace patchbay::tracefs
