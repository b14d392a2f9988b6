// SPDX-License-Identifier: MIT
// debug/counters: hits that belong to no CPU's ring and were not recorded.
#include "tracefs/files/files.h"

namespace patchbay::tracefs {

FilePtr make_counters(const Place& place) {
  return make_text_file(place, [](TraceArray& array, const Place&) -> Result<std::string> {
    const abi::BufferHeader& header = *array.buffer->header();
    return "recursion: " + std::to_string(__atomic_load_n(&header.recursion, __ATOMIC_RELAXED)) +
           "\nmissed: " + std::to_string(__atomic_load_n(&header.missed, __ATOMIC_RELAXED)) + "\n";
  });
}

}  // namespace patchbay::tracefs
