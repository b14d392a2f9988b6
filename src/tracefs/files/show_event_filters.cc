// SPDX-License-Identifier: MIT
// show_event_filters: SYSTEM:EVENT and its filter, for each event that has one in force.
// show_event_triggers: SYSTEM:EVENT and a trigger, for each trigger.
#include "base/text.h"
#include "tracefs/files/files.h"

namespace patchbay::tracefs {
namespace {

constexpr size_t kNameColumns = 32;  // before the text; a longer name is followed by one blank

std::string line_of(const EventCall& call, std::string_view text) {
  std::string line = call.system + ":" + call.name;
  line.resize(std::max(kNameColumns, line.size() + 1), ' ');
  return line.append(text) + "\n";
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

FilePtr make_show_event_triggers(const Place& place) {
  return make_text_file(place, [](TraceArray& array, const Place& at) -> Result<std::string> {
    std::string text;
    for (const LiveEvent* event : at.registry().events_of(array, "")) {
      const std::string triggers = at.tree->context.triggers.list(array, event);
      for (std::string_view rest = triggers; !rest.empty();)
        text += line_of(event->call, cut_at(&rest, '\n'));
    }
    return text;
  });
}

}  // namespace patchbay::tracefs
