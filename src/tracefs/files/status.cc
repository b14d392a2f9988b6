// SPDX-License-Identifier: MIT
// debug/status: what the agent says about itself.
#include "tracefs/files/files.h"

namespace patchbay::tracefs {

FilePtr make_status(const TreeContext& context) {
  if (!context.status) return nullptr;
  return make_text_file([&context]() -> Result<std::string> { return context.status(); });
}

}  // namespace patchbay::tracefs
