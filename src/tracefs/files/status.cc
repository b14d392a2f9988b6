// SPDX-License-Identifier: MIT
// debug/status: what the agent says about itself.
#include "tracefs/files/files.h"

namespace patchbay::tracefs {

FilePtr make_status(const Place& place) {
  if (!place.tree->context.status) return nullptr;
  return make_text_file(place, [](TraceArray&, const Place& at) -> Result<std::string> {
    return at.tree->context.status();
  });
}

}  // namespace patchbay::tracefs
