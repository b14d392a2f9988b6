// SPDX-License-Identifier: MIT
// buffer_size_kb, per_cpu/cpuN/buffer_size_kb: KB of events that the buffer of one CPU holds.
// Before the first use the memory is not there: "7 (expanded: 1408)". "X": CPUs differ.
#include "registry/settings.h"
#include "tracefs/files/files.h"

namespace patchbay::tracefs {
namespace {

// The KB of events in `bytes` of sub-buffers, which are whole.
uint64_t whole_subbufs(const RingBuffer& buffer, uint64_t bytes) {
  uint64_t data = buffer.rings()->subbuf_size - abi::kPageHeaderSize;
  return (bytes + data - 1) / data * data;
}

Result<std::string> show(TraceArray& array, const Place& place) {
  const RingBuffer& buffer = *array.buffer;
  uint32_t cpu = place.one_cpu().value_or(0);
  // An instance has its size from the start, as in the kernel; its memory comes with the first use.
  bool promised = !array.is_top() && !buffer.expanded();
  uint64_t bytes = promised ? whole_subbufs(buffer, buffer.wanted_bytes()) : buffer.bytes_of(cpu);
  if (place.cpu < 0 && !promised) {
    for (uint32_t other = 1; other < buffer.rings()->nr_cpus; other++) {
      if (buffer.bytes_of(other) != bytes) return std::string("X\n");
    }
  }
  std::string text = std::to_string(bytes >> 10);
  if (place.cpu < 0 && !promised && !buffer.expanded())
    text += " (expanded: " + std::to_string(buffer.wanted_bytes() >> 10) + ")";
  return text + "\n";
}

Status write(TraceArray& array, const Place& place, std::string_view bytes) {
  PB_ASSIGN(uint64_t kb, parse_number(bytes));
  return place.registry().settings().resize(array, place.one_cpu(), kb);
}

}  // namespace

FilePtr make_buffer_size_kb(const Place& place) { return make_value_file(place, show, write); }

}  // namespace patchbay::tracefs
