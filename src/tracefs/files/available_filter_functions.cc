// SPDX-License-Identifier: MIT
// available_filter_functions, available_filter_functions_addrs: every function that can be traced,
// in the order that the numbers of set_ftrace_filter count.
#include "tracefs/files/files.h"

namespace patchbay::tracefs {

FilePtr make_available_filter_functions(const Place& place) {
  return make_text_file(place, [](TraceArray&, const Place& at) -> Result<std::string> {
    return at.tree->context.tracers.available_filter_functions(false);
  });
}

FilePtr make_available_filter_functions_addrs(const Place& place) {
  return make_text_file(place, [](TraceArray&, const Place& at) -> Result<std::string> {
    return at.tree->context.tracers.available_filter_functions(true);
  });
}

}  // namespace patchbay::tracefs
