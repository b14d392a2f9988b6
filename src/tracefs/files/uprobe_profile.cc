// SPDX-License-Identifier: MIT
// uprobe_profile: what each line of uprobe_events has counted.
#include "tracefs/files/files.h"

namespace patchbay::tracefs {

FilePtr make_uprobe_profile(const Place& place) {
  return make_text_file(place, [](TraceArray&, const Place& at) -> Result<std::string> {
    return at.tree->context.probes.uprobe_profile();
  });
}

}  // namespace patchbay::tracefs
