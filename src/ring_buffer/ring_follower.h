// SPDX-License-Identifier: MIT
//
// For tests: holds a writer against the model (ring_model.h), record by record.
//
//   writer ── a record ──> the ring ──┐ its time          publish, slots, dropped: equal?
//                                     v                   all bytes of it: equal?
//                                   model, which writes the same record
//
// The bytes in the ring are the same, whichever writer wrote them: C, assembler, generated code.
#pragma once

#include <gtest/gtest.h>

#include <string_view>

#include "ring_buffer/ring_model.h"
#include "ring_buffer/ring_set.h"

namespace patchbay::test {

class RingFollower {
 public:
  // A ring that nobody has written yet, with sub-buffers of 4096 bytes.
  RingFollower(const RingSet* set, uint32_t ring)
      : control_(set->control(ring)),
        model_(1, control_->nr_subbufs, control_->overwrite, abi::kClockTsc) {}

  // One more record was written, or dropped.
  ::testing::AssertionResult follow(std::string_view record) {
    const abi::RingSlot& slot = control_->slot[control_->publish & abi::kParityBit ? 1 : 0];
    model_.write(0, slot.time, record);
    const abi::RingControl& model = model_.ring(0);
    if (control_->publish != model.publish)
      return ::testing::AssertionFailure()
             << std::hex << "publish " << control_->publish << ", model " << model.publish;
    if (std::memcmp(&slot, &model.slot[model.publish & abi::kParityBit ? 1 : 0], sizeof slot))
      return ::testing::AssertionFailure() << "the slot: entries " << slot.entries;
    if (control_->dropped != model.dropped)
      return ::testing::AssertionFailure()
             << "dropped " << control_->dropped << ", model " << model.dropped;
    return ::testing::AssertionSuccess();
  }

  // All that a reader may look at: the numbers of the sub-buffers, their headers and their events.
  ::testing::AssertionResult is_equal() {
    const uint32_t nr = control_->nr_subbufs;
    const uint32_t offset = uint32_t(control_->publish);
    const uint64_t current = (control_->publish >> abi::kLapShift) * nr + (offset - 1) / kSubbuf;
    const uint64_t first = current + 1 > nr ? current + 1 - nr : 0;
    for (uint64_t seq = first; seq <= current; seq++) {
      const abi::PageMeta& meta = metas()[seq % nr];
      if (std::memcmp(&meta, &model_.meta(0, seq), sizeof meta))
        return ::testing::AssertionFailure() << "PageMeta of sub-buffer " << seq;
      const uint8_t *page = data() + seq % nr * kSubbuf, *wanted = model_.page(0, seq);
      uint64_t used = offset - (offset - 1) / kSubbuf * kSubbuf - abi::kPageHeaderSize;
      if (seq != current) {
        if (std::memcmp(page + 8, wanted + 8, 8))
          return ::testing::AssertionFailure() << "length of sub-buffer " << seq;
        std::memcpy(&used, wanted + 8, 8);
      }
      if (std::memcmp(page, wanted, 8))
        return ::testing::AssertionFailure() << "time of sub-buffer " << seq;
      for (uint64_t at = abi::kPageHeaderSize; at < used + abi::kPageHeaderSize; at++)
        if (page[at] != wanted[at])
          return ::testing::AssertionFailure() << "sub-buffer " << seq << ", byte " << at;
    }
    return ::testing::AssertionSuccess();
  }

 private:
  static constexpr uint32_t kSubbuf = 4096;
  const uint8_t* base() const { return reinterpret_cast<const uint8_t*>(control_); }
  const uint8_t* data() const { return base() + control_->data_delta; }
  const abi::PageMeta* metas() const {
    return reinterpret_cast<const abi::PageMeta*>(base() + control_->page_meta_delta);
  }

  const abi::RingControl* control_;
  RingModel model_;
};

}  // namespace patchbay::test
