// SPDX-License-Identifier: MIT
// debug/call_sites: the places that are patched now.
#include "tracefs/files/files.h"

namespace patchbay::tracefs {

FilePtr make_call_sites(const TreeContext& context) {
  return make_text_file(
      [&context]() -> Result<std::string> { return context.events.call_sites(); });
}

}  // namespace patchbay::tracefs
