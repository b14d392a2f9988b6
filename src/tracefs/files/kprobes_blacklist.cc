// SPDX-License-Identifier: MIT
// kprobes/blacklist: functions that refuse every probe, and why.
#include "tracefs/files/files.h"

namespace patchbay::tracefs {

FilePtr make_kprobes_blacklist(const Place& place) {
  return make_text_file(place, [](TraceArray&, const Place& at) -> Result<std::string> {
    return at.tree->context.probes.blacklist();
  });
}

}  // namespace patchbay::tracefs
