// SPDX-License-Identifier: MIT
// ring_buffer/asm_offsets.h: the buffer as its writers see it, and the thread.
#include "abi/buffer_abi.h"
#include "hot/asm_offset.h"
#include "ring_buffer/ring_set.h"

namespace patchbay {

using abi::BufferHeader, abi::PageMeta, abi::ReaderState, abi::RingControl, abi::RingSlot;

// An event of the usual case: the first word, and the record behind it.
constexpr uint32_t kFirstWord = 4;

[[gnu::used]] static void asm_offsets() {
  ASM_OFFSET(SET_HEADER, RingSet, header);
  ASM_OFFSET(SET_CONTROLS, RingSet, controls);
  ASM_OFFSET(SET_READERS, RingSet, readers);
  ASM_OFFSET(SET_SUBBUF_SHIFT, RingSet, subbuf_shift);
  ASM_OFFSET(SET_NR_CPUS, RingSet, nr_cpus);
  ASM_OFFSET(SET_CUT_TO, RingSet, cut.to);
  ASM_OFFSET(SET_CUT_SERVED, RingSet, cut.served);
  ASM_OFFSET(SET_SIDE_DELTA, RingSet, cut.side_delta);
  ASM_OFFSET(CUT_FROM, RingCut, from);
  ASM_OFFSET(CUT_TO, RingCut, to);

  ASM_OFFSET(HEADER_MISSED, BufferHeader, missed);
  static_assert(offsetof(ReaderState, read_seq) == 0);
  ASM_SHIFT(READER_SHIFT, sizeof(ReaderState));

  ASM_SHIFT(RING_CONTROL_SHIFT, abi::kRingControlStride);
  ASM_OFFSET(RING_PUBLISH, RingControl, publish);
  ASM_OFFSET(RING_SPACE_MASK, RingControl, space_mask);
  ASM_OFFSET(RING_SLOT_TIME, RingControl, slot[0].time);
  ASM_OFFSET(RING_SLOT_ENTRIES, RingControl, slot[0].entries);
  ASM_CONSTANT(RING_SLOT_SIZE, sizeof(RingSlot));
  ASM_OFFSET(RING_DROPPED, RingControl, dropped);
  ASM_OFFSET(RING_DATA_DELTA, RingControl, data_delta);
  ASM_OFFSET(RING_PAGE_META_DELTA, RingControl, page_meta_delta);
  ASM_OFFSET(RING_NR_SUBBUFS, RingControl, nr_subbufs);
  ASM_OFFSET(RING_OVERWRITE, RingControl, overwrite);
  ASM_OFFSET(RING_CLOSED, RingControl, closed);
  ASM_SHIFT(PAGE_META_SHIFT, sizeof(PageMeta));
  ASM_OFFSET(PAGE_META_SEQ, PageMeta, seq);
  ASM_OFFSET(PAGE_META_ENTRIES, PageMeta, entries_before);

  ASM_CONSTANT(PAGE_HEADER, abi::kPageHeaderSize);
  ASM_CONSTANT(PAGE_TIME, 0);  // in the header: time of the first event, and bytes of events
  ASM_CONSTANT(PAGE_COMMIT, 8);
  ASM_SHIFT(PARITY_BIT, abi::kParityBit);
  ASM_CONSTANT(LAP_SHIFT, abi::kLapShift);
  // publish >> this & RING_SLOT_SIZE: offset of the slot that it names.
  ASM_CONSTANT(PARITY_TO_SLOT, std::countr_zero(abi::kParityBit) - 4);
  static_assert(sizeof(RingSlot) == 1 << 4);
  ASM_CONSTANT(FIRST_WORD, kFirstWord);
  ASM_CONSTANT(DELTA_SHIFT, 32 - abi::kDeltaBits);
  ASM_CONSTANT(DELTA_BITS, abi::kDeltaBits);
  ASM_CONSTANT(DELTA_LIMIT, 1 << abi::kDeltaBits);
  ASM_CONSTANT(TYPE_TIME_EXTEND, abi::kTypeTimeExtend);
  ASM_CONSTANT(MAX_SMALL, abi::kMaxSmallData);

  ASM_OFFSET(THREAD_FAST_TID, ProbeThread, fast_tid);
  ASM_OFFSET(THREAD_IN_AGENT, ProbeThread, in_agent);
  ASM_OFFSET(THREAD_NO_RSEQ, ProbeThread, no_rseq);
  ASM_OFFSET(THREAD_CALLBACK_SLOT, ProbeThread, callback_slot);
}

}  // namespace patchbay
