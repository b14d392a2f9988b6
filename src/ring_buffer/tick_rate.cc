// SPDX-License-Identifier: MIT
#include "ring_buffer/tick_rate.h"

#include <algorithm>
#include <vector>

#include "ring_buffer/buffer_file.h"

namespace patchbay {

TickRate tick_rate(RingBuffer& buffer) {
  const abi::BufferHeader* header = buffer.header();
  const auto& table = *reinterpret_cast<const abi::ClockTable*>(
      reinterpret_cast<const uint8_t*>(header) + header->clock_offset);
  const uint64_t count = std::min<uint64_t>(table.count, abi::kClockPairs);
  std::vector<abi::ClockPair> pairs(table.pair, table.pair + count);
  std::sort(pairs.begin(), pairs.end(), [](const auto& a, const auto& b) { return a.tsc < b.tsc; });
  const ClockLine line = fit_clock(header->clock, pairs);
  TickRate rate;
  rate.is_tsc = header->clock == abi::kClockTsc;
  if (rate.is_tsc) rate.ns_per_tick = double(line.mult) / times_power_of_two(1, line.shift);
  return rate;
}

}  // namespace patchbay
