// SPDX-License-Identifier: MIT
// debug/function_kinds: every function that can be traced, "NAME [OBJECT] KIND": by which kind of
// patch (docs/text_poke.md).
#include "tracefs/files/files.h"

namespace patchbay::tracefs {

FilePtr make_function_kinds(const Place& place) {
  return make_text_file(place, [](TraceArray&, const Place& at) -> Result<std::string> {
    return at.tree->context.functions.available_functions();
  });
}

}  // namespace patchbay::tracefs
