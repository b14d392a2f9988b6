// SPDX-License-Identifier: MIT
// available_events: SYSTEM:EVENT of each event that exists.
#include "tracefs/files/files.h"

namespace patchbay::tracefs {

FilePtr make_available_events(const TreeContext& context) {
  return make_text_file([&context]() -> Result<std::string> {
    std::string text;
    for (const std::string& name : context.events.event_names()) text += "functions:" + name + "\n";
    return text;
  });
}

}  // namespace patchbay::tracefs
