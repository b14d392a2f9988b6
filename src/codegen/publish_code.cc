// SPDX-License-Identifier: MIT
//
// Registers from ring_of_cpu() to ring_commit():
//   kControl  the RingControl                        kTime   CPU, then the time of the event
//   kPublish  what is published                      kPlace  where the event goes
//   kSlot     the offset of the slot that it names   kValue  delta, first word, then free
#include "codegen/publish_code.h"

#include <bit>
#include <utility>

#include "codegen/call_code.h"
#include "codegen/record_code.h"
#include "codegen/text_code.h"
#include "probe/hit_counter.h"
#include "ring_buffer/ring_set.h"

namespace patchbay {
namespace {

using reg::kControl, reg::kPlace, reg::kPublish, reg::kSlot, reg::kTime, reg::kValue, reg::kWork;

constexpr int kControlShift = std::countr_zero(abi::kRingControlStride);
constexpr int kParityBitNumber = std::countr_zero(abi::kParityBit);
constexpr int kSlotShift = std::countr_zero(sizeof(abi::RingSlot));
constexpr int kHitRowShift = std::countr_zero(kHitRowSize);
constexpr uint32_t kFirstWord = sizeof(uint32_t);
constexpr int kLengthBits = 32 - abi::kDeltaBits;

Mem control_word(size_t field) { return {kControl, int64_t(field)}; }
Mem slot_word(size_t field) {
  return {kControl, int64_t(offsetof(abi::RingControl, slot) + field), kSlot};
}

void load_event(const CodeFrame& frame) {
  if (frame.code.at_return) return frame.load_slot_event(kControl, offsetof(SiteEvent, event));
  frame.later(kControl, CodeValue::kEvent);
}

void ring_of_cpu(const CodeFrame& frame) {
  Emitter& out = frame.out;
  load_event(frame);
  out.load(kControl, {kControl, offsetof(EventProgram, rings)});
  out.shift_left(kTime, kControlShift);
  out.apply(Op::kAdd, kTime, control_word(offsetof(RingSet, controls)));
  out.move(kControl, kTime);
}

void ring_slot(Emitter& out) {
  out.move(kSlot, kPublish);
  out.shift_right(kSlot, kParityBitNumber - kSlotShift);
  out.apply(Op::kAnd, kSlot, Number{sizeof(abi::RingSlot)}, Width::k4);
}

void ring_room(Emitter& out, const Label& unusual) {
  out.move(kValue, kTime);
  out.apply(Op::kSub, kValue, slot_word(offsetof(abi::RingSlot, time)));
  out.apply(Op::kCompare, kValue, Number{1 << abi::kDeltaBits});  // or negative
  out.jump_if(JumpCondition::kNotBelow, unusual);
  out.move(kPlace, kPublish, Width::k4);
  out.apply(Op::kAnd, kPlace, control_word(offsetof(abi::RingControl, space_mask)), Width::k4);
  out.apply(Op::kSub, kPlace, Number{abi::kPageHeaderSize + 1}, Width::k4);
  out.jump_if(JumpCondition::kBelow, unusual);  // full, off or empty
}

void ring_place(Emitter& out, uint32_t bytes, const Label& unusual) {
  out.apply(Op::kAdd, kPlace, Number{bytes + abi::kPageHeaderSize}, Width::k4);  // its last byte
  out.apply(Op::kCompare, kPlace, control_word(offsetof(abi::RingControl, space_mask)), Width::k4);
  out.jump_if(JumpCondition::kAbove, unusual);
  out.move(kPlace, kPublish, Width::k4);
  out.apply(Op::kAdd, kPlace, kControl);
  out.apply(Op::kAdd, kPlace, control_word(offsetof(abi::RingControl, data_delta)));
}

void first_word(Emitter& out, uint32_t bytes) {
  out.shift_left(kValue, kLengthBits, Width::k4);
  out.apply(Op::kOr, kValue, Number{(bytes - kFirstWord) / 4}, Width::k4);
  out.store({kPlace}, kValue, Width::k4);
}

void ring_count(Emitter& out) {
  out.load(kValue, slot_word(offsetof(abi::RingSlot, entries)));
  out.increment(kValue);
  out.apply(Op::kXor, kSlot, Number{sizeof(abi::RingSlot)}, Width::k4);  // the other slot
  out.store(slot_word(offsetof(abi::RingSlot, entries)), kValue);
  out.store(slot_word(offsetof(abi::RingSlot, time)), kTime);
}

// `bytes`: a number, or a register.
void ring_commit(Emitter& out, const Operand& bytes, const Sequence& sequence) {
  out.flip_bit(kPublish, kParityBitNumber);
  out.apply(Op::kAdd, kPublish, bytes);
  out.store(control_word(offsetof(abi::RingControl, publish)), kPublish);
  out.commit_sequence(sequence);
}

void load_hits(const CodeFrame& frame) {
  if (!frame.code.at_return) return frame.later(kControl, CodeValue::kHits);
  frame.load_slot_event(kControl, offsetof(SiteEvent, counts));
  frame.out.load(kControl, {kControl, offsetof(ProbeCounts, hits)});
}

constexpr std::pair<Spill, Reg> kSpilled[] = {{Spill::kTime, kTime},
                                              {Spill::kSlot, kSlot},
                                              {Spill::kControl, kControl},
                                              {Spill::kPublish, kPublish}};

// What a record with texts has around its fields: it is known last how long it is. kControl is
// kept until ring_count() is through.
void texts_begin(const CodeFrame& frame) {
  Emitter& out = frame.out;
  out.shift_left(kValue, kLengthBits, Width::k4);
  out.store(frame.spill(Spill::kDelta), kValue);
  out.store(frame.spill(Spill::kPlace), kPlace);
  for (const auto& [where, reg] : kSpilled) out.store(frame.spill(where), reg);
}

// kPlace is the end of the record; afterwards it is the bytes of the event.
void texts_end(const CodeFrame& frame) {
  Emitter& out = frame.out;
  out.load(kValue, frame.spill(Spill::kPlace));
  out.apply(Op::kSub, kPlace, kValue);
  out.apply(Op::kAdd, kPlace, Number{3});
  out.apply(Op::kAnd, kPlace, Number{uint32_t(-4)});
  out.move(kTime, kPlace);
  out.apply(Op::kSub, kTime, Number{kFirstWord});
  out.shift_right(kTime, 2);
  out.apply(Op::kOr, kTime, frame.spill(Spill::kDelta), Width::k4);
  out.store({kValue}, kTime, Width::k4);
  for (const auto& [where, reg] : kSpilled) out.load(reg, frame.spill(where));
}

}  // namespace

void emit_publish(const CodeFrame& frame, const Sequence& sequence, const Label& unusual) {
  Emitter& out = frame.out;
  const FetchProgram& fetch = *frame.code.event.fetch;
  const bool is_open = is_taken_size_open(fetch);
  const uint32_t size = frame.texts ? abi::kMaxSmallData + kTextSlack
                        : is_open   ? abi::kMaxSmallData
                                    : fixed_record_size(fetch);
  const uint32_t bytes = size + kFirstWord;
  out.begin_sequence(sequence);
  frame.ask_thread(unusual);
  out.load_cpu(kTime, unusual);
  ring_of_cpu(frame);
  out.load(kPublish, control_word(offsetof(abi::RingControl, publish)));
  out.read_clock();
  ring_slot(out);
  ring_room(out, unusual);
  ring_place(out, bytes, unusual);
  if (frame.texts) {
    texts_begin(frame);
    emit_record(frame, kFirstWord);
    emit_texts(frame, kFirstWord, unusual);
    texts_end(frame);
    ring_count(out);
    return ring_commit(out, kPlace, sequence);
  }
  if (!is_open) first_word(out, bytes);
  if (!fetch.at_entry) {
    emit_record(frame, kFirstWord);
  } else {
    emit_call_record(frame, kFirstWord, unusual);
    ring_slot(out);
  }
  ring_count(out);
  if (!is_open) return ring_commit(out, Number{bytes}, sequence);
  out.apply(Op::kAdd, kPublish, Number{kFirstWord});
  ring_commit(out, frame.spill(kTakenSize), sequence);
}

// The sequence begins with the number of the CPU at once: the kernel forgets a sequence that it
// finds a thread outside of.
void emit_count(const CodeFrame& frame, const Sequence& sequence) {
  load_hits(frame);
  frame.out.begin_sequence(sequence);
  frame.out.load_cpu(kWork);
  frame.out.shift_left(kWork, kHitRowShift);
  frame.out.add_one({kControl, 0, kWork});
  frame.out.commit_sequence(sequence);
}

void emit_count_locked(const CodeFrame& frame) {
  load_hits(frame);
  frame.out.set(kWork, pb_locked_row);
  frame.out.add_locked({kControl, 0, kWork}, Number{1}, Width::k8);
}

}  // namespace patchbay
