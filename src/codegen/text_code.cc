// SPDX-License-Identifier: MIT
//
// Registers while a text is copied:
//   kSlot     its address; from the second word on, the word's
//   kPlace    the distance from the text to its copy; between texts, the end so far
//   kValue    the word                       kPublish  how far the first word is shifted; kHighs
//   kTime     what is computed from it       kControl  kOnes
#include "codegen/text_code.h"

#include "codegen/record_code.h"

namespace patchbay {
namespace {

using reg::kControl, reg::kCount, reg::kPlace, reg::kPublish, reg::kSlot, reg::kTime, reg::kValue;

constexpr uint64_t kOnes = 0x0101010101010101;
constexpr uint64_t kHighs = 0x8080808080808080;
constexpr Number kWordMask{uint32_t(-8)};

class TextCode {
 public:
  TextCode(const CodeFrame& frame, uint32_t at, const Label& unusual)
      : frame_(frame),
        out_(frame.out),
        fetch_(*frame.code.event.fetch),
        at_(at),
        unusual_(unusual) {}

  void emit() {
    const FetchInsn* stop = fetch_.insn + fetch_.nr_insns;
    out_.apply(Op::kAdd, kPlace, Number{at_ + fetch_.fixed_size});
    for (const FetchInsn* insn = fetch_.insn; insn != stop;) {
      const FetchInsn* end = insn;
      while (!ends_chain(end->op)) end++;
      if (end->op == FetchOp::kString) {
        out_.store(frame_.spill(Spill::kBegin), kPlace);
        emit_value(frame_, insn, stop);
        emit_copy(uint32_t(end->imm < abi::kMaxSmallData ? end->imm : abi::kMaxSmallData));
        emit_data_loc(end->offset);
        is_first_ = false;
      }
      insn = end + 1;
    }
  }

 private:
  void emit_copy(uint32_t limit) {
    Label test, next;
    out_.move(kSlot, kValue);
    emit_bound(limit);
    out_.apply(Op::kSub, kPlace, kSlot);
    load_first_word();
    out_.set(kControl, kOnes);
    out_.set(kPublish, kHighs);
    out_.jump(test);
    out_.bind(next);
    out_.store({kSlot, 0, kPlace}, kValue);
    out_.apply(Op::kAnd, kSlot, kWordMask);
    out_.apply(Op::kAdd, kSlot, Number{8});
    out_.apply(Op::kCompare, kSlot, frame_.spill(Spill::kBound));
    out_.jump_if(JumpCondition::kNotBelow, unusual_);
    out_.load(kValue, {kSlot});
    out_.bind(test);
    out_.move(kTime, kValue);  // (word - kOnes) & ~word & kHighs: the first bit is that of a NUL
    out_.apply(Op::kSub, kTime, kControl);
    out_.complement(kValue);
    out_.apply(Op::kAnd, kTime, kValue);
    out_.complement(kValue);
    out_.apply(Op::kAnd, kTime, kPublish);
    out_.jump_if(JumpCondition::kEqual, next);
    store_last_word();
  }

  // The address in the program at which the copy would reach its bound.
  void emit_bound(uint32_t limit) {
    const uint32_t room = abi::kMaxSmallData - fetch_.fixed_size;
    if (is_first_) {
      out_.move(kTime, kSlot);
      out_.apply(Op::kAdd, kTime, Number{limit < room ? limit : room});
    } else {
      Label is_room;
      out_.load(kTime, frame_.spill(Spill::kPlace));
      out_.apply(Op::kAdd, kTime, Number{at_ + abi::kMaxSmallData});
      out_.apply(Op::kSub, kTime, kPlace);
      out_.apply(Op::kCompare, kTime, Number{limit});
      out_.jump_if(JumpCondition::kNotAbove, is_room);
      out_.set(kTime, limit);
      out_.bind(is_room);
      out_.apply(Op::kAdd, kTime, kSlot);
    }
    out_.store(frame_.spill(Spill::kBound), kTime);
  }

  void load_first_word() {
    out_.move(kTime, kSlot);
    out_.move(kCount, kSlot, Width::k4);
    out_.apply(Op::kAnd, kTime, kWordMask);
    out_.apply(Op::kAnd, kCount, Number{7}, Width::k4);
    out_.shift_left(kCount, 3, Width::k4);
    out_.load(kValue, {kTime});
    out_.set(kTime, ~uint64_t{0});
    out_.shift_right_by_count(kValue);
    out_.shift_right_by_count(kTime);
    out_.complement(kTime);
    out_.apply(Op::kOr, kValue, kTime);
  }

  // kTime has the high bit of the NUL. What is behind the NUL becomes 0.
  void store_last_word() {
    out_.move(kPublish, kTime);
    out_.negate(kPublish);
    out_.apply(Op::kAnd, kPublish, kTime);
    out_.shift_right(kPublish, 7);
    out_.apply(Op::kSub, kPublish, Number{1});
    out_.apply(Op::kAnd, kValue, kPublish);
    out_.store({kSlot, 0, kPlace}, kValue);
    out_.lowest_bit(kTime);
    out_.shift_right(kTime, 3);
    out_.apply(Op::kAdd, kSlot, kTime);
    out_.increment(kSlot);
    out_.apply(Op::kCompare, kSlot, frame_.spill(Spill::kBound));
    out_.jump_if(JumpCondition::kAbove, unusual_);
    out_.apply(Op::kAdd, kPlace, kSlot);
    out_.store_number({kPlace}, 0, Width::k4);  // up to the next multiple of 4
  }

  void emit_data_loc(uint32_t offset) {
    out_.load(kSlot, frame_.spill(Spill::kPlace));
    out_.move(kTime, kPlace);
    if (is_first_) {
      out_.apply(Op::kSub, kTime, kSlot);
      out_.apply(Op::kSub, kTime, Number{at_ + fetch_.fixed_size}, Width::k4);
      out_.shift_left(kTime, 16, Width::k4);
      out_.apply(Op::kOr, kTime, Number{fetch_.fixed_size}, Width::k4);
    } else {
      out_.load(kValue, frame_.spill(Spill::kBegin));
      out_.apply(Op::kSub, kTime, kValue);
      out_.shift_left(kTime, 16, Width::k4);
      out_.apply(Op::kSub, kValue, kSlot);
      out_.apply(Op::kSub, kValue, Number{at_}, Width::k4);
      out_.apply(Op::kOr, kTime, kValue, Width::k4);
    }
    out_.store({kSlot, int64_t{at_} + offset}, kTime, Width::k4);
  }

  const CodeFrame& frame_;
  Emitter& out_;
  const FetchProgram& fetch_;
  const uint32_t at_;
  const Label& unusual_;
  bool is_first_ = true;
};

}  // namespace

void emit_texts(const CodeFrame& frame, uint32_t at, const Label& unusual) {
  TextCode(frame, at, unusual).emit();
}

}  // namespace patchbay
