// SPDX-License-Identifier: MIT
//
// Each predicate becomes a comparison and one jump: of its two targets one is always the next
// predicate (filter_insn.h), except in the last. What is no plain comparison calls filter_test().
// On x86-64 it comes to this:
//
//   over a record (rdi, rdx are kept)          over registers
//     cmp  esi, min_size; jb reject              (rax, r11 saved below rsp if some test needs them)
//     cmp  dword [rdi + 24], 5; jne L2           cmp  edi, 5; jne L2
//     …                                          …
//   match:  eax = 1, ret                       match:  restore, fall through
//   reject: eax = 0, ret                       reject: restore, jmp to where the caller says
//                                              a text: mov rax, [rdi + 8]
//                                                      cmp byte [rax], 's'; jne reject; …
//   or, in other code, without calls:
//   match:  somewhere else
//   reject: fall through
#include "filter/filter_jit.h"

#include <algorithm>
#include <cstdint>

#include "filter/filter_insn.h"
#include "patch/stack_shape.h"

namespace patchbay {
namespace {

bool fits_number(uint64_t value) { return int64_t(value) == int64_t(int32_t(value)); }

// What a comparison with the predicate's value says when the predicate holds.
JumpCondition condition_of(const FilterInsn& insn) {
  static constexpr JumpCondition kSigned[] = {JumpCondition::kLess, JumpCondition::kNotGreater,
                                              JumpCondition::kGreater, JumpCondition::kNotLess};
  static constexpr JumpCondition kUnsigned[] = {JumpCondition::kBelow, JumpCondition::kNotAbove,
                                                JumpCondition::kAbove, JumpCondition::kNotBelow};
  if (insn.test == FilterTest::kRange)
    return insn.invert ? JumpCondition::kNotBelow : JumpCondition::kBelow;
  if (insn.op >= FilterOp::kLess && insn.op <= FilterOp::kGreaterEqual) {
    const auto order = size_t(insn.op) - size_t(FilterOp::kLess);
    return insn.is_signed ? kSigned[order] : kUnsigned[order];
  }
  return insn.op == FilterOp::kEqual ? JumpCondition::kEqual : JumpCondition::kNotEqual;
}

// Jumps to `to` when the comparison just made came out as `outcome`.
void jump_if(Emitter& out, const FilterInsn& insn, bool outcome, const Label& to) {
  const JumpCondition holds = condition_of(insn);
  out.jump_if(outcome ? holds : opposite(holds), to);
}

Op comparison_of(const FilterInsn& insn) {
  return insn.op == FilterOp::kAnyBit ? Op::kTest : Op::kCompare;
}

// The labels of a program's predicates; those of match and reject follow.
using Targets = std::vector<Label>;

bool is_inline(const FilterInsn& insn) {
  return insn.test == FilterTest::kNumber || insn.test == FilterTest::kRange;
}

// The tests of a program over the record that a register points to. They spend two registers.
class RecordEmitter {
 public:
  RecordEmitter(Emitter& out, const FilterProgram& program, Reg record)
      : out_(out),
        program_(program),
        record_(record),
        targets_(program.nr_insns + 2),
        insns_(program.insns) {
    for (uint32_t i = 0; i < program.nr_insns; i++) calls_ |= !is_inline(insns_[i]);
  }

  // The whole function: bool (record, uint32_t size), which keeps its first and third argument.
  void emit_function() {
    Label too_short;
    out_.apply(Op::kCompare, kSize, Number{program_.min_size}, Width::k4);
    out_.jump_if(JumpCondition::kBelow, too_short);
    if (calls_) {
      out_.apply(Op::kSub, reg::kStack, Number{kFrame});
      out_.stack_is(kFrame);
      out_.store(kSavedRecord, kRecord);
      out_.store(kSavedSize, kSize, Width::k4);
      out_.store(kSavedThird, reg::kArgument[2]);
    }
    emit_tests();
    leave_frame();
    out_.bind(too_short);
    out_.apply(Op::kXor, reg::kResult, reg::kResult, Width::k4);
    out_.return_to_caller();
    out_.bind(match());
    out_.stack_is(calls_ ? kFrame : 0);
    leave_frame();
    out_.set(reg::kResult, 1);
    out_.return_to_caller();
  }

  // Falls through where the record, of `size` bytes, does not match.
  void emit_inline(Reg size, const Label& match) {
    match_ = &match;
    out_.apply(Op::kCompare, size, Number{program_.min_size}, Width::k4);
    out_.jump_if(JumpCondition::kBelow, targets_[program_.nr_insns + 1]);
    emit_tests();
  }

 private:
  static constexpr Reg kRecord = reg::kArgument[0], kSize = reg::kArgument[1];
  static constexpr Reg kTested = reg::kTime, kOther = reg::kPublish;  // spent
  static constexpr int kFrame = 24;  // keeps the stack aligned for calls
  static constexpr Mem kSavedRecord{reg::kStack, 0}, kSavedSize{reg::kStack, 8},
      kSavedThird{reg::kStack, 16};

  const Label& match() const { return match_ ? *match_ : targets_[program_.nr_insns]; }
  // Reject follows: the way to it has a budget, and a jump taken costs a cycle.
  void emit_tests() {
    for (uint32_t i = 0; i < program_.nr_insns; i++) {
      out_.bind(targets_[i]);
      emit_test(i);
    }
    out_.bind(targets_[program_.nr_insns + 1]);
  }

  // Behind a test: one of its two targets follows, the other is jumped to.
  bool true_follows(uint32_t index) const {
    const bool is_last = index + 1 == program_.nr_insns;  // the code of reject follows
    return insns_[index].on_true == index + 1 + (is_last ? 1 : 0);
  }
  const Label& jump_target(uint32_t index) const {
    const FilterInsn& insn = insns_[index];
    const uint32_t target = true_follows(index) ? insn.on_false : insn.on_true;
    return target == program_.nr_insns ? match() : targets_[target];
  }
  void jump_on(uint32_t index) {
    jump_if(out_, insns_[index], !true_follows(index), jump_target(index));
  }
  void leave_frame() {
    if (!calls_) return;
    out_.load(reg::kArgument[2], kSavedThird);
    out_.apply(Op::kAdd, reg::kStack, Number{kFrame});
    out_.stack_is(0);
  }

  void emit_test(uint32_t index) {
    const FilterInsn& insn = insns_[index];
    if (insn.test == FilterTest::kNumber) {
      emit_number(insn);
      jump_on(index);
    } else if (insn.test == FilterTest::kRange) {
      out_.set(kTested, insn.value);
      out_.load(kOther, field(insn));
      out_.apply(Op::kSub, kOther, kTested);
      out_.set(kTested, insn.end - insn.value);
      out_.apply(Op::kCompare, kOther, kTested);
      jump_on(index);
    } else {
      emit_call(insn);
      out_.jump_if(true_follows(index) ? JumpCondition::kEqual : JumpCondition::kNotEqual,
                   jump_target(index));
    }
  }

  Mem field(const FilterInsn& insn) const { return {record_, insn.offset}; }
  void emit_number(const FilterInsn& insn) {
    const Op compare = comparison_of(insn);
    const Number number{uint32_t(insn.value)};
    if (insn.size == 8) {
      out_.load(kTested, field(insn));
      if (fits_number(insn.value)) return out_.apply(compare, kTested, number);
      out_.set(kOther, insn.value);
      return out_.apply(compare, kTested, kOther);
    }
    // Extended as the value is.
    if (insn.size < 4 && insn.is_signed) {
      out_.load_signed(kTested, field(insn), Width(insn.size));
    } else {
      out_.load(kTested, field(insn), Width(insn.size));
    }
    out_.apply(compare, kTested, number, Width::k4);
  }

  void emit_call(const FilterInsn& insn) {
    out_.set(reg::kArgument[0], reinterpret_cast<uint64_t>(&insn));
    out_.load(reg::kArgument[1], kSavedRecord);
    out_.load(reg::kArgument[2], kSavedSize, Width::k4);
    out_.set(reg::kResult, reinterpret_cast<uint64_t>(&filter_test));
    out_.call(reg::kResult);
    out_.load(kRecord, kSavedRecord);
    out_.apply(Op::kTest, reg::kResult, reg::kResult, Width::k1);
  }

  Emitter& out_;
  const FilterProgram& program_;
  const Reg record_;
  Targets targets_;
  const Label* match_ = nullptr;  // the caller's
  const FilterInsn* insns_;
  bool calls_ = false;
};

class RegisterEmitter {
 public:
  RegisterEmitter(Emitter& out, const std::vector<RegisterTest>& tests, const TextTests& texts)
      : out_(out),
        tests_(tests),
        texts_(texts),
        has_texts_(has_text_tests(tests)),
        targets_(tests.size() + 2) {
    for (const RegisterTest& test : tests) needs_scratch_ |= !is_direct(test);
  }

  void emit(const Label& caller_reject) {
    const size_t match = tests_.size();
    if (needs_scratch_) {
      out_.store(kSavedTested, kTested);
      out_.store(kSavedOther, kOther);
    }
    if (has_texts_) begin_texts();
    for (size_t i = 0; i < tests_.size(); i++) {
      const FilterInsn& insn = *tests_[i].insn;
      if (tests_[i].is_text()) {
        emit_text(tests_[i], i);
        continue;
      }
      const bool true_follows = insn.on_true == i + 1;
      const size_t target = true_follows ? insn.on_false : insn.on_true;
      const bool leaves = target == match + 1 && !needs_scratch_;
      out_.bind(targets_[i]);
      emit_comparison(tests_[i]);
      jump_if(out_, insn, !true_follows, leaves ? caller_reject : targets_[target]);
    }
    if (has_texts_) out_.commit_sequence(texts_.sequence);
    if (needs_scratch_) {
      out_.jump(targets_[match]);
      out_.bind(targets_[match + 1]);
      restore();
      out_.jump(caller_reject);
    }
    if (has_texts_) {
      out_.abort_sequence(texts_.sequence, true);
      out_.bind(unknown_);
      restore();
      out_.jump(texts_.unknown);
    }
    out_.bind(targets_[match]);
    if (needs_scratch_) restore();
  }

 private:
  static constexpr Reg kTested = reg::kTime, kOther = reg::kValue;
  static constexpr Mem kSavedTested{reg::kStack, -8}, kSavedOther{reg::kStack, -16};

  // One comparison of the register with a constant of up to 32 bits.
  static bool is_direct(const RegisterTest& test) {
    return test.source != RegisterTest::kReturnAddress && !test.add && !test.is_text() &&
           test.insn->test == FilterTest::kNumber && fits_number(test.insn->value);
  }
  void restore() {
    out_.load(kTested, kSavedTested);
    out_.load(kOther, kSavedOther);
  }

  static Reg register_of(int source) {
    return source < RegisterTest::kReturnAddress ? reg::kArgument[source]
                                                 : Reg{uint8_t(source - RegisterTest::kRegister)};
  }

  // kTested = what is tested. The tests before may have spent kTested and kOther.
  void load(int source) {
    if (source == RegisterTest::kReturnAddress) {
      out_.load_return_address(kTested);
    } else if (register_of(source) == kTested) {
      out_.load(kTested, kSavedTested);
    } else if (register_of(source) == kOther) {
      out_.load(kTested, kSavedOther);
    } else {
      out_.move(kTested, register_of(source));
    }
  }

  void emit_comparison(const RegisterTest& test) {
    const FilterInsn& insn = *test.insn;
    if (is_direct(test) && !needs_scratch_) return compare(register_of(test.source), insn);
    load(test.source);
    if (test.add) {
      out_.set(kOther, test.add);
      out_.apply(Op::kAdd, kTested, kOther);
    }
    if (insn.test == FilterTest::kRange) {
      out_.set(kOther, insn.value);
      out_.apply(Op::kSub, kTested, kOther);
      out_.set(kOther, insn.end - insn.value);
      out_.apply(Op::kCompare, kTested, kOther);
    } else {
      compare(kTested, insn);
    }
  }

  // A thread without restartable sequences cannot leave this one either.
  void begin_texts() {
    out_.begin_sequence(texts_.sequence);
    out_.load_cpu(kTested, unknown_);
  }

  // Texts that differ here differ from one that cannot be read to its end, too: that is empty.
  // Byte by byte: the next one is there when this one was no NUL. Most texts differ in the first.
  void emit_text(const RegisterTest& test, size_t index) {
    const FilterInsn& insn = *test.insn;
    const size_t same = insn.invert ? insn.on_false : insn.on_true;
    const size_t other = insn.invert ? insn.on_true : insn.on_false;
    out_.bind(targets_[index]);
    load(test.source);
    for (size_t i = 0; i + 1 < test.offsets.size(); i++)
      out_.load(kTested, {kTested, test.offsets[i]});
    const uint32_t size = insn.data_size + (insn.match == TextMatch::kWhole ? 1 : 0);
    for (uint32_t i = 0; i < size; i++) {
      const uint8_t wanted = i < insn.data_size ? insn.data[i] : 0;
      const Mem at{kTested, int64_t{test.offsets.back()} + i};
      out_.apply(Op::kCompare, at, Number{uint32_t(int8_t(wanted))}, Width::k1);
      out_.jump_if(JumpCondition::kNotEqual, targets_[other]);
    }
    // A text that cannot be read to its end is an empty one. Where that would be another answer, it
    // is not known: a match is looked at again when the record is made.
    if (insn.match == TextMatch::kBegins && same != tests_.size())
      out_.jump(unknown_);
    else if (same != index + 1)
      out_.jump(targets_[same]);
  }

  // At the field's width, so that what the register holds above it does not count.
  void compare(Reg value, const FilterInsn& insn) {
    const Op op = comparison_of(insn);
    const auto constant = uint32_t(insn.value);
    switch (insn.size) {
      case 1:
        return out_.apply(op, value, Number{uint32_t(int8_t(constant))}, Width::k1);
      case 2:
        return out_.apply(op, value, Number{uint32_t(int16_t(constant))}, Width::k2);
      case 4:
        return out_.apply(op, value, Number{constant}, Width::k4);
      default:
        break;
    }
    if (fits_number(insn.value)) return out_.apply(op, value, Number{constant});
    out_.set(kOther, insn.value);
    out_.apply(op, value, kOther);
  }

  Emitter& out_;
  const std::vector<RegisterTest>& tests_;
  const TextTests& texts_;
  const bool has_texts_;
  Targets targets_;
  Label unknown_;
  bool needs_scratch_ = false;
};

// Which register, and how much added to it, the field of that place is; false: another thing.
bool find_register(const FetchProgram& fetch, const FilterInsn& insn, RegisterTest* test) {
  bool plain = false;  // the value is still the register, or moved by a constant
  for (int i = 0; i < fetch.nr_insns; i++) {
    const FetchInsn& step = fetch.insn[i];
    if (step.op == FetchOp::kArg) {
      plain = true;
      test->source = step.index;
      test->add = 0;
    } else if (step.op == FetchOp::kReg) {
      plain = step.index < kFlagsRegister && !(Reg{step.index} == reg::kStack);
      test->source = RegisterTest::kRegister + step.index;
      test->add = 0;
    } else if (step.op == FetchOp::kAdd) {
      test->add += step.imm;
    } else if (step.op == FetchOp::kStore && step.offset == insn.offset) {
      return plain && step.size == insn.size;
    } else if (step.op != FetchOp::kStore) {
      plain = false;
    }
  }
  return false;
}

constexpr uint32_t kMaxTextTest = 32;  // characters

// Which register, and which loads, lead to the text of that place; false: another thing, or what
// the text is compared with is not its beginning. Texts are cut to a field's limit.
bool find_text(const FetchProgram& fetch, const FilterInsn& insn, RegisterTest* test) {
  const bool is_whole = insn.match == TextMatch::kWhole;
  const bool is_dynamic = insn.place == TextPlace::kDataLoc || insn.place == TextPlace::kCounted;
  if (!is_dynamic || !(is_whole || insn.match == TextMatch::kBegins)) return false;
  if (insn.data_size == 0 || insn.data_size > kMaxTextTest)
    return false;  // an unreadable one is ""
  bool plain = false;
  uint64_t add = 0;
  for (int i = 0; i < fetch.nr_insns; i++) {
    const FetchInsn& step = fetch.insn[i];
    if (step.op == FetchOp::kArg || step.op == FetchOp::kReg) {
      const bool is_argument = step.op == FetchOp::kArg;
      plain = is_argument || (step.index < kFlagsRegister && !(Reg{step.index} == reg::kStack));
      test->source = step.index + (is_argument ? 0 : RegisterTest::kRegister);
      test->offsets.clear();
      add = 0;
    } else if (step.op == FetchOp::kAdd) {
      add += step.imm;
    } else if (step.op == FetchOp::kDeref) {
      plain &= int64_t(add) == int32_t(add);
      test->offsets.push_back(int32_t(add));
      add = 0;
    } else if (step.op == FetchOp::kString && step.offset == insn.offset) {
      test->offsets.push_back(int32_t(add));
      return plain && int64_t(add) >= INT32_MIN && int64_t(add) < INT32_MAX - int(kMaxTextTest) &&
             step.imm > insn.data_size + 1;
    } else {
      plain = false;
    }
  }
  return false;
}

}  // namespace

FilterCode generate_filter_code(const FilterProgram& program) {
  const std::unique_ptr<Emitter> out = make_emitter(128 + 64 * size_t{program.nr_insns});
  RecordEmitter(*out, program, reg::kArgument[0]).emit_function();
  if (!out->is_complete()) return FilterCode();
  const GeneratedCode code = out->take();
  return FilterCode(code.bytes.data(), code.bytes.size(),
                    stack_shape_number(stack_shape_of(out->stack_notes())));
}

bool has_inline_tests(const FilterProgram& program) {
  return std::all_of(program.insns, program.insns + program.nr_insns, is_inline);
}

void emit_record_tests(Emitter& out, const FilterProgram& program, Reg record, Reg size,
                       const Label& match) {
  RecordEmitter(out, program, record).emit_inline(size, match);
}

std::vector<RegisterTest> filter_register_tests(const FilterProgram& filter,
                                                const FetchProgram& fetch) {
  std::vector<RegisterTest> tests;
  if (fetch.head != RecordHead::kFunction && fetch.head != RecordHead::kProbe) return tests;
  for (uint32_t i = 0; i < filter.nr_insns; i++) {
    const FilterInsn& insn = filter.insns[i];
    RegisterTest test{RegisterTest::kReturnAddress, 0, &insn, {}};
    if (insn.test == FilterTest::kText) {
      if (!find_text(fetch, insn, &test)) return {};
      tests.push_back(test);
      continue;
    }
    if (insn.test != FilterTest::kNumber && insn.test != FilterTest::kRange) return {};
    const bool is_caller = insn.offset == 8 && insn.size == 8;
    if (is_caller && fetch.head != RecordHead::kFunction) return {};
    if (!is_caller && !find_register(fetch, insn, &test)) return {};
    tests.push_back(test);
  }
  return tests;
}

bool has_text_tests(const std::vector<RegisterTest>& tests) {
  return std::any_of(tests.begin(), tests.end(),
                     [](const RegisterTest& test) { return test.is_text(); });
}

void emit_register_tests(Emitter& out, const std::vector<RegisterTest>& tests, const Label& reject,
                         const TextTests& texts) {
  RegisterEmitter(out, tests, texts).emit(reject);
}

}  // namespace patchbay
