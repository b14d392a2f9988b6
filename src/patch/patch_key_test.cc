// SPDX-License-Identifier: MIT
//
// Keys: nops of static events that become jumps and nops again, alone, by the thousand, and while
// threads run over them. The sites are made with <patchbay/trace_event.h>, as programs make them.
#include <gtest/gtest.h>
#include <patchbay/trace_event.h>
#include <signal.h>
#include <ucontext.h>

#include <atomic>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "patch/patcher.h"

PB_TRACE_EVENT(patch_test, key_passed, PB_FIELDS(PB_FIELD(uint64_t, value), PB_STRING(text)));

// Returns how many of its 2,000 nops are jumps.
extern "C" uint64_t count_keys();
extern "C" const patchbay_site thousand_keys[];
__asm__(R"(
  .pushsection .data.rel.local, "aw", @progbits
  .balign 16
  thousand_keys:
  .popsection
  .text
  .globl count_keys
  .type count_keys, @function
  count_keys:
  xor %eax, %eax
  .rept 2000
  1: .byte 0x0f, 0x1f, 0x44, 0x00, 0x00
  2:
  .pushsection .text.taken_keys, "ax", @progbits
  3: inc %rax
  jmp 2b
  .popsection
  .pushsection .data.rel.local, "aw", @progbits
  .quad 1b, 3b, 0
  .popsection
  .endr
  ret
  .size count_keys, . - count_keys
)");

// Functions whose first instructions are a key's nop, or hold one. (n, 0) is 100 * n, plus 1 while
// the key is on. shared_keys are their sites.
#define SHARED_FUNCTIONS(F) \
  F(key_first) F(key_behind_endbr) F(key_behind_push) F(key_behind_mov) F(key_in_sled)
#define DECLARE(name) extern "C" uint64_t name(uint64_t n, uint64_t zero);
SHARED_FUNCTIONS(DECLARE)
extern "C" const patchbay_site shared_keys[];
__asm__(R"(
  .pushsection .data.rel.local, "aw", @progbits
  .balign 16
  shared_keys:
  .popsection
  .macro shared_function name, first="", second="", last=""
  .text
  .p2align 4
  .globl \name
  .type \name, @function
  \name:
  .cfi_startproc
  \first
  \second
  1: .byte 0x0f, 0x1f, 0x44, 0x00, 0x00
  2: imul $100, %rdi, %rax
  add %rsi, %rax
  \last
  ret
  .cfi_endproc
  .size \name, . - \name
  .pushsection .text.taken_keys, "ax", @progbits
  3: inc %rsi
  jmp 2b
  .popsection
  .pushsection .data.rel.local, "aw", @progbits
  .quad 1b, 3b, 0
  .popsection
  .endm
  shared_function key_first
  shared_function key_behind_endbr, endbr64
  shared_function key_behind_push, "push %rbx", "", "pop %rbx"
  shared_function key_behind_mov, "mov %rdi, %rcx"
  shared_function key_in_sled, nop, nop
  .p2align 4
)");

namespace patchbay {
namespace {

std::atomic<uint64_t> g_hits{0}, g_sum{0};

void on_hit(patchbay_event*, void* record, uint32_t size) {
  uint64_t value;
  std::memcpy(&value, static_cast<char*>(record) + 8, sizeof value);
  g_hits += size >= 24;
  g_sum += value;
}

void on_trap(int, siginfo_t*, void* context) {
  auto& rip = static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_RIP];
  const uint64_t target = patch_trap_target(static_cast<uint64_t>(rip) - 1);
  if (!target) _exit(99);
  rip = static_cast<greg_t>(target);
}

__attribute__((noinline)) uint64_t pass(uint64_t value) {
  PB_TRACE(key_passed, value, "on its way");
  return value * 3;
}

uint64_t address_of(const void* pointer) { return reinterpret_cast<uint64_t>(pointer); }

class KeyTest : public ::testing::Test {
 protected:
  void SetUp() override {
    struct sigaction action = {};
    action.sa_sigaction = on_trap;
    action.sa_flags = SA_SIGINFO | SA_NODEFER;
    sigaction(SIGTRAP, &action, nullptr);
    pb_i_event_key_passed.hit = on_hit;
    g_hits = g_sum = 0;
  }
  PatchReport change(std::span<const patchbay_site> sites, bool on, bool single = false) {
    std::vector<SiteChange> changes;
    for (const patchbay_site& site : sites) {
      SiteChange& added = changes.emplace_back();
      added.plan = patcher_->plan_key(address_of(site.address), address_of(site.target));
      if (on) added.prologue = [](uint8_t*, size_t, uint64_t) -> size_t { return 0; };
    }
    auto report = patcher_->apply(changes, single);
    EXPECT_TRUE(report.ok());
    return *report;
  }
  std::unique_ptr<Patcher> patcher_ = make_patcher();
};

std::span<const patchbay_site> own_sites() {
  return {__start_patchbay_sites, __stop_patchbay_sites};
}

TEST_F(KeyTest, AKeyJumpsToItsBlockAndIsItsNopAgain) {
  ASSERT_GE(own_sites().size(), 1u);
  const patchbay_site& site = own_sites()[0];
  uint8_t before[5];
  std::memcpy(before, site.address, 5);
  EXPECT_EQ(pass(1), 3u);
  EXPECT_EQ(g_hits, 0u);
  for (bool single : {false, true}) {
    g_hits = g_sum = 0;
    EXPECT_EQ(change(own_sites(), true, single).applied, own_sites().size());
    EXPECT_EQ(pass(5), 15u);
    EXPECT_EQ(pass(6), 18u);
    EXPECT_EQ(g_hits, 2u);
    EXPECT_EQ(g_sum, 11u);
    EXPECT_EQ(patcher_->patched_sites(), own_sites().size());
    EXPECT_EQ(change(own_sites(), false, single).applied, own_sites().size());
    EXPECT_EQ(pass(7), 21u);
    EXPECT_EQ(g_hits, 2u);
    EXPECT_EQ(std::memcmp(before, site.address, 5), 0);
    EXPECT_EQ(patcher_->patched_sites(), 0u);
  }
}

TEST_F(KeyTest, TwoThousandKeysAtOnce) {
  const std::span<const patchbay_site> keys(thousand_keys, 2000);
  EXPECT_EQ(count_keys(), 0u);
  EXPECT_EQ(change(keys, true).applied, 2000u);
  EXPECT_EQ(count_keys(), 2000u);
  EXPECT_EQ(change(keys.subspan(500), false).applied, 1500u);
  EXPECT_EQ(count_keys(), 500u);
  change(keys, false);
  EXPECT_EQ(count_keys(), 0u);
}

TEST_F(KeyTest, ThreadsRunOverKeysThatChange) {
  std::atomic<bool> stop{false};
  std::atomic<uint64_t> passes{0}, wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; t++) {
    threads.emplace_back([&] {
      for (uint64_t i = 0; !stop; i++) {
        if (pass(i) != i * 3 || count_keys() > 2000) wrong++;
        passes++;
      }
    });
  }
  const std::span<const patchbay_site> keys(thousand_keys, 2000);
  for (int i = 0; i < 60 || g_hits == 0; i++) {
    change(own_sites(), true);
    change(keys, true);
    const uint64_t seen = passes;
    while (passes < seen + 8) std::this_thread::yield();
    change(keys, false);
    change(own_sites(), false);
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0u);
  EXPECT_GT(g_hits, 0u);
  EXPECT_LT(g_hits, passes);
  EXPECT_EQ(count_keys(), 0u);
}

TEST_F(KeyTest, OtherBytesAndFarTargetsAreRefused) {
  const uint64_t behind = address_of(own_sites()[0].address) + 1;
  const SitePlan wrong = patcher_->plan_key(behind, behind + 64);
  EXPECT_EQ(wrong.kind, SiteKind::kRefused);
  EXPECT_NE(wrong.reason.find("expected 0f 1f 44 00 00, found 1f 44 00 00"), std::string::npos)
      << wrong.reason;
  const uint64_t nop = behind - 1;
  EXPECT_EQ(patcher_->plan_key(nop, nop + (uint64_t{1} << 40)).kind, SiteKind::kRefused);
  EXPECT_STREQ(site_kind_name(patcher_->plan_key(nop, nop + 64).kind), "key");
}

// --- a key among the instructions that a probe displaces

std::atomic<uint64_t> g_probe_hits{0};

// pushfq; push rax; mov rax, &g_probe_hits; lock inc qword [rax]; pop rax; popfq
size_t count_probe(uint8_t* out, size_t, uint64_t) {
  static const uint8_t kHead[] = {0x9c, 0x50, 0x48, 0xb8};
  static const uint8_t kTail[] = {0xf0, 0x48, 0xff, 0x00, 0x58, 0x9d};
  const uint64_t counter = address_of(&g_probe_hits);
  std::memcpy(out, kHead, 4);
  std::memcpy(out + 4, &counter, 8);
  std::memcpy(out + 12, kTail, 6);
  return 18;
}

struct Shared {
  const char* name;
  uint64_t (*function)(uint64_t, uint64_t);
  SitePlan probe;
  bool probe_on = false, key_on = false;
};

class SharedKeyTest : public KeyTest {
 protected:
  void SetUp() override {
    KeyTest::SetUp();
    symbols_ = make_self_symbol_table();
    symbols_->refresh();
#define ADD(name) shared_.push_back({#name, name, entry_of(#name)});
    SHARED_FUNCTIONS(ADD)
  }
  SitePlan entry_of(const char* name) {
    auto found = symbols_->resolve(name);
    EXPECT_TRUE(found.ok() && found->size() == 1) << name;
    SitePlan plan = patcher_->plan(*(*found)[0].module, (*found)[0].symbol);
    EXPECT_NE(plan.kind, SiteKind::kRefused) << name << ": " << plan.reason;
    return plan;
  }
  SitePlan key_of(size_t i) {
    return patcher_->plan_key(address_of(shared_keys[i].address),
                              address_of(shared_keys[i].target));
  }
  SitePlan insn_at_key(size_t i) {
    auto found = symbols_->resolve(shared_[i].name);
    return patcher_->plan_insn(*(*found)[0].module, address_of(shared_keys[i].address));
  }
  void set(const SitePlan& plan, bool on, bool single) {
    SiteChange change{plan, {}};
    if (on) change.prologue = count_probe;
    auto report = patcher_->apply({&change, 1}, single);
    ASSERT_TRUE(report.ok());
    for (const auto& [index, reason] : report->refusals) ADD_FAILURE() << reason;
  }
  void set_probe(Shared& shared, bool on, bool single = false) {
    set(shared.probe, on, single);
    shared.probe_on = on;
  }
  void set_key(size_t i, bool on, bool single = false) {
    set(key_of(i), on, single);
    shared_[i].key_on = on;
  }
  void check(const char* when) {
    for (const Shared& shared : shared_) {
      g_probe_hits = 0;
      EXPECT_EQ(shared.function(7, 0), 700u + shared.key_on) << shared.name << when;
      EXPECT_EQ(g_probe_hits, shared.probe_on ? 1u : 0u) << shared.name << when;
    }
  }
  void all_off() {
    for (size_t i = 0; i < shared_.size(); i++) set_probe(shared_[i], false);
    for (size_t i = 0; i < shared_.size(); i++) set_key(i, false);
  }
  std::unique_ptr<SymbolTable> symbols_;
  std::vector<Shared> shared_;
};

TEST_F(SharedKeyTest, ProbeAndKeyWorkAtOnceInEitherOrder) {
  std::vector<std::string> before;
  for (const Shared& shared : shared_)
    before.emplace_back(reinterpret_cast<const char*>(shared.function), 24);
  check(" at first");
  for (bool single : {false, true}) {
    // Every sequence of four out of: probe off, probe on, key off, key on.
    for (int steps = 0; steps < 256; steps++) {
      for (int step = 0; step < 4; step++) {
        const int what = steps >> (2 * step) & 3;
        for (size_t i = 0; i < shared_.size(); i++) {
          if (what < 2)
            set_probe(shared_[i], what == 1, single);
          else
            set_key(i, what == 3, single);
        }
        check((" after " + std::to_string(steps) + "/" + std::to_string(step)).c_str());
      }
      if (HasFailure()) return;
    }
    all_off();
    EXPECT_EQ(patcher_->patched_sites(), 0u);
    for (size_t i = 0; i < shared_.size(); i++)
      EXPECT_EQ(std::memcmp(before[i].data(), reinterpret_cast<void*>(shared_[i].function), 24), 0)
          << shared_[i].name;
  }
}

// A probe at the nop's own address, as a jump and as an int3.
TEST_F(SharedKeyTest, AProbeStandsOnTheNop) {
  for (bool optimized : {true, false}) {
    patcher_->set_optimization(optimized);
    for (size_t i = 0; i < shared_.size(); i++) {
      Shared& shared = shared_[i];
      const SitePlan at_entry = shared.probe;
      for (bool key_first : {true, false}) {
        if (key_first) set_key(i, true);
        shared.probe = insn_at_key(i);
        EXPECT_EQ(shared.probe.kind, optimized ? SiteKind::kProbeJump : SiteKind::kProbeTrap);
        set_probe(shared, true);
        if (!key_first) set_key(i, true);
        check(" both on");
        set_key(i, false);
        check(" the probe on");
        set_key(i, true);
        EXPECT_EQ(patcher_->active_kind(shared.probe.patch_address), shared.probe.kind);
        set_probe(shared, false);
        EXPECT_EQ(patcher_->active_kind(shared.probe.patch_address), SiteKind::kKey);
        check(" the key on");
        set_key(i, false);
        check(" all off");
      }
      shared.probe = at_entry;
    }
  }
  patcher_->set_optimization(true);
  EXPECT_EQ(patcher_->patched_sites(), 0u);
}

TEST_F(SharedKeyTest, ThreadsRunOverBothWhileTheyChange) {
  std::atomic<bool> stop{false};
  std::atomic<uint64_t> rounds{0}, wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; t++) {
    threads.emplace_back([&] {
      for (uint64_t n = 1; !stop; n++) {
        for (const Shared& shared : shared_) wrong += shared.function(n, 0) / 2 != n * 50;
        rounds++;
      }
    });
  }
  uint32_t random = 12345;
  for (int i = 0; i < 200; i++) {
    random = random * 1664525 + 1013904223;
    const size_t which = (random >> 8) % shared_.size();
    if (random >> 31)
      set_key(which, !shared_[which].key_on);
    else
      set_probe(shared_[which], !shared_[which].probe_on);
    const uint64_t seen = rounds;
    while (rounds < seen + 2) std::this_thread::yield();
  }
  all_off();
  stop = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0u);
  check(" at the end");
}

}  // namespace
}  // namespace patchbay
