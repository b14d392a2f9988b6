// SPDX-License-Identifier: MIT
// printk_formats: the format strings that bprint records refer to. No record does yet.
#include "tracefs/files/files.h"

namespace patchbay::tracefs {

FilePtr make_printk_formats(const Place& place) {
  return make_text_file(
      place, [](TraceArray&, const Place&) -> Result<std::string> { return std::string(); });
}

}  // namespace patchbay::tracefs
