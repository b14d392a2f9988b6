// SPDX-License-Identifier: MIT
// debug/refused_functions: every function that cannot be traced, with the reason.
#include "tracefs/files/files.h"

namespace patchbay::tracefs {

FilePtr make_refused_functions(const Place& place) {
  return make_text_file(place, [](TraceArray&, const Place& at) -> Result<std::string> {
    return at.tree->context.functions.refused_functions();
  });
}

}  // namespace patchbay::tracefs
