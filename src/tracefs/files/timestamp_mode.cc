// SPDX-License-Identifier: MIT
// timestamp_mode: how events carry their time: as the delta to the one before.
#include "tracefs/files/files.h"

namespace patchbay::tracefs {

FilePtr make_timestamp_mode(const Place& place) {
  return make_text_file(place, [](TraceArray&, const Place&) -> Result<std::string> {
    return std::string("[delta] absolute\n");
  });
}

}  // namespace patchbay::tracefs
