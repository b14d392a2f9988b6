// SPDX-License-Identifier: MIT
// trace_stat/functionN: what the function profiler has counted on CPU N, the functions that took
// most time first. The last one, N being the number of CPUs, has the calls of threads without
// restartable sequences; it is there only if there were any.
// debug/profile: the same of all CPUs, with whole names and the functions' places.
// debug/profile_image: as bytes, for the tool (abi/table_abi.h). It is not listed.
#include "tracefs/files/files.h"
#include "tracer/profiler.h"

namespace patchbay::tracefs {

FilePtr make_trace_stat(const Place& place) {
  return make_text_file(place, [](TraceArray&, const Place& at) -> Result<std::string> {
    return at.tree->context.tracers.profiler().show(uint32_t(at.cpu));
  });
}

FilePtr make_profile(const Place& place) {
  return make_text_file(place, [](TraceArray&, const Place& at) -> Result<std::string> {
    return at.tree->context.tracers.profiler().show_all();
  });
}

FilePtr make_profile_image(const Place& place) {
  return make_text_file(place, [](TraceArray&, const Place& at) -> Result<std::string> {
    return profile_bytes(at.tree->context.tracers.profiler().all());
  });
}

}  // namespace patchbay::tracefs
