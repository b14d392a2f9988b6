// SPDX-License-Identifier: MIT
// per_cpu/cpuN/stats: counts of one ring (docs/files.md). debug/no_rseq_stats: of the ring
// that threads without restartable sequences share.
#include <cstdio>

#include "tracefs/files/files.h"

namespace patchbay::tracefs {
namespace {

// Counts of a counter are shown plain, nanoseconds as seconds and microseconds.
std::string time_text(const TraceClockConvert& clock, uint64_t raw) {
  char text[48];
  unsigned long long value = raw == 0 ? 0 : clock.convert(raw);
  if (clock.in_ns()) {
    std::snprintf(text, sizeof text, "%5llu.%06llu", value / 1000000000, value / 1000 % 1000000);
  } else {
    std::snprintf(text, sizeof text, "%llu", value);
  }
  return text;
}

std::string stats_text(const TraceArray& array, TreeState& tree, uint32_t ring) {
  RingCounts counts = array.buffer->counts(ring);
  const TraceClockConvert& clock = tree.clock(array.clock);
  auto line = [](const char* name, uint64_t value) {
    return std::string(name) + ": " + std::to_string(value) + "\n";
  };
  return line("entries", counts.entries) + line("overrun", counts.overrun) +
         line("commit overrun", 0) + line("bytes", counts.bytes) +
         "oldest event ts: " + time_text(clock, counts.oldest_time) +
         "\nnow ts: " + time_text(clock, counts.now_time) + "\n" +
         line("dropped events", counts.dropped) + line("read events", counts.read);
}

}  // namespace

FilePtr make_stats(const Place& place) {
  return make_text_file(place, [](TraceArray& array, const Place& at) -> Result<std::string> {
    return stats_text(array, *at.tree, uint32_t(at.cpu));
  });
}

FilePtr make_no_rseq_stats(const Place& place) {
  return make_text_file(place, [](TraceArray& array, const Place& at) -> Result<std::string> {
    return stats_text(array, *at.tree, array.buffer->rings()->nr_cpus);
  });
}

}  // namespace patchbay::tracefs
