// SPDX-License-Identifier: MIT
#include "codegen/record_code.h"

namespace patchbay {
namespace {

using reg::kPlace, reg::kValue;

// Beyond the registers: the arguments that a return's slot has kept.
constexpr int kSlotArgument = 32;

class RecordCode {
 public:
  RecordCode(const CodeFrame& frame, uint32_t at)
      : frame_(frame), out_(frame.out), fetch_(*frame.code.event.fetch), at_(at) {}

  void store_head() {
    if (frame_.code.at_return) return store_return_head();
    out_.store_later(at(0), uint8_t(CodeValue::kId));  // common_type; flags, preempt count are 0
    store_tid();
    uint32_t ip = 8;
    if (fetch_.head == RecordHead::kFunction) {
      out_.load_return_address(kValue);
      out_.store(at(ip), kValue);
      ip += 8;
    }
    frame_.later(kValue, CodeValue::kIp);
    out_.store(at(ip), kValue);
  }

  // Bytes of the record that no field covers (alignment, the tail) must not show what the ring held
  // before.
  void store_fields() {
    uint32_t end = record_head_size(fetch_.head);
    uint64_t add_value = 0;
    int source = 0;
    for (int i = 0; i < fetch_.nr_insns; i++) {
      const FetchInsn& insn = fetch_.insn[i];
      if (insn.op == FetchOp::kAdd) {
        add_value += insn.imm;
      } else if (insn.op == FetchOp::kStore) {
        zero(end, insn.offset);
        end = insn.offset + insn.size;
        store_field(source, add_value, Width(insn.size), insn.offset);
      } else {
        source = source_of(insn);
        add_value = 0;
      }
    }
    zero(end, fixed_record_size(fetch_));
  }

 private:
  Mem at(uint32_t offset) const { return {kPlace, int64_t{at_} + offset}; }

  void store_return_head() {
    frame_.load_slot_event(kValue, offsetof(SiteEvent, event));
    out_.load(kValue, {kValue, offsetof(EventProgram, id)}, Width::k2);
    out_.store(at(0), kValue, Width::k4);
    store_tid();
    frame_.load_slot_event(kValue, offsetof(SiteEvent, ip));
    out_.store(at(8), kValue);
    out_.load(kValue, {reg::kReturnSlot, offsetof(ReturnSlot, return_address)});
    out_.store(at(16), kValue);
  }
  void store_tid() {
    out_.load(kValue, frame_.tid(), Width::k4);
    out_.store(at(4), kValue, Width::k4);
  }

  int source_of(const FetchInsn& insn) const {
    if (insn.op != FetchOp::kArg) return insn.index;
    return frame_.code.at_return ? kSlotArgument + insn.index : reg::kArgument[insn.index].number;
  }
  void zero(uint32_t from, uint32_t to) {
    for (; from < to; from++) out_.store_number(at(from), 0, Width::k1);
  }

  // The program's value: the register that has it, or kValue.
  Reg load_source(int source) {
    if (source >= kSlotArgument) {
      const size_t argument = 8 * size_t(source - kSlotArgument);
      out_.load(kValue, {reg::kReturnSlot, int64_t(offsetof(ReturnSlot, arg) + argument)});
      return kValue;
    }
    const Reg program{uint8_t(source)};
    if (frame_.is_saved(program)) {
      out_.load(kValue, frame_.saved(program));
      return kValue;
    }
    if (!(program == reg::kStack)) return program;
    out_.load_stack_pointer(kValue);
    return kValue;
  }

  void store_field(int source, uint64_t add_value, Width width, uint32_t offset) {
    Reg value = load_source(source);
    if (add_value) {
      if (!(value == kValue)) out_.move(kValue, value);
      const Reg other = reg::kPublish;  // needed below
      out_.store(frame_.scratch(), other);
      out_.set(other, add_value);
      out_.apply(Op::kAdd, kValue, other);
      out_.load(other, frame_.scratch());
      value = kValue;
    }
    out_.store(at(offset), value, width);
  }

  const CodeFrame& frame_;
  Emitter& out_;
  const FetchProgram& fetch_;
  const uint32_t at_;
};

}  // namespace

void emit_record(const CodeFrame& frame, uint32_t at) {
  RecordCode code(frame, at);
  code.store_head();
  code.store_fields();
}

}  // namespace patchbay
