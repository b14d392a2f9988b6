// SPDX-License-Identifier: MIT
// enabled_functions: the functions that are traced, and by whom; touched_functions: those that ever
// were.
#include "tracefs/files/files.h"

namespace patchbay::tracefs {

FilePtr make_enabled_functions(const Place& place) {
  return make_text_file(place, [](TraceArray&, const Place& at) -> Result<std::string> {
    return at.tree->context.tracers.enabled_functions();
  });
}

FilePtr make_touched_functions(const Place& place) {
  return make_text_file(place, [](TraceArray&, const Place& at) -> Result<std::string> {
    return at.tree->context.tracers.touched_functions();
  });
}

}  // namespace patchbay::tracefs
