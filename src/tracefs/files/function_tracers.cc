// SPDX-License-Identifier: MIT
// function_tracers: the function tracers of the instance that run, `*` before the one whose filters
// set_ftrace_filter and set_ftrace_notrace change; writing a name chooses another
// (docs/files.md). The one that was started last is chosen. `*` chooses all, and those to come: one
// filter for every tracer, as in the kernel.
#include "base/text.h"
#include "tracefs/files/files.h"

namespace patchbay::tracefs {
namespace {

constexpr size_t kMaxName = 100;

Status choose(TraceArray& array, const Place& at, std::string_view bytes) {
  PB_ASSIGN(std::string_view text, take_whole(bytes, kMaxName));
  return at.tree->context.tracers.choose_tracer(array, trim(text));
}

}  // namespace

FilePtr make_function_tracers(const Place& place) {
  return make_value_file(
      place,
      [](TraceArray& array, const Place& at) -> Result<std::string> {
        return at.tree->context.tracers.function_tracers(array);
      },
      choose);
}

}  // namespace patchbay::tracefs
