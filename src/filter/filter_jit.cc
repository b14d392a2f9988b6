// SPDX-License-Identifier: MIT
//
// Each predicate becomes a comparison and one jump: of its two targets one is always the next
// predicate (filter_insn.h), except in the last. What is no plain comparison calls filter_test().
//
//   over a record (rdi, rdx are kept)          over registers
//     cmp  esi, min_size; jb reject              (rax, r11 saved below rsp if some test needs them)
//     cmp  dword [rdi + 24], 5; jne L2           cmp  edi, 5; jne L2
//     …                                          …
//   match:  eax = 1, ret                       match:  restore, fall through
//   reject: eax = 0, ret                       reject: restore, jmp to where the caller says
//   or, in other code, without calls:
//   match:  somewhere else
//   reject: fall through
#ifndef XBYAK_NO_EXCEPTION
#define XBYAK_NO_EXCEPTION
#endif
#include "filter/filter_jit.h"

#include <xbyak/xbyak.h>

#include <algorithm>

#include "filter/filter_insn.h"
#include "patch/stub_views.h"

namespace patchbay {
namespace {

using namespace Xbyak::util;  // register names

bool fits_imm32(uint64_t value) { return int64_t(value) == int64_t(int32_t(value)); }

// Jumps to `to` when the comparison just made came out as `outcome`.
void jump_if(Xbyak::CodeGenerator& out, const FilterInsn& insn, bool outcome, Xbyak::Label& to) {
  using Generator = Xbyak::CodeGenerator;
  using Jump = void (Generator::*)(const Xbyak::Label&, Generator::LabelType);
  struct Jumps {
    Jump when_true, when_false;
  };
  static constexpr Jumps kEqual = {&Generator::je, &Generator::jne};
  static constexpr Jumps kNotEqual = {&Generator::jne, &Generator::je};
  static constexpr Jumps kSigned[] = {{&Generator::jl, &Generator::jge},
                                      {&Generator::jle, &Generator::jg},
                                      {&Generator::jg, &Generator::jle},
                                      {&Generator::jge, &Generator::jl}};
  static constexpr Jumps kUnsigned[] = {{&Generator::jb, &Generator::jae},
                                        {&Generator::jbe, &Generator::ja},
                                        {&Generator::ja, &Generator::jbe},
                                        {&Generator::jae, &Generator::jb}};
  Jumps jumps = insn.op == FilterOp::kEqual ? kEqual : kNotEqual;
  if (insn.test == FilterTest::kRange) {
    jumps = insn.invert ? kUnsigned[3] : kUnsigned[0];
  } else if (insn.op >= FilterOp::kLess && insn.op <= FilterOp::kGreaterEqual) {
    const auto order = size_t(insn.op) - size_t(FilterOp::kLess);
    jumps = insn.is_signed ? kSigned[order] : kUnsigned[order];
  }
  (out.*(outcome ? jumps.when_true : jumps.when_false))(to, Generator::T_NEAR);
}

// The labels of a program's predicates; those of match and reject follow.
using Targets = std::vector<Xbyak::Label>;

bool is_inline(const FilterInsn& insn) {
  return insn.test == FilterTest::kNumber || insn.test == FilterTest::kRange;
}

// The tests of a program over the record that a register points to. They spend rax and rcx.
class RecordEmitter {
 public:
  RecordEmitter(Xbyak::CodeGenerator& out, const FilterProgram& program, const Xbyak::Reg64& record)
      : out_(out),
        program_(program),
        record_(record),
        targets_(program.nr_insns + 2),
        insns_(program.insns) {
    for (uint32_t i = 0; i < program.nr_insns; i++) calls_ |= !is_inline(insns_[i]);
  }

  // The whole function: record in rdi, size in esi.
  void emit_function() {
    Xbyak::Label too_short;
    out_.cmp(esi, program_.min_size);
    out_.jb(too_short, out_.T_NEAR);
    if (calls_) {
      out_.sub(rsp, kFrame);
      stack_is(kFrame);
      out_.mov(ptr[rsp], rdi);
      out_.mov(ptr[rsp + 8], esi);
      out_.mov(ptr[rsp + 16], rdx);
    }
    emit_tests();
    leave_frame();
    out_.L(too_short);
    out_.xor_(eax, eax);
    out_.ret();
    out_.L(match());
    stack_is(calls_ ? kFrame : 0);
    leave_frame();
    out_.mov(eax, 1);
    out_.ret();
  }

  const StackShape& shape() const { return shape_; }

  // Falls through where the record, of `size` bytes, does not match.
  void emit_inline(const Xbyak::Reg32& size, Xbyak::Label& match) {
    match_ = &match;
    out_.cmp(size, program_.min_size);
    out_.jb(targets_[program_.nr_insns + 1], out_.T_NEAR);
    emit_tests();
  }

 private:
  static constexpr int kFrame = 24;  // rdi, esi, rdx; keeps the stack aligned for calls

  // From here on the return address is that much higher than the stack pointer.
  void stack_is(int moved) {
    shape_.row[shape_.count++] = {uint16_t(out_.getSize()), uint8_t(moved), 0};
  }
  Xbyak::Label& match() { return match_ ? *match_ : targets_[program_.nr_insns]; }
  // Reject follows: the way to it has a budget, and a jump taken costs a cycle.
  void emit_tests() {
    for (uint32_t i = 0; i < program_.nr_insns; i++) {
      out_.L(targets_[i]);
      emit_test(i);
    }
    out_.L(targets_[program_.nr_insns + 1]);
  }

  // Behind a test: one of its two targets follows, the other is jumped to.
  bool true_follows(uint32_t index) const {
    const bool is_last = index + 1 == program_.nr_insns;  // the code of reject follows
    return insns_[index].on_true == index + 1 + (is_last ? 1 : 0);
  }
  Xbyak::Label& jump_target(uint32_t index) {
    const FilterInsn& insn = insns_[index];
    const uint32_t target = true_follows(index) ? insn.on_false : insn.on_true;
    return target == program_.nr_insns ? match() : targets_[target];
  }
  void jump_on(uint32_t index) {
    jump_if(out_, insns_[index], !true_follows(index), jump_target(index));
  }
  void leave_frame() {
    if (!calls_) return;
    out_.mov(rdx, ptr[rsp + 16]);
    out_.add(rsp, kFrame);
    stack_is(0);
  }

  void emit_test(uint32_t index) {
    const FilterInsn& insn = insns_[index];
    if (insn.test == FilterTest::kNumber) {
      emit_number(insn);
      jump_on(index);
    } else if (insn.test == FilterTest::kRange) {
      out_.mov(rax, insn.value);
      out_.mov(rcx, ptr[record_ + insn.offset]);
      out_.sub(rcx, rax);
      out_.mov(rax, insn.end - insn.value);
      out_.cmp(rcx, rax);
      jump_on(index);
    } else {
      emit_call(insn);
      Xbyak::Label& target = jump_target(index);
      true_follows(index) ? out_.je(target, out_.T_NEAR) : out_.jne(target, out_.T_NEAR);
    }
  }

  void emit_number(const FilterInsn& insn) {
    const bool any_bit = insn.op == FilterOp::kAnyBit;
    const Xbyak::RegExp at = record_ + insn.offset;
    if (insn.size == 8) {
      out_.mov(rax, ptr[at]);
      if (fits_imm32(insn.value)) {
        any_bit ? out_.test(rax, uint32_t(insn.value)) : out_.cmp(rax, uint32_t(insn.value));
      } else {
        out_.mov(rcx, insn.value);
        any_bit ? out_.test(rax, rcx) : out_.cmp(rax, rcx);
      }
      return;
    }
    load_small(insn, at);
    any_bit ? out_.test(eax, uint32_t(insn.value)) : out_.cmp(eax, uint32_t(insn.value));
  }
  // Extended as the value is.
  void load_small(const FilterInsn& insn, const Xbyak::RegExp& at) {
    if (insn.size == 4) {
      out_.mov(eax, ptr[at]);
    } else if (insn.size == 2) {
      insn.is_signed ? out_.movsx(eax, word[at]) : out_.movzx(eax, word[at]);
    } else {
      insn.is_signed ? out_.movsx(eax, byte[at]) : out_.movzx(eax, byte[at]);
    }
  }

  void emit_call(const FilterInsn& insn) {
    out_.mov(rdi, reinterpret_cast<uint64_t>(&insn));
    out_.mov(rsi, ptr[rsp]);
    out_.mov(edx, ptr[rsp + 8]);
    out_.mov(rax, reinterpret_cast<uint64_t>(&filter_test));
    out_.call(rax);
    out_.mov(rdi, ptr[rsp]);
    out_.test(al, al);
  }

  Xbyak::CodeGenerator& out_;
  const FilterProgram& program_;
  const Xbyak::Reg64 record_;
  Targets targets_;
  Xbyak::Label* match_ = nullptr;  // somebody else's
  const FilterInsn* insns_;
  bool calls_ = false;
  StackShape shape_;  // of emit_function()
};

class RegisterEmitter {
 public:
  RegisterEmitter(Xbyak::CodeGenerator& out, const std::vector<RegisterTest>& tests,
                  int return_address)
      : out_(out), tests_(tests), targets_(tests.size() + 2), return_address_(return_address) {
    for (const RegisterTest& test : tests) needs_scratch_ |= !is_direct(test);
  }

  void emit(Xbyak::Label& caller_reject) {
    const size_t match = tests_.size();
    if (needs_scratch_) {
      out_.mov(out_.ptr[rsp - 8], rax);
      out_.mov(out_.ptr[rsp - 16], r11);
    }
    for (size_t i = 0; i < tests_.size(); i++) {
      const FilterInsn& insn = *tests_[i].insn;
      const bool true_follows = insn.on_true == i + 1;
      const size_t target = true_follows ? insn.on_false : insn.on_true;
      const bool leaves = target == match + 1 && !needs_scratch_;
      out_.L(targets_[i]);
      emit_comparison(tests_[i]);
      jump_if(out_, insn, !true_follows, leaves ? caller_reject : targets_[target]);
    }
    if (needs_scratch_) {
      out_.jmp(targets_[match], out_.T_NEAR);
      out_.L(targets_[match + 1]);
      restore();
      out_.jmp(caller_reject, out_.T_NEAR);
    }
    out_.L(targets_[match]);
    if (needs_scratch_) restore();
  }

 private:
  // One comparison of the register with a constant of up to 32 bits.
  static bool is_direct(const RegisterTest& test) {
    return test.source != RegisterTest::kReturnAddress && !test.add &&
           test.insn->test == FilterTest::kNumber && fits_imm32(test.insn->value);
  }
  void restore() {
    out_.mov(rax, out_.ptr[rsp - 8]);
    out_.mov(r11, out_.ptr[rsp - 16]);
  }

  static Xbyak::Reg64 register_of(int source) {
    static const Xbyak::Reg64 arguments[] = {rdi, rsi, rdx, rcx, r8, r9};
    return source < RegisterTest::kReturnAddress ? arguments[source]
                                                 : Xbyak::Reg64(source - RegisterTest::kRegister);
  }

  // rax = what is tested. The tests before may have spent rax and r11.
  void load(int source) {
    if (source == RegisterTest::kReturnAddress) {
      out_.mov(rax, out_.ptr[rsp + return_address_]);
    } else if (register_of(source) == rax) {
      out_.mov(rax, out_.ptr[rsp - 8]);
    } else if (register_of(source) == r11) {
      out_.mov(rax, out_.ptr[rsp - 16]);
    } else {
      out_.mov(rax, register_of(source));
    }
  }

  void emit_comparison(const RegisterTest& test) {
    const FilterInsn& insn = *test.insn;
    if (is_direct(test) && !needs_scratch_) return compare(register_of(test.source), insn);
    load(test.source);
    if (test.add) {
      out_.mov(r11, test.add);
      out_.add(rax, r11);
    }
    if (insn.test == FilterTest::kRange) {
      out_.mov(r11, insn.value);
      out_.sub(rax, r11);
      out_.mov(r11, insn.end - insn.value);
      out_.cmp(rax, r11);
    } else {
      compare(rax, insn);
    }
  }

  // At the field's width, so that what the register holds above it does not count.
  void compare(const Xbyak::Reg64& value, const FilterInsn& insn) {
    const bool any_bit = insn.op == FilterOp::kAnyBit;
    const auto constant = uint32_t(insn.value);
    auto with = [&](const auto& reg, uint32_t imm) {
      any_bit ? out_.test(reg, imm) : out_.cmp(reg, imm);
    };
    switch (insn.size) {
      case 1:
        return with(value.cvt8(), uint32_t(int8_t(constant)));
      case 2:
        return with(value.cvt16(), uint32_t(int16_t(constant)));
      case 4:
        return with(value.cvt32(), constant);
      default:
        break;
    }
    if (fits_imm32(insn.value)) return with(value, constant);
    out_.mov(r11, insn.value);
    any_bit ? out_.test(value, r11) : out_.cmp(value, r11);
  }

  Xbyak::CodeGenerator& out_;
  const std::vector<RegisterTest>& tests_;
  Targets targets_;
  int return_address_;
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
      plain = step.index < kFlagsRegister && step.index != Xbyak::Operand::RSP;
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

}  // namespace

FilterCode generate_filter_code(const FilterProgram& program) {
  std::vector<uint8_t> buffer(128 + 64 * size_t{program.nr_insns});
  Xbyak::CodeGenerator out(buffer.size(), buffer.data());
  RecordEmitter emitter(out, program, rdi);
  emitter.emit_function();
  if (Xbyak::GetError() != Xbyak::ERR_NONE) {
    Xbyak::ClearError();
    return FilterCode();
  }
  return FilterCode(buffer.data(), out.getSize(), stack_shape_number(emitter.shape()));
}

bool has_inline_tests(const FilterProgram& program) {
  return std::all_of(program.insns, program.insns + program.nr_insns, is_inline);
}

void emit_record_tests(Xbyak::CodeGenerator& out, const FilterProgram& program,
                       const Xbyak::Reg64& record, const Xbyak::Reg32& size, Xbyak::Label& match) {
  RecordEmitter(out, program, record).emit_inline(size, match);
}

std::vector<RegisterTest> filter_register_tests(const FilterProgram& filter,
                                                const FetchProgram& fetch) {
  std::vector<RegisterTest> tests;
  if (fetch.head != RecordHead::kFunction && fetch.head != RecordHead::kProbe) return tests;
  for (uint32_t i = 0; i < filter.nr_insns; i++) {
    const FilterInsn& insn = filter.insns[i];
    RegisterTest test{RegisterTest::kReturnAddress, 0, &insn};
    if (insn.test != FilterTest::kNumber && insn.test != FilterTest::kRange) return {};
    const bool is_caller = insn.offset == 8 && insn.size == 8;
    if (is_caller && fetch.head != RecordHead::kFunction) return {};
    if (!is_caller && !find_register(fetch, insn, &test)) return {};
    tests.push_back(test);
  }
  return tests;
}

void emit_register_tests(Xbyak::CodeGenerator& out, const std::vector<RegisterTest>& tests,
                         Xbyak::Label& reject, int return_address) {
  RegisterEmitter(out, tests, return_address).emit(reject);
}

}  // namespace patchbay
