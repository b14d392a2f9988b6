// SPDX-License-Identifier: MIT
// available_filter_functions: every function that can be traced.
#include "tracefs/files/files.h"

namespace patchbay::tracefs {

FilePtr make_available_filter_functions(const Place& place) {
  return make_text_file(place, [](TraceArray&, const Place& at) -> Result<std::string> {
    return at.tree->context.functions.available_functions();
  });
}

}  // namespace patchbay::tracefs
