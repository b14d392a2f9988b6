// SPDX-License-Identifier: MIT
//
// The unwinder beside glibc's backtrace(), which reads the same .eh_frame in its own way: wherever
// a stack can begin.
#include "probe/records/unwind_hot.h"

#include <execinfo.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <thread>
#include <vector>

#include "hot/fault.h"
#include "probe/records/unwind_tables.h"

namespace patchbay {
namespace {

// Where the caller is now.
#define HERE(start)                                                          \
  __asm__ volatile("lea 0(%%rip), %0\n\tmov %%rsp, %1\n\tmov %%rbp, %2"      \
                   : "=&r"((start).ip), "=&r"((start).sp), "=&r"((start).fp) \
                   :                                                         \
                   : "memory")

struct Walk {
  std::vector<uint64_t> ip, sp;
  StackHow how;
};

Walk walk(const StackStart& start, uint32_t max = kMaxStackFrames) {
  Walk result;
  result.ip.resize(max);
  result.sp.resize(max);
  const uint32_t count =
      unwind(start, {result.ip.data(), result.sp.data(), nullptr, max}, &result.how);
  result.ip.resize(count);
  result.sp.resize(count);
  return result;
}

void continue_after_fault(int, siginfo_t*, void* raw) {
  auto& rip = static_cast<ucontext_t*>(raw)->uc_mcontext.gregs[REG_RIP];
  const uint64_t target = fault_fixup(uint64_t(rip));
  if (!target) _exit(99);
  rip = greg_t(target);
}

class Unwind : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    static auto* symbols = make_self_symbol_table().release();
    tables_ = new UnwindTables(*symbols);
    tables_->want();
  }
  // Tables are never given back, but the other tests of this program count on having none.
  static void TearDownTestSuite() {
    __atomic_store_n(&pb_unwind_modules, nullptr, __ATOMIC_RELEASE);
  }
  // As the agent's handler does.
  void SetUp() override {
    struct sigaction action = {};
    action.sa_sigaction = continue_after_fault;
    action.sa_flags = SA_SIGINFO | SA_NODEFER;
    sigaction(SIGSEGV, &action, &old_[0]);
    sigaction(SIGBUS, &action, &old_[1]);
  }
  void TearDown() override {
    sigaction(SIGSEGV, &old_[0], nullptr);
    sigaction(SIGBUS, &old_[1], nullptr);
  }
  struct sigaction old_[2];
  static UnwindTables* tables_;
};
UnwindTables* Unwind::tables_;

// Both from the same place: all callers are equal.
__attribute__((noinline)) void compare(const char* what) {
  SCOPED_TRACE(what);
  void* frames[100];
  StackStart start = {};
  int count = backtrace(frames, 100);
  HERE(start);
  void** expected = frames;
#ifdef __SANITIZE_ADDRESS__
  expected++, count--;  // the sanitizer's own backtrace()
#endif
  const Walk walked = walk(start, 100);
  EXPECT_EQ(walked.how.known, 1);
  EXPECT_EQ(walked.how.end, StackEnd::kOutermost);
  EXPECT_EQ(walked.how.by_frame_pointer, 0);
  ASSERT_EQ(walked.ip.size(), size_t(count));
  EXPECT_EQ(walked.ip[0], start.ip);
  for (size_t i = 1; i < walked.ip.size(); i++)
    EXPECT_EQ(walked.ip[i], uint64_t(expected[i])) << "frame " << i;
}

__attribute__((noinline)) void nested(int depth, const char* what) {
  volatile char local[64];
  local[0] = char(depth);
  if (depth > 0)
    nested(depth - 1, what);
  else
    compare(what);
  local[1] = local[0];
}

__attribute__((noinline)) void with_alloca(size_t size) {
  auto* room = static_cast<volatile char*>(__builtin_alloca(size));
  room[size - 1] = 1;
  compare("alloca");
  room[0] = room[size - 1];
}

__attribute__((noinline)) void realigned(size_t size) {
  alignas(64) volatile char aligned[128];
  auto* room = static_cast<volatile char*>(__builtin_alloca(size));
  room[0] = 1;
  aligned[0] = char(reinterpret_cast<uintptr_t>(&aligned[0]) % 64);
  compare("a realigned stack");
  EXPECT_EQ(aligned[0], 0);
}

int by_compare(const void* a, const void* b) {
  static bool once = false;
  if (!std::exchange(once, true)) compare("a callback of libc");
  return *static_cast<const int*>(a) - *static_cast<const int*>(b);
}

TEST_F(Unwind, AsBacktrace) {
  compare("here");
  nested(5, "nested");
  with_alloca(size_t(rand()) % 100 + 100);
  realigned(size_t(rand()) % 100 + 100);
  int numbers[] = {3, 1, 2};
  qsort(numbers, 3, sizeof numbers[0], by_compare);
  std::function<void()> function = [] { compare("std::function"); };
  function();
  std::thread([] { nested(3, "a thread"); }).join();
}

void on_signal(int, siginfo_t*, void*) { compare("a signal handler"); }

TEST_F(Unwind, ThroughSignals) {
  static char other_stack[1 << 16];
  stack_t stack = {other_stack, 0, sizeof other_stack};
  ASSERT_EQ(sigaltstack(&stack, nullptr), 0);
  for (int flags : {SA_SIGINFO, SA_SIGINFO | SA_ONSTACK}) {
    struct sigaction action = {};
    action.sa_sigaction = on_signal;
    action.sa_flags = flags;
    sigaction(SIGUSR1, &action, nullptr);
    raise(SIGUSR1);
  }
  stack.ss_flags = SS_DISABLE;
  sigaltstack(&stack, nullptr);
  signal(SIGUSR1, SIG_DFL);
}

// A signal in a leaf without a frame: its caller is not lost, although the leaf's ip is exact.
extern "C" void leaf_that_traps();
__asm__(
    ".text\n.type leaf_that_traps, @function\nleaf_that_traps:\n.cfi_startproc\n"
    "int3\n.globl leaf_behind_trap\nleaf_behind_trap:\nret\n.cfi_endproc\n"
    ".size leaf_that_traps, . - leaf_that_traps\n");
extern "C" const char leaf_behind_trap[];
Walk g_in_trap;
void on_trap(int, siginfo_t*, void*) {
  StackStart start = {};
  HERE(start);
  g_in_trap = walk(start);
}

TEST_F(Unwind, SignalInALeaf) {
  struct sigaction action = {};
  action.sa_sigaction = on_trap;
  action.sa_flags = SA_SIGINFO | SA_NODEFER;
  sigaction(SIGTRAP, &action, nullptr);
  StackStart here = {};
  HERE(here);
  leaf_that_traps();
  signal(SIGTRAP, SIG_DFL);
  const Walk outside = walk(here);
  const auto& ip = g_in_trap.ip;
  auto leaf = std::find(ip.begin(), ip.end(), uint64_t(leaf_behind_trap));
  ASSERT_NE(leaf, ip.end());
  EXPECT_EQ(leaf - ip.begin(), 2);  // the handler, the signal's return, the leaf
  ASSERT_EQ(size_t(ip.end() - leaf), outside.ip.size() + 1);
  EXPECT_TRUE(std::equal(leaf + 2, ip.end(), outside.ip.begin() + 1));
}

TEST_F(Unwind, EntryOfAFunction) {
  // As at the first instruction of a function that was called from here.
  StackStart here = {};
  HERE(here);
  const Walk outside = walk(here);
  std::vector<uint64_t> copy(64);
  copy[0] = here.ip;
  const StackStart unknown = {0x1000, uint64_t(copy.data()), here.fp, true};
  const Walk entry = walk(unknown);
  ASSERT_GE(entry.ip.size(), 2u);
  EXPECT_EQ(entry.ip[1], here.ip);
  EXPECT_EQ(entry.sp[1], uint64_t(copy.data() + 1));
  EXPECT_FALSE(outside.ip.empty());
}

// Code that no table knows: two frames by frame pointer, then by rows again.
TEST_F(Unwind, FramePointersWhereNothingElseIs) {
  StackStart here = {};
  HERE(here);
  const Walk outside = walk(here);
  // here.sp lies in this frame: code at run time was "called" by what this function called.
  struct {
    uint64_t inner[2], outer[2];
  } frames = {};
  frames.inner[0] = uint64_t(frames.outer);
  frames.inner[1] = 0x2000;  // a return address into nowhere
  frames.outer[0] = 0;
  frames.outer[1] = 0;
  const Walk made = walk({0x1000, uint64_t(frames.inner), uint64_t(frames.inner), false});
  EXPECT_EQ(made.ip, (std::vector<uint64_t>{0x1000, 0x2000}));
  EXPECT_EQ(made.how.by_frame_pointer, 1);
  EXPECT_EQ(made.how.end, StackEnd::kOutermost);
  for (uint64_t wild : {uint64_t(0), uint64_t(frames.inner) + 4, uint64_t(frames.inner) - 8}) {
    const Walk ended = walk({0x1000, uint64_t(frames.inner), wild, false});
    EXPECT_EQ(ended.ip.size(), 1u);
    EXPECT_EQ(ended.how.end, StackEnd::kNoTable);
  }
  EXPECT_FALSE(outside.ip.empty());
}

TEST_F(Unwind, BadMemoryEndsTheStack) {
  auto* page = static_cast<char*>(
      mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  mprotect(page + 4096, 4096, PROT_NONE);
  StackStart here = {};
  HERE(here);
  for (uint64_t sp : {uint64_t(page) + 4096, uint64_t(8), uint64_t{1} << 63, ~uint64_t{0} - 7}) {
    StackStart start = {0x1000, sp, 0, true};
    const Walk walked = walk(start);
    EXPECT_EQ(walked.ip.size(), 1u);
    EXPECT_NE(walked.how.end, StackEnd::kOutermost);
  }
  const Walk by_fp = walk({0x1000, uint64_t(page), uint64_t(page) + 4096 - 8, false});
  EXPECT_EQ(by_fp.ip.size(), 1u);
  munmap(page, 8192);
}

TEST_F(Unwind, NoMoreThanAskedFor) {
  StackStart here = {};
  HERE(here);
  const Walk whole = walk(here, 100);
  ASSERT_GT(whole.ip.size(), 4u);
  const Walk three = walk(here, 3);
  EXPECT_EQ(three.ip.size(), 3u);
  EXPECT_EQ(three.how.frames, 3);
  EXPECT_EQ(three.how.end, StackEnd::kLimit);
  EXPECT_TRUE(std::equal(three.ip.begin(), three.ip.end(), whole.ip.begin()));
  StackHow how;
  uint64_t last = 0;
  EXPECT_EQ(unwind(here, {nullptr, nullptr, &last, 100}, &how), whole.ip.size());
  EXPECT_EQ(last, whole.sp.back());
  EXPECT_EQ(unwind(here, {nullptr, nullptr, nullptr, 0}, &how), 0u);
}

TEST_F(Unwind, TablesAreSmall) {
  const UnwindTables::Counts counts = tables_->counts();
  EXPECT_GE(counts.modules, 3u);
  EXPECT_LT(counts.bytes, counts.text_bytes);
  EXPECT_LE(counts.bytes, counts.rows * 12);
}

}  // namespace
}  // namespace patchbay
