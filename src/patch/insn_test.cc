// SPDX-License-Identifier: MIT
//
// Probes on every instruction of the functions of insn_cases_test.cc: one at a time, all at once,
// in pairs and in both orders, by jump and by int3. Each run is compared with one without probes:
// all registers, flags, vector and x87 state and memory; the hits with what single-stepping counts.

#include <gtest/gtest.h>
#include <signal.h>
#include <ucontext.h>

#include <atomic>
#include <cstring>
#include <deque>
#include <map>
#include <random>
#include <thread>

#include "arch/x86_64/decoder.h"
#include "base/hex_number.h"
#include "patch/insn_cases_test.h"
#include "patch/patcher.h"

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
    action.sa_sigaction = on_fault;
    for (int sig : {SIGFPE, SIGSEGV, SIGILL}) sigaction(sig, &action, nullptr);
    symbols_->refresh();
    module_ = symbols_->modules().at(0);
  }
  void TearDown() override {
    EXPECT_EQ(patcher_->patched_sites(), 0u);
    for (int sig : {SIGFPE, SIGSEGV, SIGILL}) signal(sig, SIG_DFL);
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
    for (uint64_t a : {0ull, 1ull, 2ull, 7ull})
      for (uint64_t b : {0ull, 5ull, ~0ull})
        for (uint64_t c : {0ull, 2ull}) outcomes.push_back(run(function, a, b, c, step));
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

std::string bytes_at(uint64_t address, size_t size = 64) {
  return {reinterpret_cast<const char*>(address), size};
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
