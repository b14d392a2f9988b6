// SPDX-License-Identifier: MIT
//
// Probes on every instruction of the functions of insn_cases_test.cc: one at a time, all at once,
// in pairs and in both orders, by jump and by int3. Each run is compared with one without probes:
// all registers, flags, vector and x87 state and memory; the hits with what single-stepping counts.

#include <gtest/gtest.h>
#include <signal.h>
#include <ucontext.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <deque>
#include <map>
#include <random>
#include <thread>

#include "arch/x86_64/decoder.h"
#include "base/text.h"
#include "patch/insn_cases_test.h"
#include "patch/patcher.h"
#include "patch/stub_views.h"

namespace patchbay {
namespace {

struct alignas(64) CpuState {
  uint64_t gpr[15] = {};  // rax rcx rdx rbx rbp rsi rdi r8 … r15
  uint64_t flags = 0x202;
  uint8_t fx[512] = {};
  uint8_t ymm[4][32] = {};
};

constexpr size_t kMemory = 256;

// Loads the registers and flags of `in`, calls, and stores all state in `out`.
extern "C" void insn_run(const CpuState* in, CpuState* out, void (*function)());
__asm__(R"(
.text
.p2align 4
.globl insn_run
.type insn_run, @function
insn_run:
  push %rbx
  push %rbp
  push %r12
  push %r13
  push %r14
  push %r15
  sub $8, %rsp
  push %rsi
  push %rdx
  push $0x1f80
  ldmxcsr (%rsp)
  add $8, %rsp
  fninit
  vzeroall
  vmovdqu 640(%rdi), %ymm0
  vmovdqu 672(%rdi), %ymm1
  vmovdqu 704(%rdi), %ymm2
  vmovdqu 736(%rdi), %ymm3
  mov %rdi, %rax
  push 120(%rax)
  popfq
  mov 8(%rax), %rcx
  mov 16(%rax), %rdx
  mov 24(%rax), %rbx
  mov 32(%rax), %rbp
  mov 40(%rax), %rsi
  mov 48(%rax), %rdi
  mov 56(%rax), %r8
  mov 64(%rax), %r9
  mov 72(%rax), %r10
  mov 80(%rax), %r11
  mov 88(%rax), %r12
  mov 96(%rax), %r13
  mov 104(%rax), %r14
  mov 112(%rax), %r15
  mov (%rax), %rax
  call *(%rsp)
  pushfq
  push %rax
  mov 24(%rsp), %rax
  mov %rcx, 8(%rax)
  mov %rdx, 16(%rax)
  mov %rbx, 24(%rax)
  mov %rbp, 32(%rax)
  mov %rsi, 40(%rax)
  mov %rdi, 48(%rax)
  mov %r8, 56(%rax)
  mov %r9, 64(%rax)
  mov %r10, 72(%rax)
  mov %r11, 80(%rax)
  mov %r12, 88(%rax)
  mov %r13, 96(%rax)
  mov %r14, 104(%rax)
  mov %r15, 112(%rax)
  pop %rcx
  mov %rcx, (%rax)
  pop %rcx
  mov %rcx, 120(%rax)
  fxsave64 128(%rax)
  vmovdqu %ymm0, 640(%rax)
  vmovdqu %ymm1, 672(%rax)
  vmovdqu %ymm2, 704(%rax)
  vmovdqu %ymm3, 736(%rax)
  vzeroupper
  fninit
  push $0x202
  popfq
  add $24, %rsp
  pop %r15
  pop %r14
  pop %r13
  pop %r12
  pop %rbp
  pop %rbx
  ret
.size insn_run, . - insn_run
)");

// --- signals: int3 of ours, single steps, and the program's own faults

std::map<uint64_t, uint64_t> g_steps;
bool g_stepping = false;
uint64_t g_fault_at = 0;  // what the program's handler was shown

void on_trap(int, siginfo_t*, void* context) {
  auto& rip = static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_RIP];
  if (g_stepping) {
    g_steps[uint64_t(rip)]++;
    return;
  }
  const uint64_t target = patch_trap_target(static_cast<uint64_t>(rip) - 1);
  if (!target) _exit(99);
  rip = static_cast<greg_t>(target);
}

// A program's handler that skips the instruction, behind what the agent's does.
void on_fault(int, siginfo_t*, void* context) {
  auto& rip = static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_RIP];
  const uint64_t original = patch_original_ip(static_cast<uint64_t>(rip));
  g_fault_at = original ? original : static_cast<uint64_t>(rip);
  uint8_t length = 0;
  const uint8_t* code = reinterpret_cast<const uint8_t*>(rip);
  Insn insn;
  if (!decode_insn(code, kMaxInsnLength, 0, &insn)) _exit(98);
  length = insn.length;
  rip = static_cast<greg_t>(patch_resume_ip(g_fault_at + length));
}

struct Outcome {
  CpuState state;
  std::string memory;
  uint64_t fault_at = 0;
};

// Not compared: where the last x87 instruction stood (fnstenv shows the stub), the reserved rest,
// and the flags that are reserved.
bool same(const Outcome& a, const Outcome& b) {
  constexpr size_t kFop = 6, kDataPointer = 16, kReserved = 416;
  return std::memcmp(a.state.gpr, b.state.gpr, sizeof a.state.gpr) == 0 &&
         a.state.flags == b.state.flags && std::memcmp(a.state.fx, b.state.fx, kFop) == 0 &&
         std::memcmp(a.state.fx + kDataPointer, b.state.fx + kDataPointer,
                     kReserved - kDataPointer) == 0 &&
         std::memcmp(a.state.ymm, b.state.ymm, sizeof a.state.ymm) == 0 && a.memory == b.memory &&
         a.fault_at == b.fault_at;
}

struct Probe {
  SitePlan plan;
  uint64_t hits = 0;
};

void append(uint8_t** out, std::initializer_list<uint8_t> bytes) {
  *out = std::copy(bytes.begin(), bytes.end(), *out);
}

// What emit_probe has to keep is kept, and all that may be touched is: below the red zone.
StubPrologue counting(uint64_t* counter) {
  return [counter](uint8_t* out, size_t, uint64_t) -> size_t {
    uint8_t* at = out;
    append(&at, {0x48, 0x8d, 0x64, 0x24, 0x80});  // lea -128(%rsp), %rsp
    append(&at, {0x9c, 0x50, 0x48, 0xb8});        // pushfq; push %rax; mov $counter, %rax
    std::memcpy(at, &counter, 8);
    at += 8;
    append(&at, {0x48, 0xff, 0x00, 0x48, 0x31, 0xc0});  // incq (%rax); xor %rax, %rax
    append(&at, {0x58, 0x9d});                          // pop %rax; popfq
    append(&at, {0x48, 0x8d, 0xa4, 0x24, 0x80, 0, 0, 0});
    return size_t(at - out);
  };
}

class InsnTest : public ::testing::Test {
 protected:
  void SetUp() override {
    struct sigaction action = {};
    action.sa_flags = SA_SIGINFO | SA_NODEFER;
    action.sa_sigaction = on_trap;
    sigaction(SIGTRAP, &action, nullptr);
    symbols_->refresh();
    module_ = symbols_->modules().at(0);
  }
  void TearDown() override { EXPECT_EQ(patcher_->patched_sites(), 0u); }

  // Only while the functions run: another fault is a failure of the test.
  static void skip_faults(bool skip) {
    struct sigaction action = {};
    action.sa_flags = SA_SIGINFO | SA_NODEFER;
    action.sa_sigaction = on_fault;
    if (!skip) action = {};
    for (int sig : {SIGFPE, SIGSEGV, SIGILL}) sigaction(sig, &action, nullptr);
  }
  static Outcome run(void (*function)(), uint64_t a, uint64_t b, uint64_t c, bool step = false) {
    static CpuState in, out;
    alignas(64) static uint8_t memory[kMemory];
    for (size_t i = 0; i < kMemory; i++) memory[i] = uint8_t(i * 7 + 1);
    in = CpuState{};
    for (size_t i = 0; i < 15; i++) in.gpr[i] = 0x0101010101010101 * (i + 1);
    std::memset(in.ymm, 0x3f, sizeof in.ymm);
    in.gpr[6] = a;
    in.gpr[5] = b;
    in.gpr[1] = c;
    in.gpr[13] = reinterpret_cast<uint64_t>(&insn_callee);
    in.gpr[14] = reinterpret_cast<uint64_t>(memory);
    in.flags = step ? 0x302 : 0x202;
    g_fault_at = 0;
    g_stepping = step;
    insn_run(&in, &out, function);
    g_stepping = false;
    return {out, std::string(reinterpret_cast<char*>(memory), kMemory), g_fault_at};
  }
  static std::vector<Outcome> run_all(void (*function)(), bool step = false) {
    std::vector<Outcome> outcomes;
    skip_faults(true);
    for (uint64_t a : {0ull, 1ull, 2ull, 7ull})
      for (uint64_t b : {0ull, 5ull, ~0ull})
        for (uint64_t c : {0ull, 2ull}) outcomes.push_back(run(function, a, b, c, step));
    skip_faults(false);
    return outcomes;
  }

  std::vector<uint64_t> instructions(void (*function)()) {
    SymbolizedAddress where;
    const auto start = reinterpret_cast<uint64_t>(function);
    EXPECT_TRUE(symbols_->symbolize(start, &where));
    EXPECT_EQ(where.start, start);
    std::vector<uint64_t> all;
    for (uint64_t at = start; at < start + where.size;) {
      Insn insn;
      const auto code = module_->original_code(at, start + where.size - at);
      if (!decode_insn(reinterpret_cast<const uint8_t*>(code.data()), code.size(), at, &insn)) {
        ADD_FAILURE() << where.name;
        break;
      }
      all.push_back(at);
      at += insn.length;
    }
    return all;
  }
  SitePlan plan(uint64_t address, bool as_trap) {
    SitePlan plan = patcher_->plan_insn(*module_, address);
    if (!as_trap || plan.kind == SiteKind::kRefused) return plan;
    Insn first;
    EXPECT_TRUE(decode_insn(plan.original.data(), kMaxDisplaced, address, &first));
    plan.kind = SiteKind::kProbeTrap;
    plan.displaced = first.length;
    plan.boundary_count = 1;
    return plan;
  }
  void apply(std::vector<SiteChange> changes) {
    auto report = patcher_->apply(changes, false);
    ASSERT_TRUE(report.ok());
    for (const auto& [index, reason] : report->refusals) ADD_FAILURE() << reason;
  }
  void on(Probe* probe) { apply({{probe->plan, counting(&probe->hits)}}); }
  void off(const Probe& probe) { apply({{probe.plan, {}}}); }

  void expect_same(const std::vector<Outcome>& now, const std::vector<Outcome>& plain) {
    ASSERT_EQ(now.size(), plain.size());
    for (size_t i = 0; i < now.size(); i++) {
      EXPECT_TRUE(same(now[i], plain[i])) << "run " << i;
      for (size_t r = 0; r < 15; r++)
        EXPECT_EQ(now[i].state.gpr[r], plain[i].state.gpr[r]) << "run " << i << " register " << r;
      EXPECT_EQ(now[i].state.flags, plain[i].state.flags) << "run " << i;
    }
  }
  void each_alone(const InsnCase& c, bool as_trap);
  void all_at_once(const InsnCase& c, bool as_trap);

  std::unique_ptr<SymbolTable> symbols_ = make_self_symbol_table();
  std::unique_ptr<Patcher> patcher_ = make_patcher();
  Module* module_ = nullptr;
  std::map<std::string, uint64_t> kinds_;
};

// Behind a short function may stand what the sanitizer guards.
__attribute__((no_sanitize("address"))) std::string bytes_at(uint64_t address, size_t size = 64) {
  std::string bytes;
  for (size_t i = 0; i < size; i++) bytes += reinterpret_cast<const char*>(address)[i];
  return bytes;
}

void InsnTest::each_alone(const InsnCase& c, bool as_trap) {
  const auto function = as_trap ? c.trap : c.jump;
  const std::vector<Outcome> plain = run_all(function);
  const std::string before = bytes_at(reinterpret_cast<uint64_t>(function));
  g_steps.clear();
  run_all(function, true);
  std::map<uint64_t, uint64_t> steps = g_steps;
  // From the last to the first: no stub ends in the bytes of the next jump.
  std::vector<uint64_t> all = instructions(function);
  std::reverse(all.begin(), all.end());
  for (uint64_t address : all) {
    SCOPED_TRACE(std::string(c.name) + "+" +
                 std::to_string(address - reinterpret_cast<uint64_t>(function)));
    Probe probe{plan(address, as_trap), 0};
    ASSERT_NE(probe.plan.kind, SiteKind::kRefused) << probe.plan.reason;
    on(&probe);
    kinds_[site_kind_name(patcher_->active_kind(address))]++;
    // An int3 behind a branch's target may have left a stub that ends there.
    const SiteKind active = patcher_->active_kind(address);
    EXPECT_TRUE(active == probe.plan.kind || active == SiteKind::kProbeTrap);
    expect_same(run_all(function), plain);
    if (c.counted) {
      EXPECT_EQ(probe.hits, steps[address]);
    }
    off(probe);
    EXPECT_EQ(patcher_->active_kind(address), SiteKind::kRefused);
    EXPECT_EQ(bytes_at(reinterpret_cast<uint64_t>(function)), before);
  }
}

void InsnTest::all_at_once(const InsnCase& c, bool as_trap) {
  SCOPED_TRACE(c.name);
  const auto function = as_trap ? c.trap : c.all;
  const std::vector<Outcome> plain = run_all(function);
  const std::string before = bytes_at(reinterpret_cast<uint64_t>(function));
  g_steps.clear();
  run_all(function, true);
  std::map<uint64_t, uint64_t> steps = g_steps;
  std::deque<Probe> probes;
  std::vector<SiteChange> all;
  for (uint64_t address : instructions(function)) {
    probes.push_back({plan(address, as_trap), 0});
    all.push_back({probes.back().plan, counting(&probes.back().hits)});
  }
  auto report = patcher_->apply(all, false);
  ASSERT_TRUE(report.ok());
  for (const auto& [index, reason] : report->refusals)
    EXPECT_NE(reason.find("unused bytes"), std::string::npos) << reason;
  expect_same(run_all(function), plain);
  for (const Probe& probe : probes) {
    const uint64_t address = probe.plan.patch_address;
    const bool is_on = patcher_->active_kind(address) != SiteKind::kRefused;
    if (c.counted && is_on) {
      EXPECT_EQ(probe.hits, steps[address]) << hex_number(address);
    }
  }
  for (SiteChange& change : all) change.prologue = nullptr;
  apply(all);
  EXPECT_EQ(bytes_at(reinterpret_cast<uint64_t>(function)), before);
}

// Signal handlers see what single steps do to code that the program changes while it runs.
TEST_F(InsnTest, EachInstructionAloneAsPlanned) {
  for (size_t i = 0; i < kInsnCaseCount; i++) each_alone(kInsnCases[i], false);
  for (const auto& [kind, n] : kinds_)
    std::printf("%s %llu\n", kind.c_str(), (unsigned long long)n);
  EXPECT_GT(kinds_["probe-jump"], kinds_["probe-int3"]);
}

TEST_F(InsnTest, EachInstructionAloneByInt3) {
  for (size_t i = 0; i < kInsnCaseCount; i++) each_alone(kInsnCases[i], true);
}

TEST_F(InsnTest, AllInstructionsAtOnce) {
  for (size_t i = 0; i < kInsnCaseCount; i++) all_at_once(kInsnCases[i], false);
  for (size_t i = 0; i < kInsnCaseCount; i++) all_at_once(kInsnCases[i], true);
}

TEST_F(InsnTest, MiddlesOfInstructionsAreNoPlaces) {
  for (size_t i = 0; i < kInsnCaseCount; i++) {
    std::vector<uint64_t> all = instructions(kInsnCases[i].jump);
    for (size_t n = 0; n + 1 < all.size(); n++) {
      for (uint64_t at = all[n] + 1; at < all[n + 1]; at++) {
        const SitePlan plan = patcher_->plan_insn(*module_, at);
        EXPECT_EQ(plan.kind, SiteKind::kRefused);
        EXPECT_TRUE(plan.not_a_boundary) << plan.reason;
      }
    }
  }
}

}  // namespace
}  // namespace patchbay

// Three places in five bytes, thrice, and one behind them.
extern "C" uint64_t overlap_once(uint64_t, uint64_t);
extern "C" uint64_t overlap_twice(uint64_t, uint64_t);
extern "C" uint64_t overlap_thrice(uint64_t, uint64_t);
extern "C" uint8_t overlap_copies[];
extern "C" uint64_t overlap_many(uint64_t, uint64_t);
__asm__(R"(
.macro overlap name
  .p2align 4
  .globl \name
  .type \name, @function
\name:
  push %rbx
  push %rsi
  mov %rdi, %rbx
  lea 1(%rbx,%rsi), %rax
  pop %rcx
  pop %rbx
  ret
  .size \name, . - \name
.endm
overlap overlap_once
overlap overlap_twice
overlap overlap_thrice
.p2align 4
.globl overlap_copies
.type overlap_copies, @function
overlap_copies:
.rept 64
  push %rbx
  push %rsi
  mov %rdi, %rbx
  lea 1(%rbx,%rsi), %rax
  pop %rcx
  pop %rbx
  ret
  .p2align 4
.endr
.size overlap_copies, . - overlap_copies
.p2align 4
.globl overlap_many
.type overlap_many, @function
overlap_many:
  mov %rdi, %rax
  .rept 127
  inc %rax
  nop
  .endr
  add %rsi, %rax
  ret
.size overlap_many, . - overlap_many
)");

namespace patchbay {
namespace {

class OverlapTest : public InsnTest {
 protected:
  // The first three instructions, and what an entry probe would be.
  void describe(uint64_t (*function)(uint64_t, uint64_t)) {
    const auto start = reinterpret_cast<uint64_t>(function);
    probes_.clear();
    for (uint64_t offset : {0, 1, 2}) probes_.push_back({plan(start + offset, false), 0});
    before_ = bytes_at(start);
    start_ = start;
  }
  void expect_hits(uint64_t (*function)(uint64_t, uint64_t), const std::vector<bool>& is_on) {
    for (Probe& probe : probes_) probe.hits = 0;
    for (uint64_t i = 0; i < 5; i++) EXPECT_EQ(function(i, 7), i + 8);
    for (size_t i = 0; i < probes_.size(); i++) {
      EXPECT_EQ(probes_[i].hits, is_on[i] ? 5u : 0u) << "probe " << i;
      const bool active = patcher_->active_kind(start_ + i) != SiteKind::kRefused;
      EXPECT_EQ(active, is_on[i]) << "probe " << i;
    }
  }
  // As in libc.
  void allow_no_trap() {
    for (Probe& probe : probes_) probe.plan.no_trap = "no int3 here";
  }
  void expect_every_order(uint64_t (*function)(uint64_t, uint64_t), bool may_trap);
  std::deque<Probe> probes_;
  std::string before_;
  uint64_t start_ = 0;
};

// Every order of three probes going on, and every order of them going off.
void OverlapTest::expect_every_order(uint64_t (*function)(uint64_t, uint64_t), bool may_trap) {
  const std::vector<std::vector<size_t>> kOrders = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                                    {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
  for (const auto& up : kOrders) {
    for (const auto& down : kOrders) {
      describe(function);
      if (!may_trap) allow_no_trap();
      ASSERT_EQ(probes_[0].plan.kind, SiteKind::kProbeJump) << probes_[0].plan.reason;
      std::vector<bool> is_on(3, false);
      for (size_t i : up) {
        SCOPED_TRACE("on " + std::to_string(i));
        on(&probes_[i]);
        is_on[i] = true;
        expect_hits(function, is_on);
      }
      EXPECT_EQ(patcher_->patched_sites(), 3u);
      for (size_t i : down) {
        SCOPED_TRACE("off " + std::to_string(i));
        off(probes_[i]);
        is_on[i] = false;
        expect_hits(function, is_on);
      }
      EXPECT_EQ(bytes_at(start_), before_);
    }
  }
}
TEST_F(OverlapTest, EveryOrderIsRight) { expect_every_order(overlap_once, true); }

// Where no int3 may be, and a former stub ends in the bytes of a jump, the former jump comes back.
TEST_F(OverlapTest, EveryOrderIsRightWithoutInt3) {
  describe(overlap_thrice);
  allow_no_trap();
  on(&probes_[0]);
  off(probes_[0]);
  EXPECT_EQ(bytes_at(start_), before_);
  EXPECT_EQ(plan(start_ + 1, false).kind, SiteKind::kProbeJump);
  on(&probes_[1]);
  EXPECT_EQ(patcher_->active_kind(start_ + 1), SiteKind::kProbeJump);
  EXPECT_EQ(bytes_at(start_, 1), "\xe9");
  expect_hits(overlap_thrice, {false, true, false});
  off(probes_[1]);
  EXPECT_EQ(bytes_at(start_), before_);
  expect_every_order(overlap_thrice, false);
}

// The first jump takes the others in; it stays until the last of them goes.
TEST_F(OverlapTest, AJumpIsHostOfWhatItDisplaces) {
  describe(overlap_twice);
  on(&probes_[2]);
  EXPECT_EQ(patcher_->active_kind(start_ + 2), SiteKind::kProbeJump) << probes_[2].plan.reason;
  on(&probes_[0]);
  on(&probes_[1]);
  for (uint64_t i : {0, 1, 2})
    EXPECT_EQ(patcher_->active_kind(start_ + i), SiteKind::kProbeJump) << i;
  off(probes_[0]);
  EXPECT_EQ(bytes_at(start_, 1), "\xe9");
  expect_hits(overlap_twice, {false, true, true});
  // One transaction that changes all of them.
  apply({{probes_[0].plan, counting(&probes_[0].hits)},
         {probes_[1].plan, {}},
         {probes_[2].plan, counting(&probes_[2].hits)}});
  expect_hits(overlap_twice, {true, false, true});
  apply({{probes_[2].plan, {}}, {probes_[0].plan, {}}});
  EXPECT_EQ(bytes_at(start_), before_);
}

// A fault in an instruction behind another probe's prologue is still shown where it belongs.
TEST_F(OverlapTest, StubAddressesOfHostedProbesAreShownAsOriginalOnes) {
  describe(overlap_twice);
  on(&probes_[0]);
  on(&probes_[2]);
  int32_t rel;
  std::memcpy(&rel, reinterpret_cast<void*>(start_ + 1), 4);
  const uint64_t stub = start_ + 5 + static_cast<uint64_t>(int64_t{rel});
  uint8_t unused[64];
  const size_t prologue = counting(&probes_[0].hits)(unused, sizeof unused, 0);
  EXPECT_EQ(patch_original_ip(stub + prologue - 1), 0u);
  EXPECT_EQ(patch_original_ip(stub + prologue), start_);
  EXPECT_EQ(patch_original_ip(stub + prologue + 1), start_ + 1);
  EXPECT_EQ(patch_original_ip(stub + prologue + 2), 0u);
  EXPECT_EQ(patch_original_ip(stub + 2 * prologue + 2), start_ + 2);
  EXPECT_EQ(patch_resume_ip(start_ + 1), stub + prologue + 1);
  EXPECT_EQ(patch_resume_ip(start_ + 2), stub + prologue + 2);
  EXPECT_EQ(patch_resume_ip(start_ + 12), start_ + 12);
  off(probes_[0]);
  off(probes_[2]);
}

TEST_F(OverlapTest, EveryInstructionOfALongFunction) {
  const auto start = reinterpret_cast<uint64_t>(&overlap_many);
  std::deque<Probe> probes;
  std::vector<SiteChange> all;
  for (uint64_t address : instructions(reinterpret_cast<void (*)()>(&overlap_many))) {
    probes.push_back({plan(address, false), 0});
    all.push_back({probes.back().plan, counting(&probes.back().hits)});
  }
  ASSERT_EQ(all.size(), 257u);
  const std::string before = bytes_at(start, 600);
  apply(all);
  EXPECT_EQ(overlap_many(1, 2), 130u);
  for (const Probe& probe : probes) EXPECT_EQ(probe.hits, 1u);
  for (SiteChange& change : all) change.prologue = nullptr;
  apply(all);
  EXPECT_EQ(bytes_at(start, 600), before);
}

// Threads run through places that overlap while these come and go; each copy of the code takes its
// places in another order, since later jumps are not what first ones are.
TEST_F(OverlapTest, TogglesUnderThreads) {
  using Copy = uint64_t (*)(uint64_t, uint64_t);
  constexpr size_t kCopies = 64;
  const auto copy = [](size_t i) { return reinterpret_cast<Copy>(overlap_copies + 16 * i); };
  std::atomic<bool> stop{false};
  std::atomic<uint64_t> wrong{0}, calls{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; i++) {
    threads.emplace_back([&] {
      for (uint64_t n = 0; !stop; n++, calls++) wrong += copy(n % kCopies)(n, 7) != n + 8;
    });
  }
  std::mt19937 random(3);
  const std::string before = bytes_at(reinterpret_cast<uint64_t>(overlap_copies), 16 * kCopies);
  for (size_t i = 0; i < kCopies; i++) {
    SCOPED_TRACE(i);
    describe(copy(i));
    if (i % 2) allow_no_trap();
    std::vector<bool> is_on(3, false);
    for (int toggle = 0; toggle < 8; toggle++) {
      const size_t which = random() % 3;
      is_on[which] ? off(probes_[which]) : on(&probes_[which]);
      is_on[which] = !is_on[which];
      if (toggle % 4 == 0) patcher_->finish_pending();
    }
    for (size_t which = 0; which < 3; which++)
      if (is_on[which]) off(probes_[which]);
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  patcher_->finish_pending();
  EXPECT_EQ(wrong, 0u);
  EXPECT_GT(calls, 0u);
  EXPECT_EQ(bytes_at(reinterpret_cast<uint64_t>(overlap_copies), 16 * kCopies), before);
}

[[gnu::noinline]] int throws_or_not(int value) {
  if (value > 2) throw value;
  return value;
}
[[gnu::noinline]] int catches(int value) {
  try {
    return throws_or_not(value) + 1;
  } catch (int caught) {
    return caught * 100;
  }
}

// No jump covers a landing pad with more than its first byte, and exceptions land all the same.
TEST_F(InsnTest, ExceptionsLandInAFunctionFullOfProbes) {
  std::vector<uint64_t> pads;
  ASSERT_TRUE(module_->landing_pads(&pads));
  const auto function = reinterpret_cast<void (*)()>(&catches);
  const auto start = reinterpret_cast<uint64_t>(function);
  std::deque<Probe> probes;
  std::vector<SiteChange> all;
  size_t inside = 0;
  for (uint64_t address : instructions(function)) {
    probes.push_back({plan(address, false), 0});
    const SitePlan& plan = probes.back().plan;
    if (plan.kind == SiteKind::kRefused) continue;
    for (uint64_t pad : pads) {
      inside += pad >= start && pad == address;
      EXPECT_FALSE(plan.kind == SiteKind::kProbeJump && pad > address && pad < address + 5);
    }
    all.push_back({plan, counting(&probes.back().hits)});
  }
  EXPECT_GE(inside, 1u);
  EXPECT_TRUE(patcher_->apply(all, false).ok());
  EXPECT_EQ(catches(1), 2);
  EXPECT_EQ(catches(7), 700);
  for (SiteChange& change : all) change.prologue = nullptr;
  apply(all);
}

TEST_F(InsnTest, PlacesOutsideOfCodeAreRefusedWithTheReason) {
  static uint64_t data;
  const SitePlan in_data = patcher_->plan_insn(*module_, reinterpret_cast<uint64_t>(&data));
  EXPECT_EQ(in_data.reason, "not in executable text");
  const SitePlan outside = patcher_->plan_insn(*module_, module_->end() + 4096);
  EXPECT_EQ(outside.reason, "outside of the module");
  for (const SitePlan* plan : {&in_data, &outside}) EXPECT_FALSE(plan->not_a_boundary);
  for (Module* module : symbols_->modules()) {
    if (module->name().find("vdso") == std::string::npos) continue;
    EXPECT_EQ(patcher_->plan_insn(*module, module->start() + 4096).reason,
              "lies in the kernel's vdso");
  }
}

}  // namespace
}  // namespace patchbay
