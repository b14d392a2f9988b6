// SPDX-License-Identifier: MIT
//
// The nasty functions of nasty_functions_test.cc, each run unpatched, patched as planned, and
// through int3; toggling under threads; unpatching; every function of two real libraries.

#include "patch/patcher.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <ucontext.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <map>
#include <stdexcept>
#include <thread>

#include "arch/x86_64/decoder.h"
#include "arch/x86_64/text_memory.h"
#include "patch/shadow_stack.h"
#include "patch/stub_views.h"

extern "C" {
#define NASTY(name) uint64_t nasty_##name(uint64_t, uint64_t, uint64_t, uint64_t);
NASTY(plain)
NASTY(rip_load)
NASTY(rip_imm)
NASTY(rip_lea)
NASTY(helper)
NASTY(jmp_first)
NASTY(jmp8_first)
NASTY(jcc_first)
NASTY(jcc32_first) NASTY(call_first) NASTY(call_second) NASTY(indirect_call)
    NASTY(short_indirect_call) NASTY(call_register_first) NASTY(jrcxz_first) NASTY(jecxz_first)
        NASTY(loop_first) NASTY(loopne_first) NASTY(back_into_first) NASTY(back_to_entry)
            NASTY(flags_live) NASTY(flags_behind) NASTY(back_into_last) NASTY(close) NASTY(endbr)
                NASTY(endbr_sled) NASTY(gcc_sled) NASTY(clang_sled) NASTY(mixed_sled)
                    NASTY(short_padded) NASTY(ret_only) NASTY(alias) NASTY(goto_address)
                        NASTY(goto_distance) NASTY(goto_label) NASTY(goto_named) NASTY(goto_sum)
                            NASTY(goto_cold) NASTY(goto_late) NASTY(sequence) NASTY(tight_before)
                                NASTY(tight) NASTY(tight_after) NASTY(room_before) NASTY(room)
                                    NASTY(room_after) NASTY(falls_before) NASTY(falls)
                                        NASTY(falls_after) NASTY(avx) NASTY(x87) NASTY(red_zone)
#undef NASTY
                                            double nasty_double_args(double, double);
}

namespace patchbay {
namespace {

using NastyFn = uint64_t (*)(uint64_t, uint64_t, uint64_t, uint64_t);

void on_trap(int, siginfo_t*, void* context) {
  auto& rip = static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_RIP];
  const uint64_t target = patch_trap_target(static_cast<uint64_t>(rip) - 1);
  if (!target) _exit(99);
  rip = static_cast<greg_t>(target);
}

void catch_traps() {
  struct sigaction action = {};
  action.sa_sigaction = on_trap;
  action.sa_flags = SA_SIGINFO | SA_NODEFER;
  sigaction(SIGTRAP, &action, nullptr);
}

// pushfq; push rax; mov rax, &counter; lock inc qword [rax]; pop rax; popfq
StubPrologue counting(std::atomic<uint64_t>* counter) {
  return [counter](uint8_t* out, size_t, uint64_t) -> size_t {
    static const uint8_t kHead[] = {0x9c, 0x50, 0x48, 0xb8};
    static const uint8_t kTail[] = {0xf0, 0x48, 0xff, 0x00, 0x58, 0x9d};
    std::memcpy(out, kHead, 4);
    std::memcpy(out + 4, &counter, 8);
    std::memcpy(out + 12, kTail, 6);
    return 18;
  };
}

class PatcherTest : public ::testing::Test {
 protected:
  void SetUp() override {
    catch_traps();
    symbols_ = make_self_symbol_table();
    symbols_->refresh();
    patcher_ = make_patcher();
  }

  SitePlan plan(const std::string& name) {
    auto found = symbols_->resolve(name);
    EXPECT_TRUE(found.ok()) << (found.ok() ? "" : found.error().message());
    if (!found.ok() || found->empty()) return {};
    return patcher_->plan(*(*found)[0].module, (*found)[0].symbol);
  }
  PatchReport apply(const SitePlan& plan, StubPrologue prologue, bool single_threaded = false) {
    SiteChange change{plan, std::move(prologue)};
    auto report = patcher_->apply({&change, 1}, single_threaded);
    EXPECT_TRUE(report.ok());
    for (const auto& [index, reason] : report->refusals) ADD_FAILURE() << reason;
    return *report;
  }

  std::unique_ptr<SymbolTable> symbols_;
  std::unique_ptr<Patcher> patcher_;
};

uint64_t in_its_place(uint64_t a, uint64_t b, uint64_t c, uint64_t d) { return a + b + c + d + 1; }

// Written here as the tool writes it; nobody runs the function meanwhile.
void write_hook(const EntryHook& hook, bool on) {
  TextMemory memory;
  ASSERT_TRUE(memory.write(hook.address, (on ? hook.new_bytes : hook.old_bytes).data(), 5));
  sync_all_cores();
}

TEST_F(PatcherTest, AHookLeadsElsewhereAndTheOriginalWorksBesideIt) {
  const struct {
    const char* name;
    NastyFn function;
  } table[] = {{"nasty_plain", nasty_plain},
               {"nasty_rip_load", nasty_rip_load},
               {"nasty_call_second", nasty_call_second},
               {"nasty_endbr", nasty_endbr},
               {"nasty_gcc_sled", nasty_gcc_sled},
               {"nasty_jcc_first", nasty_jcc_first}};
  for (const auto& row : table) {
    SCOPED_TRACE(row.name);
    auto found = symbols_->resolve(row.name);
    ASSERT_TRUE(found.ok() && !found->empty());
    auto hook = patcher_->make_hook(*(*found)[0].module, (*found)[0].symbol,
                                    reinterpret_cast<uint64_t>(in_its_place));
    ASSERT_TRUE(hook.ok()) << hook.error().message();
    const uint64_t before = row.function(1, 2, 3, 4);
    EXPECT_GE(hook->displaced, 5u);
    EXPECT_EQ(std::memcmp(reinterpret_cast<void*>(hook->address), hook->old_bytes.data(), 5), 0);
    const auto original = reinterpret_cast<NastyFn>(hook->original);
    EXPECT_EQ(original(1, 2, 3, 4), before);  // not written yet
    write_hook(*hook, true);
    EXPECT_EQ(row.function(1, 2, 3, 4), 11u);
    EXPECT_EQ(original(1, 2, 3, 4), before);
    write_hook(*hook, false);
    EXPECT_EQ(row.function(1, 2, 3, 4), before);
    EXPECT_EQ(original(1, 2, 3, 4), before);  // a thread may still be on its way
  }
}

TEST_F(PatcherTest, AHookIsRefusedWhereFiveBytesAreNotThere) {
  auto found = symbols_->resolve("nasty_tight");
  ASSERT_TRUE(found.ok() && !found->empty());
  auto hook = patcher_->make_hook(*(*found)[0].module, (*found)[0].symbol,
                                  reinterpret_cast<uint64_t>(in_its_place));
  ASSERT_FALSE(hook.ok());
  EXPECT_FALSE(hook.error().message().empty());
}

// int3 at the head of anything: always right.
SitePlan as_trap(SitePlan plan) {
  plan.kind = SiteKind::kTrap;
  Insn insn;
  EXPECT_TRUE(decode_insn(plan.original.data(), kMaxDisplaced, plan.patch_address, &insn));
  plan.displaced = insn.length;
  plan.boundary_count = 1;
  return plan;
}

// Alone, as planned and by int3; the third argument is the function itself, which one needs.
TEST_F(PatcherTest, IndirectJumpsIntoTheFirstBytesAreSeen) {
  const struct {
    const char* name;
    NastyFn function;
    bool is_jump;
  } table[] = {{"nasty_goto_address", nasty_goto_address, false},
               {"nasty_goto_distance", nasty_goto_distance, false},
               {"nasty_goto_label", nasty_goto_label, false},
               {"nasty_goto_named", nasty_goto_named, false},
               {"nasty_goto_sum", nasty_goto_sum, false},
               {"nasty_goto_cold", nasty_goto_cold, false},
               {"nasty_goto_late", nasty_goto_late, true}};
  for (const auto& row : table) {
    SCOPED_TRACE(row.name);
    const SitePlan site = plan(row.name);
    EXPECT_EQ(site.kind == SiteKind::kJump, row.is_jump) << site_kind_name(site.kind);
    const bool says_so = site.reason.find("an indirect jump may land") != site.reason.npos;
    EXPECT_EQ(says_so, !row.is_jump) << site.reason;
    ASSERT_NE(site.kind, SiteKind::kRefused) << site.reason;
    const auto self = reinterpret_cast<uint64_t>(row.function);
    EXPECT_EQ(row.function(3, 4, self, 0), 15u);
    std::atomic<uint64_t> hits{0};
    apply(site, counting(&hits));
    EXPECT_EQ(row.function(3, 4, self, 0), 15u);
    EXPECT_EQ(hits, 1u);
    apply(site, {});
    EXPECT_EQ(row.function(3, 4, self, 0), 15u);
  }
}

// From the instruction that tells the kernel to the last one, and the signature behind it.
TEST_F(PatcherTest, NoPlaceIsInARestartableSequence) {
  EXPECT_EQ(plan("nasty_sequence").kind, SiteKind::kJump);
  auto found = symbols_->resolve("nasty_sequence");
  ASSERT_TRUE(found.ok() && !found->empty());
  const uint64_t start = (*found)[0].symbol.address;
  const struct {
    uint64_t offset;
    bool is_refused;
  } table[] = {{0, false},  {7, true},   {11, true}, {14, true}, {15, true},
               {19, false}, {22, false}, {23, true}, {30, false}};
  for (const auto& row : table) {
    const SitePlan site = patcher_->plan_insn(*(*found)[0].module, start + row.offset);
    EXPECT_EQ(site.kind == SiteKind::kRefused, row.is_refused) << row.offset << ' ' << site.reason;
    const bool says_so = site.reason.find("restartable sequence") != site.reason.npos;
    EXPECT_EQ(says_so, row.is_refused) << row.offset << ' ' << site.reason;
  }
}

TEST_F(PatcherTest, NoCallIsMovedWhereTheProcessorKeepsAShadowStack) {
  pretend_shadow_stack(true);
  for (const char* name : {"nasty_call_first", "nasty_call_second", "nasty_indirect_call"}) {
    const SitePlan site = plan(name);
    EXPECT_TRUE(site.kind == SiteKind::kRefused || site.displaced < 5) << name;
    EXPECT_NE(site.reason.find("shadow stack"), site.reason.npos) << name << ": " << site.reason;
  }
  EXPECT_EQ(plan("nasty_plain").kind, SiteKind::kJump);
  pretend_shadow_stack(false);
  EXPECT_EQ(plan("nasty_call_first").kind, SiteKind::kJump);
}

std::string code_around(const SitePlan& site) {
  return {reinterpret_cast<const char*>(site.patch_address - 16), 48};
}

struct NastyCase {
  const char* name;
  NastyFn function;
  SiteKind kind;
  bool flags_live;
};

const NastyCase kNasty[] = {
    {"nasty_plain", nasty_plain, SiteKind::kJump, false},
    {"nasty_rip_load", nasty_rip_load, SiteKind::kJump, false},
    {"nasty_rip_imm", nasty_rip_imm, SiteKind::kJump, false},
    {"nasty_rip_lea", nasty_rip_lea, SiteKind::kJump, false},
    {"nasty_jmp_first", nasty_jmp_first, SiteKind::kJump, false},
    {"nasty_jmp8_first", nasty_jmp8_first, SiteKind::kJump, false},
    {"nasty_jcc_first", nasty_jcc_first, SiteKind::kJump, false},
    {"nasty_jcc32_first", nasty_jcc32_first, SiteKind::kJump, false},
    {"nasty_call_first", nasty_call_first, SiteKind::kJump, false},
    {"nasty_call_second", nasty_call_second, SiteKind::kJump, false},
    {"nasty_indirect_call", nasty_indirect_call, SiteKind::kJump, false},
    {"nasty_short_indirect_call", nasty_short_indirect_call, SiteKind::kJump, false},
    {"nasty_call_register_first", nasty_call_register_first, SiteKind::kShortJump, false},
    {"nasty_jrcxz_first", nasty_jrcxz_first, SiteKind::kJump, false},
    {"nasty_jecxz_first", nasty_jecxz_first, SiteKind::kJump, false},
    {"nasty_loop_first", nasty_loop_first, SiteKind::kJump, false},
    {"nasty_loopne_first", nasty_loopne_first, SiteKind::kJump, true},
    {"nasty_back_into_first", nasty_back_into_first, SiteKind::kShortJump, false},
    {"nasty_flags_live", nasty_flags_live, SiteKind::kJump, true},
    {"nasty_flags_behind", nasty_flags_behind, SiteKind::kJump, true},
    {"nasty_back_into_last", nasty_back_into_last, SiteKind::kShortJump, false},
    {"nasty_endbr", nasty_endbr, SiteKind::kJump, false},
    {"nasty_endbr_sled", nasty_endbr_sled, SiteKind::kSled, false},
    {"nasty_gcc_sled", nasty_gcc_sled, SiteKind::kSled, false},
    {"nasty_clang_sled", nasty_clang_sled, SiteKind::kSled, false},
    {"nasty_mixed_sled", nasty_mixed_sled, SiteKind::kSled, false},
    {"nasty_short_padded", nasty_short_padded, SiteKind::kJump, false},
    {"nasty_alias", nasty_alias, SiteKind::kShortJump, false},
    {"nasty_tight_before", nasty_tight_before, SiteKind::kJump, false},
    {"nasty_tight", nasty_tight, SiteKind::kTrap, false},
    {"nasty_room", nasty_room, SiteKind::kShortJump, false},
    // The jump of the function before would reach into the only room.
    {"nasty_close", nasty_close, SiteKind::kTrap, false},
    {"nasty_falls", nasty_falls, SiteKind::kShortJump, false},
    {"nasty_falls_after", nasty_falls_after, SiteKind::kJump, false},
    {"nasty_avx", nasty_avx, SiteKind::kJump, false},
    {"nasty_x87", nasty_x87, SiteKind::kJump, false},
    {"nasty_red_zone", nasty_red_zone, SiteKind::kJump, false},
};

// Results for a handful of arguments. The third argument is a function to call.
std::vector<uint64_t> results_of(NastyFn function) {
  std::vector<uint64_t> results;
  const auto callee = reinterpret_cast<uint64_t>(&nasty_helper);
  for (uint64_t a : {0ull, 1ull, 5ull, 0xffffffffull}) {
    for (uint64_t b : {0ull, 7ull, 0x100000000ull}) {
      for (uint64_t c : {0ull, 1ull, 2ull, 0x100000000ull}) {
        results.push_back(function(a, b, callee, c));
      }
    }
  }
  return results;
}

TEST_F(PatcherTest, EveryNastyFunctionDoesTheSamePatched) {
  for (const NastyCase& nasty : kNasty) {
    SCOPED_TRACE(nasty.name);
    const SitePlan site = plan(nasty.name);
    EXPECT_STREQ(site_kind_name(site.kind), site_kind_name(nasty.kind)) << site.reason;
    EXPECT_EQ(site.flags_live, nasty.flags_live);
    if (site.kind == SiteKind::kRefused) continue;
    const std::vector<uint64_t> plain = results_of(nasty.function);
    const std::string before = code_around(site);
    std::atomic<uint64_t> hits{0};
    apply(site, counting(&hits));
    EXPECT_EQ(results_of(nasty.function), plain);
    EXPECT_EQ(hits, plain.size());
    apply(site, {});
    EXPECT_EQ(code_around(site), before);
    EXPECT_EQ(results_of(nasty.function), plain);
    EXPECT_EQ(hits, plain.size());
  }
  EXPECT_EQ(patcher_->patched_sites(), 0u);
}

// As glibc's memmove, into which memmove_chk goes on: the only room is the nop between them.
TEST_F(PatcherTest, AFunctionThatGoesOnIntoTheNextOneComesThroughItsJump) {
  const SitePlan site = plan("nasty_falls");
  ASSERT_EQ(site.kind, SiteKind::kShortJump) << site.reason;
  EXPECT_EQ(site.target, site.entry - 6);
  const std::string before = code_around(site);
  std::atomic<uint64_t> hits{0};
  apply(site, counting(&hits));
  EXPECT_EQ(nasty_falls(5, 7, 0, 0), 12u);
  EXPECT_EQ(hits, 1u);
  EXPECT_EQ(nasty_falls_before(5, 7, 0, 0), 13u);
  EXPECT_EQ(hits, 2u);
  EXPECT_EQ(nasty_falls_after(5, 7, 0, 0), 14u);
  EXPECT_EQ(hits, 2u);
  const SitePlan other = plan("nasty_falls_before");
  std::atomic<uint64_t> others{0};
  apply(other, counting(&others));
  EXPECT_EQ(nasty_falls_before(5, 7, 0, 0), 13u);
  EXPECT_EQ(others, 1u);
  EXPECT_EQ(hits, 3u);
  apply(other, {});
  apply(site, {});
  EXPECT_EQ(code_around(site), before);
  EXPECT_EQ(nasty_falls_before(5, 7, 0, 0), 13u);
  EXPECT_EQ(hits, 3u);
}

TEST_F(PatcherTest, FloatingPointArgumentsArriveUntouched) {
  const SitePlan site = plan("nasty_double_args");
  ASSERT_EQ(site.kind, SiteKind::kJump) << site.reason;
  std::atomic<uint64_t> hits{0};
  EXPECT_EQ(nasty_double_args(1.5, 2.5), 16.0);
  apply(site, counting(&hits));
  EXPECT_EQ(nasty_double_args(1.5, 2.5), 16.0);
  apply(site, {});
  apply(as_trap(site), counting(&hits));
  EXPECT_EQ(nasty_double_args(1.5, 2.5), 16.0);
  EXPECT_EQ(hits, 2u);
  apply(as_trap(site), {});
}

TEST_F(PatcherTest, ALoopAroundTheWholeFunctionIsRefused) {
  const SitePlan site = plan("nasty_back_to_entry");
  EXPECT_TRUE(site.loops_to_entry);
  EXPECT_EQ(site.kind, SiteKind::kRefused);
  EXPECT_NE(site.reason.find("loops back"), std::string::npos) << site.reason;
  EXPECT_FALSE(plan("nasty_plain").loops_to_entry);
}

TEST_F(PatcherTest, SoIsOneThatAnIndirectJumpMakes) {
  for (const char* name : {"nasty_entry_address", "nasty_entry_distance"}) {
    const SitePlan site = plan(name);
    EXPECT_TRUE(site.loops_to_entry) << name;
    EXPECT_EQ(site.kind, SiteKind::kRefused) << name;
  }
  const SitePlan handed_on = plan("nasty_entry_handed_on");
  EXPECT_FALSE(handed_on.loops_to_entry);
  EXPECT_EQ(handed_on.kind, SiteKind::kJump) << handed_on.reason;
}

TEST_F(PatcherTest, ASiteIsRepointedAndItsOldStubIsReused) {
  const SitePlan site = plan("nasty_plain");
  std::atomic<uint64_t> first{0}, second{0};
  apply(site, counting(&first));
  nasty_plain(1, 2, 0, 0);
  int32_t first_target, again;
  std::memcpy(&first_target, reinterpret_cast<void*>(site.patch_address + 1), 4);
  apply(site, counting(&second));
  nasty_plain(1, 2, 0, 0);
  EXPECT_EQ(first, 1u);
  EXPECT_EQ(second, 1u);
  EXPECT_EQ(patcher_->patched_sites(), 1u);
  apply(site, {});
  apply(site, counting(&first));
  std::memcpy(&again, reinterpret_cast<void*>(site.patch_address + 1), 4);
  EXPECT_EQ(first_target, again);
  apply(site, {});
}

TEST_F(PatcherTest, StubAddressesAreShownAsOriginalOnes) {
  const SitePlan site = plan("nasty_plain");
  std::atomic<uint64_t> hits{0};
  apply(site, counting(&hits));
  int32_t rel;
  std::memcpy(&rel, reinterpret_cast<void*>(site.patch_address + 1), 4);
  const uint64_t stub = site.patch_address + 5 + static_cast<uint64_t>(int64_t{rel});
  EXPECT_EQ(patch_original_ip(stub), 0u);
  EXPECT_EQ(patch_original_ip(stub + 18), site.patch_address);
  EXPECT_EQ(patch_original_ip(stub + 19), site.patch_address + 1);
  EXPECT_EQ(patch_original_ip(stub + 22), site.patch_address + 4);
  EXPECT_EQ(patch_original_ip(site.patch_address), 0u);
  apply(site, {});
}

TEST_F(PatcherTest, ChangedBytesAreRefusedAndNamed) {
  SitePlan site = plan("nasty_plain");
  site.original[1] ^= 1;
  std::atomic<uint64_t> hits{0};
  SiteChange change{site, counting(&hits)};
  auto report = patcher_->apply({&change, 1}, false);
  ASSERT_TRUE(report.ok());
  ASSERT_EQ(report->refusals.size(), 1u);
  EXPECT_NE(report->refusals[0].second.find("expected 53 49 89 fb"), std::string::npos)
      << report->refusals[0].second;
  EXPECT_NE(report->refusals[0].second.find("found 53 48 89 fb"), std::string::npos);
  EXPECT_EQ(report->applied, 0u);
}

[[gnu::noinline]] void thrower(int value) {
  if (value > 2) throw std::runtime_error("through a patched caller");
  asm volatile("" ::: "memory");
}

}  // namespace
}  // namespace patchbay

extern "C" {
void nasty_thrower_target(uint64_t value) { patchbay::thrower(static_cast<int>(value)); }
// Its first instruction is a call, and it has unwind information.
uint64_t nasty_throwing_call(uint64_t value);
}
__asm__(R"(
.text
.p2align 4
.globl nasty_throwing_call
.type nasty_throwing_call, @function
nasty_throwing_call:
  .cfi_startproc
  .byte 0x50  # push %rax: keeps the stack aligned
  .cfi_adjust_cfa_offset 8
  call nasty_thrower_target
  pop %rax
  .cfi_adjust_cfa_offset -8
  mov $5, %eax
  ret
  .cfi_endproc
.size nasty_throwing_call, . - nasty_throwing_call
)");

namespace patchbay {
namespace {

TEST_F(PatcherTest, AnExceptionPassesThroughACallThatWasMoved) {
  const SitePlan site = plan("nasty_throwing_call");
  ASSERT_EQ(site.kind, SiteKind::kJump) << site.reason;
  std::atomic<uint64_t> hits{0};
  apply(site, counting(&hits));
  EXPECT_EQ(nasty_throwing_call(1), 5u);
  EXPECT_THROW(nasty_throwing_call(3), std::runtime_error);
  EXPECT_EQ(hits, 2u);
  apply(site, {});
}

struct Hammer {
  std::atomic<bool> stop{false};
  std::atomic<uint64_t> wrong{0}, calls{0};

  void once(uint64_t n) {
    uint64_t bad = nasty_plain(n, 1, 0, 0) != n + 1;
    bad += nasty_gcc_sled(n, 1, 0, 0) != n + 13;
    bad += nasty_clang_sled(n, 1, 0, 0) != n + 14;
    bad += nasty_room(n & 0xff, 1, 0, 0) != (n & 0xff);
    bad += nasty_call_second(n, 1, 0, 0) != n + 208;
    bad += nasty_tight(n & 0xff, 1, 0, 0) != (n & 0xff);
    bad += nasty_jcc_first(n + 1, 1, 0, 0) != n + 2;
    if (bad) wrong += bad;
  }
  void run() {
    for (uint64_t n = 0; !stop; n += 200) {
      for (uint64_t i = 0; i < 200; i++) once(n + i);
      calls += 200;
    }
  }
};

TEST_F(PatcherTest, TogglesUnderFourThreads) {
  Hammer hammer;
  std::atomic<uint64_t> hits{0};
  std::vector<SiteChange> on, off;
  for (const char* name : {"nasty_plain", "nasty_gcc_sled", "nasty_clang_sled", "nasty_room",
                           "nasty_call_second", "nasty_tight", "nasty_jcc_first"}) {
    const SitePlan site = plan(name);
    on.push_back({site, counting(&hits)});
    off.push_back({site, {}});
  }
  const std::string before = code_around(plan("nasty_room"));
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; i++) threads.emplace_back([&hammer] { hammer.run(); });
  uint64_t toggles = 0, waited = 0, pending = 0;
  // Three seconds, or more: until it was done often enough, and somebody was met.
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(3);
  for (; toggles < 20 || hits == 0 || std::chrono::steady_clock::now() < end; toggles++) {
    for (const auto* changes : {&on, &off}) {
      auto report = patcher_->apply(*changes, false);
      ASSERT_TRUE(report.ok());
      for (const auto& [index, reason] : report->refusals) ADD_FAILURE() << reason;
      waited += report->waited_us;
      if (changes == &on) pending += patcher_->finish_pending() != 0;
    }
  }
  hammer.stop = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(patcher_->finish_pending(), 0u);
  EXPECT_EQ(hammer.wrong, 0u);
  EXPECT_GT(hits, 0u);
  EXPECT_EQ(patcher_->patched_sites(), 0u);
  EXPECT_EQ(code_around(plan("nasty_room")), before);
  std::printf("%llu toggles, %llu calls of each, %llu hits, waited %llu us, pending in %llu\n",
              (unsigned long long)toggles, (unsigned long long)hammer.calls,
              (unsigned long long)hits, (unsigned long long)waited, (unsigned long long)pending);
}

// Last: threads may come out of such a stub behind one instruction for ever, so that these places
// are never jumps again.
TEST_F(PatcherTest, TrapsBehindOneInstructionKeepJumpsAway) {
  for (const NastyCase& nasty : kNasty) {
    SCOPED_TRACE(nasty.name);
    const SitePlan site = plan(nasty.name);
    if (nasty.kind == SiteKind::kShortJump) continue;
    const std::vector<uint64_t> plain = results_of(nasty.function);
    const std::string before = code_around(site);
    std::atomic<uint64_t> traps{0};
    apply(as_trap(site), counting(&traps));
    EXPECT_EQ(patcher_->active_kind(site.patch_address), SiteKind::kTrap);
    EXPECT_EQ(results_of(nasty.function), plain);
    EXPECT_EQ(traps, plain.size());
    apply(as_trap(site), {});
    EXPECT_EQ(code_around(site), before);
    apply(site, counting(&traps));
    // One that never comes out, or only behind the whole jump, keeps nothing away.
    Insn first;
    ASSERT_TRUE(decode_insn(site.original.data(), kMaxDisplaced, site.patch_address, &first));
    const bool harmless = first.ends_flow() || first.length >= 5;
    EXPECT_EQ(patcher_->active_kind(site.patch_address), harmless ? site.kind : SiteKind::kTrap);
    EXPECT_EQ(results_of(nasty.function), plain);
    EXPECT_EQ(traps, 2 * plain.size());
    apply(site, {});
    EXPECT_EQ(code_around(site), before);
  }
  EXPECT_EQ(patcher_->patched_sites(), 0u);
}

// Relocates `site` as apply() would, into a buffer that stands for memory near the function.
const char* try_relocate(const SitePlan& site) {
  DisplacedRun run;
  run.from = site.patch_address;
  run.code = site.original.data();
  run.displaced = static_cast<uint8_t>(site.displaced);
  run.count = site.boundary_count;
  std::copy(site.boundary.begin(), site.boundary.end(), run.offset);
  run.is_nops = site.kind == SiteKind::kSled;
  uint8_t out[kMaxBody];
  RelocatedRun result;
  return relocate_run(run, site.patch_address + (64 << 20), out, &result);
}

TEST_F(PatcherTest, PlansEveryFunctionOfRealLibraries) {
  for (const char* library : {"libc.so.6", "libsqlite3.so.0", "libcrypto.so.3", "libstdc++.so.6"}) {
    if (!dlopen(library, RTLD_NOW)) continue;
    symbols_->refresh();
    for (Module* module : symbols_->modules()) {
      if (module->path().find(library) == std::string::npos) continue;
      std::map<std::string, uint64_t> kinds, reasons;
      uint64_t long_enough = 0, good = 0, last = 0, total = 0;
      for (const FunctionSymbol& function : module->functions()) {
        if (function.address == last || function.is_cold_part || function.is_ifunc) continue;
        last = function.address;
        const SitePlan site = patcher_->plan(*module, function);
        total++;
        kinds[site_kind_name(site.kind)]++;
        if (site.kind != SiteKind::kRefused) {
          const char* why = try_relocate(site);
          EXPECT_EQ(why, nullptr) << function.name << ": " << (why ? why : "");
        }
        if (!site.reason.empty()) reasons[site.reason]++;
        if (function.size < 5) continue;
        long_enough++;
        good += site.kind == SiteKind::kSled || site.kind == SiteKind::kJump;
      }
      std::printf("%s: %llu functions", library, (unsigned long long)total);
      for (const auto& [kind, n] : kinds) {
        std::printf(", %s %llu", kind.c_str(), (unsigned long long)n);
      }
      std::printf("; of those with 5 bytes or more by jump or sled: %.2f %%\n",
                  100.0 * static_cast<double>(good) / static_cast<double>(long_enough));
      for (const auto& [reason, n] : reasons) {
        std::printf("    %5llu  %s\n", (unsigned long long)n, reason.c_str());
      }
      EXPECT_GE(good * 100, long_enough * 97) << library;
    }
  }
}

// An object that goes between two looks at it must not take the planner along.
TEST_F(PatcherTest, PlansWhatIsUnloadedMeanwhile) {
  void* library = dlopen("libresolv.so.2", RTLD_NOW);
  ASSERT_NE(library, nullptr) << dlerror();
  symbols_->refresh();
  Module* found = nullptr;
  for (Module* module : symbols_->modules())
    if (module->path().find("libresolv") != std::string::npos) found = module;
  ASSERT_NE(found, nullptr);
  std::vector<FunctionSymbol> planned;
  for (const FunctionSymbol& function : found->functions())
    if (patcher_->plan(*found, function).kind != SiteKind::kRefused) planned.push_back(function);
  ASSERT_GT(planned.size(), 10u);
  ASSERT_EQ(dlclose(library), 0);
  if (dlopen("libresolv.so.2", RTLD_NOW | RTLD_NOLOAD)) GTEST_SKIP() << "libresolv stays loaded";
  // Another planner: nothing of what this one has seen.
  const std::unique_ptr<Patcher> late = make_patcher();
  for (const FunctionSymbol& function : planned) {
    const SitePlan plan = late->plan(*found, function);
    EXPECT_EQ(plan.kind, SiteKind::kRefused);
    EXPECT_TRUE(plan.not_mapped) << function.name << ": " << plan.reason;
    EXPECT_EQ(late->plan_insn(*found, function.address).kind, SiteKind::kRefused);
  }
}

}  // namespace
}  // namespace patchbay
