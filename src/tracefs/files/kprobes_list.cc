// SPDX-License-Identifier: MIT
// kprobes/list: the places of probes, and what stands there.
#include "tracefs/files/files.h"

namespace patchbay::tracefs {

FilePtr make_kprobes_list(const Place& place) {
  return make_text_file(place, [](TraceArray&, const Place& at) -> Result<std::string> {
    return at.tree->context.probes.list();
  });
}

}  // namespace patchbay::tracefs
