// SPDX-License-Identifier: MIT
// debug/combinations: the distinct sets of consumers that places have, one a line: how many places
// share it, whether they run it at the entry or at the return, and who they are.
#include "tracefs/files/files.h"

namespace patchbay::tracefs {

FilePtr make_combinations(const Place& place) {
  return make_text_file(place, [](TraceArray&, const Place& at) -> Result<std::string> {
    return at.tree->context.sites.combinations();
  });
}

}  // namespace patchbay::tracefs
