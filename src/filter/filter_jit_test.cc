// SPDX-License-Identifier: MIT
//
// The test of argument registers against the same filter over the record that fetch_run builds of
// them; and that it leaves every register as it was.
#include "filter/filter_jit.h"

#include <algorithm>
#include <ctime>
#include <memory>
#include <random>

#include <sys/mman.h>

#include <gtest/gtest.h>

#include "filter/filter.h"

namespace patchbay {
namespace {

// f(u8 a, s16 b, int c, u64 d + 3, s64 e) at offsets 24 26 28 32 40.
struct Fetch {
  alignas(8) uint8_t bytes[sizeof(FetchProgram) + 16 * sizeof(FetchInsn)] = {};
  FetchProgram& program() { return *reinterpret_cast<FetchProgram*>(bytes); }

  Fetch() {
    add(FetchOp::kArg, 0, 0, 0, 0);
    add(FetchOp::kStore, 0, 1, 24, 0);
    add(FetchOp::kArg, 1, 0, 0, 0);
    add(FetchOp::kStore, 0, 2, 26, 0);
    add(FetchOp::kArg, 2, 0, 0, 0);
    add(FetchOp::kStore, 0, 4, 28, 0);
    add(FetchOp::kArg, 3, 0, 0, 0);
    add(FetchOp::kAdd, 0, 0, 0, 3);
    add(FetchOp::kStore, 0, 8, 32, 0);
    add(FetchOp::kArg, 4, 0, 0, 0);
    add(FetchOp::kStore, 0, 8, 40, 0);
    program().fixed_size = program().max_size = 48;
    program().has_gaps = 1;
    program().scalar_only = 1;
  }
  // The same fields from registers, two of them those that the tests themselves use.
  void take_from_registers() {
    static constexpr uint8_t kRegisters[] = {0, 6, 11, 1, 8};
    for (int i = 0; i < program().nr_insns; i++) {
      FetchInsn& insn = program().insn[i];
      if (insn.op != FetchOp::kArg) continue;
      insn.op = FetchOp::kReg;
      insn.index = kRegisters[insn.index];
    }
  }
  void add(FetchOp op, uint8_t index, uint8_t size, uint32_t offset, uint64_t imm) {
    FetchInsn& insn = program().insn[program().nr_insns++];
    insn.op = op;
    insn.index = index;
    insn.size = size;
    insn.offset = offset;
    insn.imm = imm;
  }
};

FilterContext context() {
  FilterContext result;
  result.nr_cpus = 8;
  result.field = [](std::string_view name) -> std::optional<FilterField> {
    using Kind = FilterField::Kind;
    if (name == "common_pid") return FilterField{Kind::kNumber, 4, 4, true};
    if (name == "__parent_ip") return FilterField{Kind::kNumber, 8, 8, false};
    if (name == "a") return FilterField{Kind::kNumber, 24, 1, false};
    if (name == "b") return FilterField{Kind::kNumber, 26, 2, true};
    if (name == "c") return FilterField{Kind::kNumber, 28, 4, true};
    if (name == "d") return FilterField{Kind::kNumber, 32, 8, false};
    if (name == "e") return FilterField{Kind::kNumber, 40, 8, true};
    if (name == "f") return FilterField{Kind::kReal, 28, 4, true};  // the same bits
    if (name == "g") return FilterField{Kind::kReal, 40, 8, true};
    return std::nullopt;
  };
  result.function = [](std::string_view name, uint64_t, uint64_t* start, uint64_t* end) {
    *start = name == "low" ? 0 : uint64_t{1} << 40;
    *end = *start + 4;
    return true;
  };
  return result;
}

// A function of five arguments: 1 when the filter matches, 0 when not, 2 when a register changed.
class Caller {
 public:
  static constexpr uint64_t kRax = 0x1122334455667788, kR11 = 0x99aabbccddeeff00;
  explicit Caller(const std::vector<RegisterTest>& tests) : out_(make_emitter(kSize)) {
    Label reject, changed;
    out_->set(kRaxReg, kRax);
    out_->set(kR11Reg, kR11);
    out_->move(kR10Reg, reg::kArgument[0]);
    const Sequence none;  // no test is of a text
    const Label unknown;
    emit_register_tests(*out_, tests, reject, {none, unknown});
    check(changed);
    answer(1);
    out_->bind(reject);
    check(changed);
    answer(0);
    out_->bind(changed);
    answer(2);
    const GeneratedCode code = out_->take();
    std::copy(code.bytes.begin(), code.bytes.end(), page_);
    mprotect(page_, kSize, PROT_READ | PROT_EXEC);
  }
  ~Caller() { munmap(page_, kSize); }
  bool is_complete() const { return out_->is_complete(); }
  int call(const uint64_t* arg) const {
    auto function =
        reinterpret_cast<int (*)(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t)>(page_);
    return function(arg[0], arg[1], arg[2], arg[3], arg[4]);
  }

 private:
  static constexpr size_t kSize = 65536;
  static constexpr Reg kRaxReg{0}, kR10Reg{10}, kR11Reg{11};
  static uint8_t* page() {
    return static_cast<uint8_t*>(
        mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  }
  void answer(uint64_t value) {
    out_->set(reg::kResult, value);
    out_->return_to_caller();
  }
  void check(const Label& changed) {
    const auto jump_if_not = [&](Reg reg) {
      out_->apply(Op::kCompare, reg, kR10Reg);
      out_->jump_if(JumpCondition::kNotEqual, changed);
    };
    jump_if_not(reg::kArgument[0]);
    out_->set(kR10Reg, kRax);
    jump_if_not(kRaxReg);
    out_->set(kR10Reg, kR11);
    jump_if_not(kR11Reg);
  }

  std::unique_ptr<Emitter> out_;
  uint8_t* page_ = page();
};

class RegisterFilter : public ::testing::Test {
 protected:
  std::string pred() {
    static const char* const kNames[] = {"a", "b", "c", "d", "e"};
    static const char* const kOps[] = {"==", "!=", "<", "<=", ">", ">=", "&"};
    static const char* const kValues[] = {"0", "1", "2", "3", "127", "0x1000000000", "0x7fffffff"};
    static const char* const kFunctions[] = {"d.function == low", "e.function != low",
                                             "d.function == high", "__parent_ip != 0"};
    static const char* const kReals[] = {"0", "-0", "1.5", "-1.5", "inf", "-inf"};
    if (random_() % 6 == 0) return kFunctions[random_() % 4];
    if (random_() % 4 == 0)
      return (random_() % 2 ? "f" : "g") + std::string(kOps[random_() % 6]) + kReals[random_() % 6];
    return std::string(kNames[random_() % 5]) + kOps[random_() % 7] + kValues[random_() % 7];
  }
  std::string expression(int depth) {
    if (depth > 3) return pred();
    std::string text = random_() % 4 ? "(" : "!(";
    text += expression(depth + 1);
    for (auto n = random_() % 3; n; n--)
      text += (random_() % 2 ? "&&" : "||") + expression(depth + 1);
    return text + ")";
  }
  uint64_t argument() {
    static const uint64_t kValues[] = {0, 1, 2, 3, ~0ull, ~2ull, 127, 128, 0x1000000000, 0x7fffffff,
                                       0x80000000, 0xff00, 1ull << 63,
                                       // 1.5, inf, -inf and NaNs, as double and as float
                                       0x3ff8ull << 48, 0x7ff0ull << 48, 0xfff0ull << 48,
                                       0x7ff8ull << 48, 0xfff8ull << 48, 0x3fc00000, 0x7f800000,
                                       0xff800000, 0x7fc00000, 0xffc00000};
    return kValues[random_() % 23];
  }
  const uint64_t seed_ = uint64_t(std::time(nullptr));
  std::mt19937_64 random_{seed_};
  Fetch fetch_;
};

TEST_F(RegisterFilter, AgreesWithTheRecord) {
  int matched = 0;
  for (int i = 0; i < 2000; i++) {
    if (i == 1500) fetch_.take_from_registers();
    const std::string text = expression(i % 1000 < 500 ? 4 : 1);
    FilterResult filter = compile_filter(text, context());
    ASSERT_FALSE(filter.error) << text << filter.error->text;
    auto tests = filter_register_tests(*filter.program, fetch_.program());
    ASSERT_EQ(tests.size(), filter.program->nr_insns) << text;
    Caller caller(tests);
    ASSERT_TRUE(caller.is_complete()) << text;
    for (int n = 0; n < 30; n++) {
      FetchRegisters registers = {};
      for (uint64_t& arg : registers.arg) arg = argument();
      registers.reg[0] = Caller::kRax;
      registers.reg[11] = Caller::kR11;
      registers.reg[6] = registers.arg[1];
      registers.reg[1] = registers.arg[3];
      registers.reg[8] = registers.arg[4];
      alignas(8) uint8_t record[48] = {};
      record[8] = 1;  // a caller
      const uint32_t size = fetch_run(&fetch_.program(), &registers, nullptr, record);
      const bool expected = filter_interpret(filter.program.get(), record, size);
      ASSERT_EQ(caller.call(registers.arg), int(expected)) << "seed " << seed_ << ": " << text;
      matched += expected;
    }
  }
  EXPECT_GT(matched, 1000);
}

TEST_F(RegisterFilter, WhatIsNoRegisterIsRefused) {
  for (const char* text : {"common_pid == 1", "CPU == 1", "a == 1 && COMM == x", "c & CPUS{1-2}"}) {
    FilterResult filter = compile_filter(text, context());
    ASSERT_FALSE(filter.error) << text;
    EXPECT_TRUE(filter_register_tests(*filter.program, fetch_.program()).empty()) << text;
  }
  FilterResult filter = compile_filter("a == 1", context());
  EXPECT_EQ(filter_register_tests(*filter.program, fetch_.program()).size(), 1u);
  fetch_.add(FetchOp::kDeref, 0, 0, 0, 0);
  fetch_.add(FetchOp::kStore, 0, 8, 48, 0);
  EXPECT_EQ(filter_register_tests(*filter.program, fetch_.program()).size(), 1u);
  // Where there is no call.
  fetch_.program().head = RecordHead::kEvent;
  EXPECT_TRUE(filter_register_tests(*filter.program, fetch_.program()).empty());
}

TEST_F(RegisterFilter, WhatWasFollowedIsNoRegister) {
  fetch_.program().nr_insns = 1;
  fetch_.add(FetchOp::kDeref, 0, 0, 0, 0);
  fetch_.add(FetchOp::kStore, 0, 1, 24, 0);
  FilterResult filter = compile_filter("a == 1", context());
  EXPECT_TRUE(filter_register_tests(*filter.program, fetch_.program()).empty());
}

}  // namespace
}  // namespace patchbay
