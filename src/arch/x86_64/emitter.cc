// SPDX-License-Identifier: MIT
//
// The operations of arch/emitter.h as instructions of x86-64, by Xbyak. No other file of the
// product knows Xbyak.
#define XBYAK_NO_EXCEPTION
#include "arch/emitter.h"

#include <sys/rseq.h>
#include <xbyak/xbyak.h>

#include <cstring>
#include <deque>
#include <new>

#include "base/check.h"
#include "hot/fault.h"
#include "hot/rseq.h"

namespace patchbay {

using namespace Xbyak::util;  // register names

// The assembler's labels for ours.
class LabelTable {
 public:
  Xbyak::Label& at(const Label& label) {
    if (!label.number_) {
      labels_.emplace_back();
      label.number_ = uint32_t(labels_.size());
    }
    return labels_[label.number_ - 1];
  }

 private:
  std::deque<Xbyak::Label> labels_;
};

// The calls that go through rooms.
class CallTable {
 public:
  CodeFixups::Call& at(const CallOut& call) {
    if (!call.number_) {
      calls_.push_back({});
      call.number_ = uint32_t(calls_.size());
    }
    return calls_[call.number_ - 1];
  }
  const std::vector<CodeFixups::Call>& all() const { return calls_; }

 private:
  std::vector<CodeFixups::Call> calls_;
};

namespace {

// Never short enough for a shorter encoding.
constexpr uint64_t kAnyWord = 0x1122334455667788;
constexpr uint32_t kAnyNumber = 0x12345678;
constexpr size_t kCallRoom = 16;  // for an aligned word: alignment checks may be on
constexpr size_t kCodeAlignment = 64;
constexpr uint32_t kAlignmentCheck = 0x40000;  // of the flags

// Where the code is written first.
struct Buffer {
  explicit Buffer(size_t size) : bytes(new (std::align_val_t(kCodeAlignment)) uint8_t[size]) {}
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer() { operator delete[](bytes, std::align_val_t(kCodeAlignment)); }
  uint8_t* const bytes;
};

Xbyak::Reg64 qwords(Reg r) { return Xbyak::Reg64(r.number); }
Xbyak::Reg32 dwords(Reg r) { return Xbyak::Reg32(r.number); }
Xbyak::Reg sized(Reg r, Width width) {
  const Xbyak::Reg64 whole = qwords(r);
  switch (width) {
    case Width::k1:
      return whole.cvt8();
    case Width::k2:
      return whole.cvt16();
    case Width::k4:
      return whole.cvt32();
    default:
      return whole;
  }
}

class X86Emitter : public Emitter {
 public:
  explicit X86Emitter(size_t capacity) : buffer_(capacity), out_(capacity, buffer_.bytes) {
    Xbyak::ClearError();
  }
  ~X86Emitter() override { Xbyak::ClearError(); }

  size_t size() const override { return out_.getSize(); }
  bool is_complete() const override { return Xbyak::GetError() == Xbyak::ERR_NONE; }

  // --- data
  void set(Reg to, uint64_t value) override { out_.mov(qwords(to), value); }
  void set_later(Reg to, uint8_t tag) override {
    out_.mov(qwords(to), kAnyWord);
    fixups_.values.push_back({tag, 8, size() - 8});
  }
  void store_later(Mem to, uint8_t tag) override {
    out_.mov(memory(to, Width::k4), kAnyNumber);
    fixups_.values.push_back({tag, 4, size() - 4});
  }
  void move(Reg to, Reg from, Width width) override {
    out_.mov(sized(to, width), sized(from, width));
  }
  void load(Reg to, Mem from, Width width) override {
    const Xbyak::Address at = memory(from, width);
    if (width == Width::k8) return out_.mov(qwords(to), at);
    if (width == Width::k4) return out_.mov(dwords(to), at);
    out_.movzx(dwords(to), at);
  }
  void load_signed(Reg to, Mem from, Width width) override {
    out_.movsx(dwords(to), memory(from, width));
  }
  void store(Mem to, Reg from, Width width) override {
    out_.mov(memory(to, width), sized(from, width));
  }
  void store_number(Mem to, uint32_t value, Width width) override {
    out_.mov(memory(to, width), value);
  }
  void address_of(Reg to, const Label& label) override {
    out_.lea(qwords(to), ptr[rip + labels_.at(label)]);
  }
  void load_stack_pointer(Reg to) override { out_.lea(qwords(to), ptr[rsp + moved()]); }
  void load_return_address(Reg to) override { out_.mov(qwords(to), ptr[rsp + moved()]); }
  void load_thread_pointer(Reg to) override {
    out_.mov(qwords(to), memory(thread_local_word(0), Width::k8));  // it is the first word there
  }

  void load_vector(Reg to, int number) override { out_.movq(qwords(to), Xbyak::Xmm(number)); }

  // --- arithmetic
  void apply(Op op, Destination to, Operand from, Width width) override {
    if (const Number* number = std::get_if<Number>(&from))
      return apply_number(op, to, *number, width);
    if (const Mem* at = std::get_if<Mem>(&from)) {
      const Xbyak::Reg left = sized(std::get<Reg>(to), width);
      return apply_two(op, left, memory(*at, width));
    }
    const Xbyak::Reg right = sized(std::get<Reg>(from), width);
    if (const Mem* at = std::get_if<Mem>(&to)) return apply_two(op, memory(*at, width), right);
    apply_two(op, sized(std::get<Reg>(to), width), right);
  }
  void multiply(Reg to, std::variant<Reg, Number> by) override {
    if (const Number* number = std::get_if<Number>(&by))
      return out_.imul(qwords(to), qwords(to), int(number->value));
    out_.imul(qwords(to), qwords(std::get<Reg>(by)));
  }
  void increment(Reg reg) override { out_.inc(qwords(reg)); }
  void shift_left(Reg reg, int bits, Width width) override { out_.shl(sized(reg, width), bits); }
  void shift_right(Reg reg, int bits) override { out_.shr(qwords(reg), bits); }
  void shift_right_signed(Reg reg, int bits) override { out_.sar(qwords(reg), bits); }
  void shift_right_by_count(Reg reg) override {
    static_assert(reg::kCount.number == Xbyak::Operand::RCX);
    out_.shr(qwords(reg), cl);
  }
  void complement(Reg reg) override { out_.not_(qwords(reg)); }
  void negate(Reg reg) override { out_.neg(qwords(reg)); }
  void lowest_bit(Reg reg) override { out_.bsf(qwords(reg), qwords(reg)); }
  void flip_bit(Reg reg, int bit) override { out_.btc(qwords(reg), uint8_t(bit)); }
  void read_clock() override {
    static_assert(reg::kTime.number == Xbyak::Operand::RAX);
    static_assert(reg::kSlot.number == Xbyak::Operand::RDX);
    out_.rdtsc();
    out_.shl(rdx, 32);
    out_.or_(rax, rdx);
  }

  // --- control
  void bind(const Label& label) override { out_.L(labels_.at(label)); }
  void jump(const Label& to) override { out_.jmp(labels_.at(to), out_.T_NEAR); }
  void jump_if(JumpCondition condition, const Label& to) override;
  void jump_to(Reg address) override { out_.jmp(qwords(address)); }
  void jump_through(const Label& word) override { out_.jmp(ptr[rip + labels_.at(word)]); }
  void call(Reg address) override { out_.call(qwords(address)); }
  void call_out(const CallOut& call) override {
    out_.call(ptr[rip]);
    calls_.at(call).displacement = size() - sizeof(int32_t);
  }
  void jump_out(const CallOut& call) override {
    out_.jmp(ptr[rip]);
    calls_.at(call).displacement = size() - sizeof(int32_t);
  }
  void return_to_caller() override { out_.ret(); }

  // --- the stack and the flags
  void move_stack(int by) override {
    out_.lea(rsp, ptr[rsp + by]);
    stack_is(moved() - by);
  }
  void push(Reg reg) override {
    out_.push(qwords(reg));
    stack_is(moved() + 8);
  }
  void pop(Reg reg) override {
    out_.pop(qwords(reg));
    stack_is(moved() - 8);
  }
  void save_flags(Mem to) override {
    const int before = moved();
    out_.pushfq();
    stack_is(before + 8);
    out_.pop(memory(to, Width::k8));  // the address is computed behind the pop
    stack_is(before);
  }
  // popf costs as much as all the rest; rax is spent instead. DF and AC stay as they are.
  void restore_flags(Mem from) override {
    out_.mov(al, memory({from.base, from.offset + 1}, Width::k1));
    out_.and_(al, 8);                       // OF
    out_.mov(ah, memory(from, Width::k1));  // SF ZF AF PF CF
    out_.add(al, 0x78);                     // overflows if OF was set
    out_.sahf();
  }
  void jump_if_unaligned_faults(Mem flags, const Label& to) override {
    out_.test(memory(flags, Width::k4), kAlignmentCheck);
    out_.jnz(labels_.at(to), out_.T_NEAR);
  }

  // --- restartable sequences
  void begin_sequence(const Sequence& sequence) override {
    address_of(reg::kWork, sequence.descriptor);
    store(of_rseq(offsetof(struct rseq, rseq_cs)), reg::kWork, Width::k8);
    bind(sequence.start);
  }
  void load_cpu(Reg to) override {
    load(to, of_rseq(offsetof(struct rseq, cpu_id_start)), Width::k4);
  }
  void load_cpu(Reg to, const Label& unregistered) override {
    load_cpu(to);
    apply(Op::kCompare, to, of_rseq(offsetof(struct rseq, cpu_id)), Width::k4);
    jump_if(JumpCondition::kNotEqual, unregistered);
  }
  void add_one(Mem word) override { out_.add(memory(word, Width::k8), 1); }
  void add_locked(Mem word, std::variant<Reg, Number> what, Width width) override {
    out_.lock();
    if (const Number* number = std::get_if<Number>(&what))
      return out_.add(memory(word, width), number->value);
    out_.add(memory(word, width), sized(std::get<Reg>(what), width));
  }
  void commit_sequence(const Sequence& sequence) override { bind(sequence.committed); }
  void abort_sequence(const Sequence& sequence, bool may_fault) override {
    if (may_fault) out_.dd(kLoadAbort);
    out_.dd(RSEQ_SIG);
    bind(sequence.abort);
  }

  // --- data beside the code
  void align(size_t to) override {
    if (const size_t over = size() % to) out_.nop(to - over);
  }
  void word(const Label& label, uint64_t value) override {
    bind(label);
    out_.dq(value);
  }
  void room(const CallOut& call, void* target) override {
    calls_.at(call).room = size();
    calls_.at(call).target = target;
    for (size_t i = 0; i < kCallRoom; i++) out_.db(0);
  }
  // struct rseq_cs: version, flags, start, length, abort. Its alignment of 32 is the kernel's wish,
  // which it does not check.
  void describe(const Sequence& sequence) override {
    bind(sequence.descriptor);
    for (int i = 0; i < 4; i++) out_.dq(0);
    sequences_.push_back({&labels_.at(sequence.descriptor), &labels_.at(sequence.start),
                          &labels_.at(sequence.committed), &labels_.at(sequence.abort)});
  }

  GeneratedCode take() const override;

 private:
  struct SequenceLabels {
    const Xbyak::Label *descriptor, *start, *committed, *abort;
  };

  static Mem of_rseq(size_t field) { return thread_local_word(pb_rseq_offset + int64_t(field)); }
  Xbyak::Address memory(Mem at, Width width) {
    Xbyak::RegExp where;
    if (at.base == reg::kThread) {
      out_.db(0x64);  // fs:
      where = Xbyak::RegExp(size_t(at.offset));
    } else {
      where = qwords(at.base);
      if (!(at.index == reg::kNone)) where = where + qwords(at.index);
      where = where + size_t(at.offset);
    }
    switch (width) {
      case Width::k1:
        return byte[where];
      case Width::k2:
        return word_frame()[where];
      case Width::k4:
        return dword[where];
      default:
        return qword[where];
    }
  }
  static const Xbyak::AddressFrame& word_frame() { return Xbyak::util::word; }

  void apply_two(Op op, const Xbyak::Operand& to, const Xbyak::Operand& from);
  void apply_number(Op op, Destination to, Number number, Width width);
  void apply_number(Op op, const Xbyak::Operand& to, uint32_t number);
  size_t offset(const Xbyak::Label* label) const {
    return size_t(label->getAddress() - out_.getCode());
  }

  Buffer buffer_;
  mutable Xbyak::CodeGenerator out_;
  LabelTable labels_;
  CallTable calls_;
  CodeFixups fixups_;
  std::vector<SequenceLabels> sequences_;
};

void X86Emitter::jump_if(JumpCondition condition, const Label& label) {
  const Xbyak::Label& to = labels_.at(label);
  switch (condition) {
    case JumpCondition::kEqual:
      return out_.je(to, out_.T_NEAR);
    case JumpCondition::kNotEqual:
      return out_.jne(to, out_.T_NEAR);
    case JumpCondition::kBelow:
      return out_.jb(to, out_.T_NEAR);
    case JumpCondition::kNotBelow:
      return out_.jae(to, out_.T_NEAR);
    case JumpCondition::kNotAbove:
      return out_.jbe(to, out_.T_NEAR);
    case JumpCondition::kAbove:
      return out_.ja(to, out_.T_NEAR);
    case JumpCondition::kLess:
      return out_.jl(to, out_.T_NEAR);
    case JumpCondition::kNotLess:
      return out_.jge(to, out_.T_NEAR);
    case JumpCondition::kNotGreater:
      return out_.jle(to, out_.T_NEAR);
    case JumpCondition::kGreater:
      return out_.jg(to, out_.T_NEAR);
  }
}

void X86Emitter::apply_two(Op op, const Xbyak::Operand& to, const Xbyak::Operand& from) {
  switch (op) {
    case Op::kAdd:
      return out_.add(to, from);
    case Op::kSub:
      return out_.sub(to, from);
    case Op::kAnd:
      return out_.and_(to, from);
    case Op::kOr:
      return out_.or_(to, from);
    case Op::kXor:
      return out_.xor_(to, from);
    case Op::kCompare:
      return out_.cmp(to, from);
    case Op::kTest:
      return out_.test(to, from.getReg());
  }
}

void X86Emitter::apply_number(Op op, Destination to, Number number, Width width) {
  if (const Mem* at = std::get_if<Mem>(&to))
    return apply_number(op, memory(*at, width), number.value);
  apply_number(op, sized(std::get<Reg>(to), width), number.value);
}

void X86Emitter::apply_number(Op op, const Xbyak::Operand& to, uint32_t number) {
  switch (op) {
    case Op::kAdd:
      return out_.add(to, number);
    case Op::kSub:
      return out_.sub(to, number);
    case Op::kAnd:
      return out_.and_(to, number);
    case Op::kOr:
      return out_.or_(to, number);
    case Op::kXor:
      return out_.xor_(to, number);
    case Op::kCompare:
      return out_.cmp(to, number);
    case Op::kTest:
      return out_.test(to, number);
  }
}

GeneratedCode X86Emitter::take() const {
  PB_CHECK(!out_.hasUndefinedLabel());
  GeneratedCode code{{buffer_.bytes, buffer_.bytes + size()}, fixups_};
  for (const CodeFixups::Call& call : calls_.all()) {
    PB_CHECK_VALUES(call.displacement && call.room && call.target, call.displacement, call.room);
    code.fixups.calls.push_back(call);
  }
  for (const SequenceLabels& labels : sequences_) {
    const CodeFixups::Restartable made = {offset(labels.descriptor), offset(labels.start),
                                          offset(labels.committed), offset(labels.abort)};
    PB_CHECK_VALUES(made.start < made.committed, made.start, made.committed);
    PB_CHECK_VALUES(made.abort <= made.start || made.abort > made.committed, made.start,
                    made.abort);
    code.fixups.sequences.push_back(made);
  }
  return code;
}

template <typename T>
void put(uint8_t* to, T value) {
  std::memcpy(to, &value, sizeof value);
}

}  // namespace

void GeneratedCode::place(uint8_t* out, uint64_t address, const uint64_t* values) const {
  std::memcpy(out, bytes.data(), bytes.size());
  for (const CodeFixups::Value& value : fixups.values) {
    PB_CHECK_VALUES(value.at + value.size <= bytes.size(), value.at, bytes.size());
    std::memcpy(out + value.at, &values[value.tag], value.size);
  }
  for (const CodeFixups::Call& call : fixups.calls) {
    const size_t at = ((address + call.room + 7) & ~uint64_t{7}) - address;
    PB_CHECK_VALUES(at + sizeof(uint64_t) <= call.room + kCallRoom, at, call.room);
    put(out + at, reinterpret_cast<uint64_t>(call.target));
    put(out + call.displacement, int32_t(at - (call.displacement + sizeof(int32_t))));
  }
  for (const CodeFixups::Restartable& sequence : fixups.sequences) {
    uint8_t* descriptor = out + sequence.descriptor;
    put(descriptor + offsetof(struct rseq_cs, start_ip), address + sequence.start);
    put(descriptor + offsetof(struct rseq_cs, post_commit_offset),
        uint64_t(sequence.committed - sequence.start));
    put(descriptor + offsetof(struct rseq_cs, abort_ip), address + sequence.abort);
  }
}

JumpCondition opposite(JumpCondition condition) {
  switch (condition) {
    case JumpCondition::kEqual:
      return JumpCondition::kNotEqual;
    case JumpCondition::kNotEqual:
      return JumpCondition::kEqual;
    case JumpCondition::kBelow:
      return JumpCondition::kNotBelow;
    case JumpCondition::kNotBelow:
      return JumpCondition::kBelow;
    case JumpCondition::kNotAbove:
      return JumpCondition::kAbove;
    case JumpCondition::kAbove:
      return JumpCondition::kNotAbove;
    case JumpCondition::kLess:
      return JumpCondition::kNotLess;
    case JumpCondition::kNotLess:
      return JumpCondition::kLess;
    case JumpCondition::kNotGreater:
      return JumpCondition::kGreater;
    case JumpCondition::kGreater:
      return JumpCondition::kNotGreater;
  }
  return condition;
}

int64_t thread_local_offset(const void* word) {
  int64_t thread_pointer;
  __asm__("mov %%fs:0, %0" : "=r"(thread_pointer));
  return reinterpret_cast<int64_t>(word) - thread_pointer;
}

std::unique_ptr<Emitter> make_emitter(size_t capacity) {
  return std::make_unique<X86Emitter>(capacity);
}

}  // namespace patchbay
