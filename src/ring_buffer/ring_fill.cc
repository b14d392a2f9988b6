// SPDX-License-Identifier: MIT
#include "ring_buffer/ring_fill.h"

#include <cstring>

#include "base/check.h"

namespace patchbay {

void RingFill::add(const PageImage& page) {
  auto* to = const_cast<uint8_t*>(ring_subbuf(set_, ring_, next_));
  uint64_t commit = page.used;
  PB_CHECK_VALUES(page.used <= set_.subbuf_size - abi::kPageHeaderSize, page.used, ring_);
  std::memcpy(to, page.bytes.data(), 8);
  std::memcpy(to + 8, &commit, 8);
  std::memcpy(to + abi::kPageHeaderSize, page.bytes.data() + abi::kPageHeaderSize, page.used);
  *ring_page_meta(set_, ring_, next_) = {next_, page.first};
  used_ = page.used;
  next_++;
}

void RingFill::finish(uint64_t entries, uint64_t time) {
  abi::RingControl* rc = set_.control(ring_);
  uint64_t publish = rc->publish;
  if (!empty()) {
    uint64_t last = next_ - 1;
    uint64_t offset = last % rc->nr_subbufs * set_.subbuf_size + abi::kPageHeaderSize + used_;
    publish = last / rc->nr_subbufs << abi::kLapShift | (publish & abi::kParityBit) | offset;
  } else if (start_ == 0) {
    *ring_page_meta(set_, ring_, 0) = {0, entries};
  }
  publish ^= abi::kParityBit;
  rc->slot[publish & abi::kParityBit ? 1 : 0] = {time, entries};
  __atomic_store_n(&rc->publish, publish, __ATOMIC_RELEASE);  // pairs with BufferFile's acquire
}

RingPosition copy_ring(BufferFile* from, const RingNow& until, uint32_t ring, RingFill* to) {
  PageImage page;
  page.seq = 0;
  while (from->next_page(ring, true, &page)) {
    to->add(page);
    if (page.seq >= until.seq) break;
  }
  return from->position(ring);
}

}  // namespace patchbay
