// SPDX-License-Identifier: MIT
// buffer_size_kb, buffer_total_size_kb: KB of events that the buffer of one CPU, or of all of them,
// holds. The size is chosen when the buffer is made, so both are only read.
#include "tracefs/files/files.h"

namespace patchbay::tracefs {
namespace {

uint64_t useful_kb(const RingSet& rings) {
  return uint64_t{rings.nr_subbufs} * (rings.subbuf_size - abi::kPageHeaderSize) >> 10;
}

}  // namespace

FilePtr make_buffer_size_kb(const TreeContext& context) {
  return make_text_file([&context]() -> Result<std::string> {
    return std::to_string(useful_kb(*context.buffer.rings())) + "\n";
  });
}

FilePtr make_buffer_total_size_kb(const TreeContext& context) {
  return make_text_file([&context]() -> Result<std::string> {
    const RingSet& rings = *context.buffer.rings();
    return std::to_string(useful_kb(rings) * rings.nr_cpus) + "\n";
  });
}

}  // namespace patchbay::tracefs
