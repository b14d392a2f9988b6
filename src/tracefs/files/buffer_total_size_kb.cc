// SPDX-License-Identifier: MIT
// buffer_total_size_kb: the sum of buffer_size_kb of all CPUs.
#include "tracefs/files/files.h"

namespace patchbay::tracefs {

FilePtr make_buffer_total_size_kb(const Place& place) {
  return make_text_file(place, [](TraceArray& array, const Place&) -> Result<std::string> {
    const RingBuffer& buffer = *array.buffer;
    uint64_t now = 0, expanded = 0;
    for (uint32_t cpu = 0; cpu < buffer.rings()->nr_cpus; cpu++) {
      now += buffer.bytes_of(cpu) >> 10;
      expanded += buffer.wanted_bytes() >> 10;
    }
    std::string text = std::to_string(now);
    if (!buffer.expanded()) text += " (expanded: " + std::to_string(expanded) + ")";
    return text + "\n";
  });
}

}  // namespace patchbay::tracefs
