// SPDX-License-Identifier: MIT
#include "codegen/record_code.h"

namespace patchbay {
namespace {

using reg::kPlace, reg::kValue;

// Beyond the registers: the arguments that a return's slot has kept.
constexpr int kSlotArgument = 32;
constexpr uint32_t kMaxArrayBytes = 64;  // copied word by word, without a loop

bool fits_offset(uint64_t value) { return int64_t(value) == int64_t(int32_t(value)); }

// Bytes of the fixed part that the end of a chain fills.
uint32_t field_size(const FetchInsn& end) {
  if (end.op == FetchOp::kString) return sizeof(uint32_t);  // __data_loc
  return end.op == FetchOp::kArray ? uint32_t(end.imm) * end.size : end.size;
}

// A value while code for it is made: a register and a number that is still to be added.
class ValueCode {
 public:
  explicit ValueCode(const CodeFrame& frame) : frame_(frame), out_(frame.out) {}

  void step(const FetchInsn& insn) {
    switch (insn.op) {
      case FetchOp::kArg:
      case FetchOp::kReg:
        return start(source_of(insn));
      case FetchOp::kXmm:  // the code spends none of them
        out_.load_vector(kValue, insn.index);
        return is(kValue);
      case FetchOp::kImm:
        out_.set(kValue, insn.imm);
        return is(kValue);
      case FetchOp::kThread:
        out_.load_thread_pointer(kValue);
        is(kValue);
        add_ = insn.imm;
        return;
      case FetchOp::kAdd:
        add_ += insn.imm;
        return;
      case FetchOp::kAddReg:
        return add_register(insn);
      case FetchOp::kDeref:
        return load(Width::k8);
      case FetchOp::kPeek:
        return load(Width(insn.size));
      case FetchOp::kExtend:
        return shift(64 - insn.size * 8, 64 - insn.size * 8, insn.index);
      case FetchOp::kBits:
        return shift(64 - insn.index - insn.size, 64 - insn.size, insn.imm);
      default:
        return;
    }
  }

  void load(Width width) {
    const Mem at = memory();
    out_.load(kValue, at, width);
    is(kValue);
  }
  // What the value points to.
  Mem memory() {
    if (!fits_offset(add_)) in_value();
    return {reg_, int64_t(add_)};
  }
  // The register that has the value.
  Reg in_register() {
    if (add_) in_value();
    return reg_;
  }
  void in_value() {
    if (!(reg_ == kValue)) out_.move(kValue, reg_);
    if (fits_offset(add_)) {
      if (add_) out_.apply(Op::kAdd, kValue, Number{uint32_t(add_)});
      return is(kValue);
    }
    const Reg other = reg::kPublish;  // needed below
    out_.store(frame_.scratch(), other);
    out_.set(other, add_);
    out_.apply(Op::kAdd, kValue, other);
    out_.load(other, frame_.scratch());
    is(kValue);
  }

 private:
  void is(Reg reg) {
    reg_ = reg;
    add_ = 0;
  }
  int source_of(const FetchInsn& insn) const {
    if (insn.op != FetchOp::kArg) return insn.index;
    const bool has_slot = frame_.code.at_return || frame_.code.takes;
    return has_slot ? kSlotArgument + insn.index : reg::kArgument[insn.index].number;
  }
  void start(int source) {
    if (source < kSlotArgument) return is(program_register(Reg{uint8_t(source)}, kValue));
    const size_t argument = 8 * size_t(source - kSlotArgument);
    out_.load(kValue, {reg::kReturnSlot, int64_t(offsetof(ReturnSlot, arg) + argument)});
    is(kValue);
  }
  // The register that has the program's value of `program`: itself, or `room`.
  Reg program_register(Reg program, Reg room) {
    if (frame_.is_saved(program)) {
      out_.load(room, frame_.saved(program));
      return room;
    }
    if (!(program == reg::kStack)) return program;
    out_.load_stack_pointer(room);
    return room;
  }
  void add_register(const FetchInsn& insn) {
    in_value();
    const Reg other = reg::kPublish;  // needed below
    out_.store(frame_.scratch(), other);
    const Reg index = program_register(Reg{insn.index}, other);
    if (!(index == other)) out_.move(other, index);
    if (const int bits = __builtin_ctz(insn.size)) out_.shift_left(other, bits);
    out_.apply(Op::kAdd, kValue, other);
    out_.load(other, frame_.scratch());
  }
  void shift(int left, int right, bool is_signed) {
    in_value();
    if (left) out_.shift_left(kValue, left);
    if (!right) return;
    is_signed ? out_.shift_right_signed(kValue, right) : out_.shift_right(kValue, right);
  }

  const CodeFrame& frame_;
  Emitter& out_;
  Reg reg_ = kValue;
  uint64_t add_ = 0;
};

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
  // before. Behind texts these are emit_texts()'s.
  void store_fields() {
    const FetchInsn* stop = fetch_.insn + fetch_.nr_insns;
    uint32_t filled = record_head_size(fetch_.head);
    for (const FetchInsn* insn = fetch_.insn; insn != stop;) {
      ValueCode value(frame_);
      const FetchInsn* first = insn;
      const bool is_text = is_text_chain(first, stop);
      for (; insn != stop && (insn == first || !starts_chain(insn->op)); insn++) {
        if (!ends_chain(insn->op)) {
          if (!is_text) value.step(*insn);
          continue;
        }
        zero(filled, insn->offset);
        filled = insn->offset + field_size(*insn);
        if (!is_text) store_field(&value, *insn);
      }
    }
    zero(filled, frame_.texts ? fetch_.fixed_size : fixed_record_size(fetch_));
  }

  // Of a whole call at its return, on what was taken: that has its gaps as 0. What the call's data
  // says is codegen/call_code.cc's.
  void store_result() {
    const FetchInsn* stop = fetch_.insn + fetch_.nr_insns;
    for (const FetchInsn* insn = fetch_.insn; insn != stop; insn++) {
      if (insn->op == FetchOp::kTaken || insn->op == FetchOp::kField) {
        if (insn->op == FetchOp::kField) insn++;  // its kStore
        continue;
      }
      ValueCode value(frame_);
      for (; !ends_chain(insn->op); insn++) value.step(*insn);
      store_field(&value, *insn);
    }
  }

 private:
  Mem at(uint32_t offset) const { return {kPlace, int64_t{at_} + offset}; }

  void store_return_head() {
    frame_.load_slot_event(kValue, offsetof(SiteEvent, event));
    out_.load(kValue, {kValue, offsetof(EventProgram, id)}, Width::k2);
    out_.store(at(0), kValue, Width::k4);
    store_tid();
    const bool is_call = fetch_.head == RecordHead::kFunction;  // whose parent comes first
    frame_.code.event.ip ? frame_.load_slot_event(kValue, offsetof(SiteEvent, ip))
                         : load_slot_function();
    out_.store(at(is_call ? 16 : 8), kValue);
    out_.load(kValue, {reg::kReturnSlot, offsetof(ReturnSlot, return_address)});
    out_.store(at(is_call ? 8 : 16), kValue);
  }
  void load_slot_function() {
    out_.load(kValue, {reg::kReturnSlot, offsetof(ReturnSlot, site)});
    out_.load(kValue, {kValue, offsetof(CallSite, function)});
  }
  void store_tid() {
    out_.load(kValue, frame_.tid(), Width::k4);
    out_.store(at(4), kValue, Width::k4);
  }

  static bool is_text_chain(const FetchInsn* insn, const FetchInsn* stop) {
    while (insn != stop && !ends_chain(insn->op)) insn++;
    return insn != stop && insn->op == FetchOp::kString;
  }
  void zero(uint32_t from, uint32_t to) {
    for (uint32_t size; from < to; from += size) {
      for (size = 8; from % size || size > to - from;) size /= 2;
      out_.store_number(at(from), 0, Width(size));
    }
  }

  void store_field(ValueCode* value, const FetchInsn& end) {
    switch (end.op) {
      case FetchOp::kArray:
        return copy_array(value, end);
      case FetchOp::kLoad:
        value->load(Width(end.size));
        [[fallthrough]];
      default:
        out_.store(at(end.offset), value->in_register(), Width(end.size));
    }
  }
  // Through kPublish, which is needed below: kValue may be the address.
  void copy_array(ValueCode* value, const FetchInsn& end) {
    const Reg word = reg::kPublish;
    if (!fits_offset(uint64_t(value->memory().offset) + kMaxArrayBytes)) value->in_value();
    const Mem from = value->memory();
    out_.store(frame_.scratch(), word);
    const uint32_t bytes = field_size(end);
    for (uint32_t done = 0; done < bytes;) {
      uint32_t size = 8;
      while (size > bytes - done) size /= 2;
      out_.load(word, {from.base, from.offset + done}, Width(size));
      out_.store(at(end.offset + done), word, Width(size));
      done += size;
    }
    out_.load(word, frame_.scratch());
  }

  const CodeFrame& frame_;
  Emitter& out_;
  const FetchProgram& fetch_;
  const uint32_t at_;
};

// The chain at `i` stores the call's time: of what is taken, the second word of its record.
bool is_duration(const FetchProgram& fetch, int i) {
  return fetch.insn[i].op == FetchOp::kField && fetch.insn[i].imm == sizeof(uint64_t) &&
         fetch.insn[i].size == 8 && i + 1 < fetch.nr_insns &&
         fetch.insn[i + 1].op == FetchOp::kStore && fetch.insn[i + 1].size == 8;
}

bool is_width(uint8_t size) { return size == 1 || size == 2 || size == 4 || size == 8; }

bool is_compiled(const FetchInsn& insn) {
  switch (insn.op) {
    case FetchOp::kArg:
    case FetchOp::kImm:
    case FetchOp::kThread:
    case FetchOp::kAdd:
    case FetchOp::kDeref:
      return true;
    case FetchOp::kReg:
      return insn.index < kFlagsRegister;
    case FetchOp::kXmm:
      return insn.index < 16;
    case FetchOp::kAddReg:
      return insn.index < kFlagsRegister && is_width(insn.size);
    case FetchOp::kPeek:
    case FetchOp::kExtend:
    case FetchOp::kStore:
    case FetchOp::kLoad:
      return is_width(insn.size);
    case FetchOp::kBits:
      return insn.size >= 1 && insn.index + insn.size <= 64;
    case FetchOp::kArray:
      return is_width(insn.size) && insn.imm <= kMaxArrayBytes / insn.size;
    case FetchOp::kString:
      return insn.imm >= 1;
    default:
      return false;
  }
}

}  // namespace

bool starts_chain(FetchOp op) {
  return op == FetchOp::kArg || op == FetchOp::kReg || op == FetchOp::kXmm || op == FetchOp::kImm ||
         op == FetchOp::kThread;
}

bool ends_chain(FetchOp op) {
  return op == FetchOp::kStore || op == FetchOp::kLoad || op == FetchOp::kArray ||
         op == FetchOp::kString;
}

// Each chain begins with a start and has one end; fields stand in the order of the record.
bool can_be_compiled(const FetchProgram& fetch) {
  if (fetch.fixed_size > abi::kMaxSmallData || fixed_record_size(fetch) > abi::kMaxSmallData)
    return false;
  uint32_t filled = record_head_size(fetch.head);
  bool is_open = false;
  for (int i = 0; i < fetch.nr_insns; i++) {
    const FetchInsn& insn = fetch.insn[i];
    if (!is_compiled(insn) || starts_chain(insn.op) == is_open) return false;
    is_open = !ends_chain(insn.op);
    if (is_open) continue;
    if (insn.offset < filled) return false;
    filled = insn.offset + field_size(insn);
  }
  return !is_open && filled <= fetch.fixed_size;
}

bool has_entry_head(const FetchProgram& fetch) {
  return fetch.head == RecordHead::kFunction || fetch.head == RecordHead::kProbe;
}

bool makes_own_record(const SiteEvent& event) {
  const EventProgram& program = *event.event;
  return pb_rseq_offset && event.fetch && program.kind == ConsumerKind::kRecord &&
         !program.from_record && !program.pids && !program.notrace_pids;
}

bool has_triggers_alone(const SiteEvent& event) {
  const EventProgram& program = *event.event;
  return makes_own_record(event) && !program.pid_field[0] && has_entry_head(*event.fetch) &&
         program.has_soft && program.triggers;
}

bool has_loads(const FetchProgram& fetch) {
  for (int i = 0; i < fetch.nr_insns; i++) {
    const FetchOp op = fetch.insn[i].op;
    if (op == FetchOp::kDeref || op == FetchOp::kPeek || op == FetchOp::kLoad ||
        op == FetchOp::kArray || op == FetchOp::kString)
      return true;
  }
  return false;
}

const FetchInsn* emit_value(const CodeFrame& frame, const FetchInsn* insn, const FetchInsn* stop) {
  ValueCode value(frame);
  for (; insn != stop && !ends_chain(insn->op); insn++) value.step(*insn);
  value.in_value();
  return insn;
}

const FetchInsn* find_chain(const FetchProgram& fetch, uint32_t offset, uint32_t size) {
  for (const FetchInsn* end = fetch.insn; end != fetch.insn + fetch.nr_insns; end++) {
    const bool is_number = end->op == FetchOp::kStore || end->op == FetchOp::kLoad;
    if (!is_number || end->offset != offset || end->size != size) continue;
    for (const FetchInsn* insn = end; is_compiled(*insn); insn--) {
      if (starts_chain(insn->op)) return insn;
      if (insn == fetch.insn || (insn != end && ends_chain(insn->op))) return nullptr;
    }
    return nullptr;
  }
  return nullptr;
}

void emit_field(const CodeFrame& frame, const FetchInsn* chain) {
  ValueCode value(frame);
  for (; !ends_chain(chain->op); chain++) value.step(*chain);
  chain->op == FetchOp::kLoad ? value.load(Width(chain->size)) : value.in_value();
}

void emit_record(const CodeFrame& frame, uint32_t at) {
  RecordCode code(frame, at);
  code.store_head();
  code.store_fields();
}

void emit_fields(const CodeFrame& frame, uint32_t at) { RecordCode(frame, at).store_fields(); }

void emit_result(const CodeFrame& frame, uint32_t at) { RecordCode(frame, at).store_result(); }

void emit_head_and_result(const CodeFrame& frame, uint32_t at) {
  RecordCode code(frame, at);
  code.store_head();
  code.store_result();
}

bool can_be_taken(const FetchProgram& fetch) {
  if (!can_be_compiled(fetch)) return false;
  for (int i = 0; i < fetch.nr_insns; i++) {
    const FetchInsn& insn = fetch.insn[i];
    if (insn.op == FetchOp::kAddReg) return false;
    if (insn.op == FetchOp::kReg && insn.index != reg::kStack.number) return false;
  }
  return true;
}

bool can_be_returned(const FetchProgram& fetch) {
  bool is_open = false;
  for (int i = 0; i < fetch.nr_insns; i++) {
    const FetchInsn& insn = fetch.insn[i];
    if (i == 0 && insn.op == FetchOp::kTaken) continue;
    if (is_duration(fetch, i)) {
      i++;
      continue;
    }
    const bool is_fixed = is_compiled(insn) && insn.op != FetchOp::kString;
    if (!is_fixed || starts_chain(insn.op) == is_open) return false;
    is_open = !ends_chain(insn.op);
  }
  return !is_open && fixed_record_size(fetch) <= abi::kMaxSmallData;
}

}  // namespace patchbay
