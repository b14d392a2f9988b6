// SPDX-License-Identifier: MIT
// debug/call_sites: the places in functions that are patched now; the sites of static events; those
// of USDT probes that were ever asked for.
#include "tracefs/files/files.h"

namespace patchbay::tracefs {

FilePtr make_call_sites(const Place& place) {
  return make_text_file(place, [](TraceArray&, const Place& at) -> Result<std::string> {
    const TreeContext& context = at.tree->context;
    std::string text = context.sites.show();
    if (context.more_call_sites) text += context.more_call_sites();
    return text;
  });
}

}  // namespace patchbay::tracefs
