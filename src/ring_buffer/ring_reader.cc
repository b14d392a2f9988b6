// SPDX-License-Identifier: MIT
#include "ring_buffer/ring_reader.h"

#include <cstring>

#include "ring_buffer/ring_state.h"

namespace patchbay {

struct RingReader::Impl {
  // The page delivered last, for consume_part.
  struct Last {
    RingPosition start;  // of its first event; entries without what was lost before it
    uint64_t first = 0, lost = 0;
  };
  RingBuffer* buffer;
  bool consuming;
  uint64_t generation = 0;
  std::unique_ptr<BufferFile> file;
  std::vector<Last> last;
  std::vector<uint64_t> delivered;  // of each ring, the events up to the last one

  bool follow_buffer();
  void consume(uint32_t ring, RingPosition upto, uint64_t lost);
};

RingReader::RingReader(RingBuffer* buffer, bool consuming)
    : impl_(new Impl{buffer, consuming, 0, nullptr, {}, {}}) {}
RingReader::~RingReader() = default;

uint32_t RingReader::nr_rings() const { return impl_->buffer->rings()->nr_cpus + 1; }

// The mapping is another one after a resize; the events are counted as before.
bool RingReader::Impl::follow_buffer() {
  if (file && generation == buffer->generation()) return true;
  auto opened = BufferFile::over_memory(buffer->bytes());
  if (!opened.ok()) return false;
  file = std::move(*opened);
  generation = buffer->generation();
  last.assign(file->nr_rings(), {});
  delivered.resize(file->nr_rings());
  // Reading begins again at the position in the file, which is not where a reader that does not
  // consume has come to.
  for (uint32_t ring = 0; ring < file->nr_rings(); ring++) file->skip_to(ring, delivered[ring]);
  return true;
}

bool RingReader::next_page(uint32_t ring, bool include_current, PageImage* out) {
  if (ring >= nr_rings() || !impl_->follow_buffer()) return false;
  if (!impl_->file->next_page(ring, include_current, out)) return false;
  impl_->delivered[ring] = out->first + out->entries;
  uint64_t time = 0;
  std::memcpy(&time, out->bytes.data(), 8);
  impl_->last[ring] = {{out->seq, out->offset, time, out->first - out->lost_before, 0},
                       out->first,
                       out->lost_before};
  if (impl_->consuming) {
    impl_->consume(ring, impl_->file->position(ring), out->lost_before);
    impl_->last[ring].lost = 0;
  }
  return true;
}

void RingReader::Impl::consume(uint32_t ring, RingPosition upto, uint64_t lost) {
  upto.lost = buffer->position(ring).lost + lost;
  buffer->consume(ring, upto);
}

void RingReader::consume_part(uint32_t ring, uint32_t used, uint64_t time, uint64_t entries) {
  Impl& self = *impl_;
  if (ring >= nr_rings() || !self.file || self.generation != self.buffer->generation()) return;
  Impl::Last& last = self.last[ring];
  RingPosition upto = last.start;
  if (entries > 0) {
    upto = {last.start.seq, last.start.offset + used, time, last.first + entries, 0};
    self.consume(ring, upto, last.lost);
    last.lost = 0;
  }
  self.delivered[ring] = entries > 0 ? upto.entries : last.first;
  self.file->go_to(ring, upto);
}

}  // namespace patchbay
