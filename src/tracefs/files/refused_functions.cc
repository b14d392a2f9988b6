// SPDX-License-Identifier: MIT
// debug/refused_functions: every function that cannot be traced, with the reason.
#include "tracefs/files/files.h"

namespace patchbay::tracefs {

FilePtr make_refused_functions(const TreeContext& context) {
  return make_text_file(
      [&context]() -> Result<std::string> { return context.events.refused_functions(); });
}

}  // namespace patchbay::tracefs
