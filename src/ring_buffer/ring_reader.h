// SPDX-License-Identifier: MIT
//
// Reading a RingBuffer from inside the process that owns it: pages as a reader of trace_pipe_raw
// gets them, by copying like BufferFile does; writers never notice.
#pragma once

#include <memory>
#include <vector>

#include "ring_buffer/buffer_file.h"
#include "ring_buffer/ring_buffer.h"

namespace patchbay {

class RingReader {
 public:
  // `consuming`: what next_page() delivered is gone for every later reader. Without it only
  // consume_part() consumes, if anything. Starts at position(). The buffer outlives the reader.
  RingReader(RingBuffer* buffer, bool consuming);
  ~RingReader();
  // Next page of a ring. `include_current`: also the whole events of the sub-buffer being written.
  // False: nothing now. Survives resize() and clear() of the buffer (goes on with what is new).
  bool next_page(uint32_t ring, bool include_current, PageImage* out);
  // Consumes only up to an event inside the page last delivered for `ring`: trace_pipe stops in the
  // middle of a page. `used` (EventIterator::position() - 16) and `entries` count from the page's
  // start, `time` is the last consumed event's. next_page() goes on right behind that event.
  void consume_part(uint32_t ring, uint32_t used, uint64_t time, uint64_t entries);
  uint32_t nr_rings() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace patchbay
