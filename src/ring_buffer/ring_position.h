// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace patchbay {

// Where a reader stands in one ring. The buffer keeps one per ring: what lies before it was
// consumed (trace_pipe) or cleared, and no reader sees it any more. It is in the file (ReaderPage),
// so that readers of other processes and of dead ones see the same.
struct RingPosition {
  uint64_t seq = 0;      // sub-buffer
  uint32_t offset = 0;   // bytes of its events that lie before the position
  uint64_t time = 0;     // of the last event before it, when offset > 0
  uint64_t entries = 0;  // events of the ring before it …
  uint64_t lost = 0;     // … of them overwritten before any reader came, since the last clear
};

inline bool is_before(const RingPosition& a, const RingPosition& b) {
  return a.seq != b.seq ? a.seq < b.seq : a.offset < b.offset;
}

}  // namespace patchbay
