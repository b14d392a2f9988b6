// SPDX-License-Identifier: MIT
// buffer_size_kb, per_cpu/cpuN/buffer_size_kb: KB of events that the buffer of one CPU holds.
// Before the first use the memory is not there: "7 (expanded: 1408)". "X": CPUs differ.
#include "tracefs/files/files.h"

namespace patchbay::tracefs {
namespace {

Result<std::string> show(TraceArray& array, const Place& place) {
  const RingBuffer& buffer = *array.buffer;
  uint32_t cpu = place.one_cpu().value_or(0);
  uint64_t bytes = buffer.bytes_of(cpu);
  if (place.cpu < 0) {
    for (uint32_t other = 1; other < buffer.rings()->nr_cpus; other++) {
      if (buffer.bytes_of(other) != bytes) return std::string("X\n");
    }
  }
  std::string text = std::to_string(bytes >> 10);
  if (!buffer.expanded())
    text += " (expanded: " + std::to_string(buffer.wanted_bytes() >> 10) + ")";
  return text + "\n";
}

Status write(TraceArray& array, const Place& place, std::string_view bytes) {
  Result<uint64_t> kb = parse_number(bytes);
  if (!kb.ok()) return kb.error();
  return place.registry().resize(array, place.one_cpu(), *kb);
}

}  // namespace

FilePtr make_buffer_size_kb(const Place& place) { return make_value_file(place, show, write); }

}  // namespace patchbay::tracefs
