// SPDX-License-Identifier: MIT
// available_filter_functions: every function that can be traced.
#include "tracefs/files/files.h"

namespace patchbay::tracefs {

FilePtr make_available_filter_functions(const TreeContext& context) {
  return make_text_file(
      [&context]() -> Result<std::string> { return context.events.available_functions(); });
}

}  // namespace patchbay::tracefs
