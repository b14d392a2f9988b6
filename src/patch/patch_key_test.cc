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

TEST_F(KeyTest, APlaceHasOneOwner) {
  const std::span<const patchbay_site> one(thousand_keys, 1);
  change(one, true);
  SiteChange as_function;
  as_function.plan = patcher_->plan_key(address_of(one[0].address), address_of(one[0].target));
  as_function.plan.kind = SiteKind::kSled;
  as_function.prologue = [](uint8_t*, size_t, uint64_t) -> size_t { return 0; };
  auto report = patcher_->apply({&as_function, 1}, false);
  ASSERT_EQ(report->refusals.size(), 1u);
  EXPECT_NE(report->refusals[0].second.find("a static event"), std::string::npos);
  EXPECT_EQ(count_keys(), 1u);
  change(one, false);
  EXPECT_EQ(count_keys(), 0u);
}

}  // namespace
}  // namespace patchbay
