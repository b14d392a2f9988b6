// SPDX-License-Identifier: MIT
// debug/call_sites: the places that are patched now.
#include "tracefs/files/files.h"

namespace patchbay::tracefs {

FilePtr make_call_sites(const Place& place) {
  return make_text_file(place, [](TraceArray&, const Place& at) -> Result<std::string> {
    return at.tree->context.functions.call_sites();
  });
}

}  // namespace patchbay::tracefs
