// SPDX-License-Identifier: MIT
// kprobe_profile: what each line of kprobe_events has counted, hits and misses.
#include "tracefs/files/files.h"

namespace patchbay::tracefs {

FilePtr make_kprobe_profile(const Place& place) {
  return make_text_file(place, [](TraceArray&, const Place& at) -> Result<std::string> {
    return at.tree->context.probes.kprobe_profile();
  });
}

}  // namespace patchbay::tracefs
