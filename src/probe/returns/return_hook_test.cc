// SPDX-License-Identifier: MIT
//
// Hooked returns of functions of this program. A thunk in front of each does what a stub does at
// the entry, so that nothing has to be patched.
#include "probe/returns/return_hook.h"

#include <alloca.h>
#include <dlfcn.h>
#include <execinfo.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>
#include <unwind.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "base/testing.h"
#include "codegen/probe_compile.h"
#include "filter/filter_insn.h"
#include "hot/fault.h"
#include "hot/rseq_testing.h"
#include "hot/storm_testing.h"
#include "probe/hit_counter.h"
#include "probe/returns/call_data.h"
#include "ring_buffer/ring_buffer.h"
#include "ring_buffer/ring_reader.h"
#include "ring_buffer/ring_write_hot.h"

namespace patchbay {
namespace {

// What a thread may still be on its way with is never freed; so that the leak checker knows it.
template <typename T>
T* keep(T* object) {
  static auto* kept = new std::vector<T*>;
  kept->push_back(object);
  return object;
}

template <typename T>
std::unique_ptr<T, decltype(&std::free)> make_flexible(size_t extra) {
  return {keep(static_cast<T*>(std::calloc(1, sizeof(T) + extra))), &std::free};
}

const SiteProgram* g_program;
extern "C" {
CallSite return_hook_test_site;
uint8_t return_hook_test_quick;  // by probe_entry_hook, as stubs do
}

extern "C" __attribute__((used)) void return_hook_test_entry(uint64_t* word, const uint64_t* args) {
  FetchRegisters registers;
  std::memcpy(registers.arg, args, sizeof registers.arg);
  return_hook(&return_hook_test_site, g_program, word, &registers);
}

// name: hooks its return, then is real_name.
#define HOOKED(name)                                                                         \
  __asm__(".text\n.globl hooked_" #name "\n.type hooked_" #name ", @function\nhooked_" #name \
          ":\n"                                                                              \
          ".cfi_startproc\n"                                                                 \
          "cmpb $0, return_hook_test_quick(%rip)\njne 1f\n"                                  \
          "push %r9\npush %r8\npush %rcx\npush %rdx\npush %rsi\npush %rdi\npush %rax\n"      \
          ".cfi_adjust_cfa_offset 56\n"                                                      \
          "lea 56(%rsp), %rdi\nlea 8(%rsp), %rsi\ncall return_hook_test_entry\n"             \
          "pop %rax\npop %rdi\npop %rsi\npop %rdx\npop %rcx\npop %r8\npop %r9\n"             \
          ".cfi_adjust_cfa_offset -56\n"                                                     \
          "jmp real_" #name                                                                  \
          "\n1: mov %rax, -16(%rsp)\nlea 2f(%rip), %rax\npush %rax\n"                        \
          ".cfi_adjust_cfa_offset 8\n"                                                       \
          "lea return_hook_test_site(%rip), %rax\njmp probe_entry_hook\n"                    \
          ".cfi_adjust_cfa_offset -8\n2: mov -16(%rsp), %rax\n"                              \
          "jmp real_" #name "\n.cfi_endproc\n.size hooked_" #name ", . - hooked_" #name "\n");

HOOKED(add)
HOOKED(recurse)
HOOKED(throws)
HOOKED(catches)
HOOKED(first)
HOOKED(second)
HOOKED(third)
HOOKED(jumps)
HOOKED(leaves)
HOOKED(waits)
HOOKED(yields)
HOOKED(trace)
HOOKED(flags)
HOOKED(registers)
HOOKED(checked)
HOOKED(greet)
HOOKED(keeps)
HOOKED(descends)
HOOKED(thrower)

#define REAL extern "C" __attribute__((noinline, used))
extern "C" {
uint64_t hooked_add(uint64_t a, uint64_t b);
int hooked_recurse(int depth);
int hooked_throws(int depth);
int hooked_catches(int how);
int hooked_first(int value);
int hooked_second(int value);
int hooked_third(int value);
void hooked_jumps(int depth);
void hooked_leaves();
void hooked_waits();
int hooked_yields(int value);
std::vector<void*>* hooked_trace(int depth);
uint64_t hooked_flags();
uint64_t hooked_registers();
int hooked_greet(int which, const char* text, int count);
int hooked_descends(int depth);
int hooked_thrower(int value);
uint64_t return_hook_test_kept[10];
}

REAL uint64_t real_add(uint64_t a, uint64_t b) { return a + b; }
REAL int real_greet(int which, const char* text, int count) {
  __asm__ volatile("" : : "r"(text));
  return count > 0 ? hooked_greet(which + 1, text, count - 1) + 1 : -5;
}
REAL int real_recurse(int depth) { return depth ? hooked_recurse(depth - 1) + 1 : 0; }

int g_destroyed;
struct Guard {
  ~Guard() { g_destroyed++; }
};
REAL int real_throws(int depth) {
  Guard guard;
  if (depth == 0) throw std::runtime_error("out");
  return hooked_throws(depth - 1) + 1;
}
REAL int real_catches(int how) {
  try {
    return hooked_throws(3);
  } catch (const std::runtime_error&) {
    if (how == 1) throw;
    if (how == 2) throw std::logic_error("another");
    return 7;
  }
}

std::vector<void*> g_frames;
REAL int real_third(int value) {
  void* frames[64];
  g_frames.assign(frames, frames + ::backtrace(frames, 64));
  return value * 2;
}
REAL int real_second(int value) { return hooked_third(value + 1); }  // tail calls at -O2
REAL int real_first(int value) { return hooked_second(value + 1); }

jmp_buf g_back;
REAL void real_jumps(int depth) {
  if (depth == 0) longjmp(g_back, 1);
  hooked_jumps(depth - 1);
  __asm__ volatile("");
}
void jump_over(int frames) {
  if (!setjmp(g_back)) hooked_jumps(frames - 1);
}
REAL void real_leaves() { ::pthread_exit(reinterpret_cast<void*>(5)); }
REAL void real_waits() {
  while (true) ::pause();
}

ucontext_t g_main_context, g_fiber;
REAL int real_yields(int value) {
  ::swapcontext(&g_fiber, &g_main_context);
  return value + 1;
}

// Coroutines that share one stack, as ruby's callcc and greenlet have them: what one has there is
// copied away while others run, and back. `times`: how often its copy is gone on with.
struct Coroutine {
  jmp_buf at;
  std::unique_ptr<char[]> copy;
  size_t size;
  int result;
};
jmp_buf g_home;
char *g_low, *g_high;  // of the shared part of the stack
Coroutine* g_now;

void (*volatile g_deeper)(Coroutine*);
__attribute__((noinline)) void resume(Coroutine* coroutine) {
  char room[512];
  __asm__ volatile("" : : "r"(room) : "memory");
  char* const low = g_high - coroutine->size;
  if (static_cast<char*>(__builtin_frame_address(0)) > low - 1024)  // in what is overwritten
    g_deeper(coroutine);
  std::memcpy(low, coroutine->copy.get(), coroutine->size);
  longjmp(coroutine->at, 1);
}
__attribute__((noinline)) void suspend() {
  g_low = static_cast<char*>(__builtin_frame_address(0)) - 512;
  if (setjmp(g_now->at)) return;
  g_now->size = size_t(g_high - g_low);
  g_now->copy = std::make_unique<char[]>(g_now->size);
  std::memcpy(g_now->copy.get(), g_low, g_now->size);
  longjmp(g_home, 1);
}
REAL int real_descends(int depth) {
  volatile int keep = depth * 7;
  int result = 0;
  if (depth)
    result = hooked_descends(depth - 1) + 1;
  else
    suspend();
  if (keep != depth * 7) std::abort();
  return result;
}
__attribute__((noinline)) void begin(Coroutine* coroutine, int depth) {
  g_now = coroutine;
  const int result = hooked_descends(depth);
  g_now->result = result;
  longjmp(g_home, 2);
}
// How many of them ended with the right result each time. What jumps come back to is above g_high.
__attribute__((noinline)) size_t run_coroutines(size_t count, int depth, int times) {
  static size_t right;
  g_deeper = resume;
  char* volatile pad = static_cast<char*>(alloca(4096));
  (void)pad;
  g_high = static_cast<char*>(__builtin_frame_address(0)) - 2048;
  std::vector<Coroutine> all(count);
  static size_t i;
  for (i = 0; i < count; i++)
    if (!setjmp(g_home)) begin(&all[i], depth);
  right = 0;
  for (i = 0; i < count * size_t(times); i++) {
    const size_t nth = i % count;
    g_now = &all[i / count % 2 ? nth : count - 1 - nth];
    g_now->result = -1;
    if (!setjmp(g_home)) resume(g_now);
    right += g_now->result == depth;
    for (uint64_t k = 0; k < 2; k++) right += hooked_add(k, 2) != k + 2;  // other callers
  }
  return right;
}

REAL std::vector<void*>* real_trace(int depth) {
  if (depth > 0) {
    auto* found = hooked_trace(depth - 1);
    __asm__ volatile("");
    return found;
  }
  void* frames[64];
  return new std::vector<void*>(frames, frames + ::backtrace(frames, 64));
}
// Returns with carry, overflow, sign and the direction flag set, and with every register changed.
__asm__(R"(
.text
.globl real_flags
.type real_flags, @function
real_flags:
  mov $0x7f, %al
  add $1, %al
  stc
  std
  mov $1, %ecx
  mov $2, %edx
  mov $3, %esi
  mov $4, %edi
  mov $5, %r8d
  mov $6, %r9d
  mov $7, %r10d
  mov $8, %r11d
  ret
.size real_flags, . - real_flags
.globl real_checked
.type real_checked, @function
real_checked:
  pushfq
  orl $0x40000, (%rsp)
  popfq
  mov $9, %eax
  ret
.size real_checked, . - real_checked
.globl real_keeps
.type real_keeps, @function
real_keeps:
  mov %rax, return_hook_test_kept(%rip)
  mov %rcx, 8+return_hook_test_kept(%rip)
  mov %rdx, 16+return_hook_test_kept(%rip)
  mov %rsi, 24+return_hook_test_kept(%rip)
  mov %rdi, 32+return_hook_test_kept(%rip)
  mov %r8, 40+return_hook_test_kept(%rip)
  mov %r9, 48+return_hook_test_kept(%rip)
  mov %r10, 56+return_hook_test_kept(%rip)
  mov %r11, 64+return_hook_test_kept(%rip)
  mov $6, %eax
  ret
.size real_keeps, . - real_keeps
.globl real_registers
.type real_registers, @function
real_registers:
  mov $0x80, %eax
  mov $1, %ecx
  mov $2, %edx
  mov $3, %esi
  mov $4, %edi
  mov $5, %r8d
  mov $6, %r9d
  mov $7, %r10d
  mov $8, %r11d
  ret
.size real_registers, . - real_registers
)");

const void* main_object() {
  Dl_info info{};
  ::dladdr(reinterpret_cast<void*>(&hooked_registers), &info);
  return info.dli_fbase;
}

// As the agent's handler does: stacks of threads that ended are looked at.
void on_fault(int signal, siginfo_t*, void* context) {
  auto& ip = static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_RIP];
  const uint64_t fixup = fault_fixup(uint64_t(ip));
  if (!fixup) ::signal(signal, SIG_DFL);
  if (fixup) ip = greg_t(fixup);
}

// By return_hook() and return_hit(), or the code for one event at both ends; a return alone, or a
// whole call.
enum class Way { kGeneral, kQuick, kGeneralCalls, kQuickCalls };

class ReturnHook : public ::testing::TestWithParam<Way> {
 protected:
  static bool is_quick() { return GetParam() == Way::kQuick || GetParam() == Way::kQuickCalls; }
  static bool has_calls() {
    return GetParam() == Way::kGeneralCalls || GetParam() == Way::kQuickCalls;
  }
  void SetUp() override {
    struct sigaction fault = {};
    fault.sa_sigaction = on_fault;
    fault.sa_flags = SA_SIGINFO | SA_NODEFER;
    ::sigaction(SIGSEGV, &fault, nullptr);
    ::sigaction(SIGBUS, &fault, nullptr);
    pb_rseq_offset = is_quick() ? test::rseq_offset() : 0;
    if (is_quick() && !pb_rseq_offset) GTEST_SKIP() << "no rseq: no fast returns";
    make_buffer();
    if (is_quick() && buffer_->header()->clock != abi::kClockTsc) GTEST_SKIP() << "no fast returns";
    ASSERT_TRUE(call_data_reserve());
    pb_call_clock = {uint64_t{1} << 31, buffer_->header()->clock != abi::kClockTsc};
    counts_ = keep(new ProbeCounts{new_hit_counter(), 0, 0, 0});
    event_ = keep(new EventProgram{});
    event_->rings = buffer_->rings();
    event_->id = 600;
    program_ = make_flexible<SiteProgram>(sizeof(SiteEvent)).release();
    program_->nr_events = 1;
    program_->max_record = 2048;
    return_hook_test_site.function = 0x4712;
    if (has_calls())
      set_call({});
    else
      set_fields({{FetchOp::kReg, 0, 0, 0, 0, 0}, {FetchOp::kStore, 0, 8, 0, 24, 0}}, 32);
    g_program = return_hook_test_site.return_program = program_;
    return_hook_test_quick = is_quick();
    before_ = return_hook_counts();
    g_destroyed = 0;
  }
  void TearDown() override {
    pb_rseq_offset = 0;
    return_hook_test_quick = 0;
    if (event_) event_->rings = RingBuffer::dead_rings();
    if (buffer_) (*buffer_).remove_file();
    ::rmdir(directory_.c_str());
  }
  void make_buffer() {
    char name[] = "/tmp/return_hook_test.XXXXXX";
    ASSERT_NE(::mkdtemp(name), nullptr);
    directory_ = name;
    RingBufferOptions options;
    options.path = directory_ + "/buffer";
    options.nr_cpus = uint32_t(::sysconf(_SC_NPROCESSORS_CONF));
    auto buffer = RingBuffer::create(options);
    ASSERT_TRUE(buffer.ok());
    buffer_ = std::move(*buffer);
    ASSERT_TRUE(buffer_->enable().ok());
  }
  static FetchProgram* make_fetch(const std::vector<FetchInsn>& insns, uint32_t fixed,
                                  uint32_t most, RecordHead head) {
    FetchProgram* fetch = make_flexible<FetchProgram>(insns.size() * sizeof(FetchInsn)).release();
    *fetch = {fixed, most, uint16_t(insns.size()), 0, 0, 0, 0, head, 0, nullptr};
    std::copy(insns.begin(), insns.end(), fetch->insn);
    return fetch;
  }
  void set_fetch(const FetchProgram* fetch, uint64_t ip) {
    event_->fetch = fetch;
    event_->max_size = fetch->max_size;
    program_->event[0] = {event_, fetch, ip, counts_};
    program_->has_calls = fetch->at_entry != nullptr;
    choose_code();
    EXPECT_EQ(program_->return_code != 0, is_quick());
  }
  void set_fields(const std::vector<FetchInsn>& insns, uint32_t size) {
    FetchProgram* fetch = make_fetch(insns, size, size, RecordHead::kReturn);
    fetch->scalar_only = 1;
    set_fetch(fetch, 0x4711);
  }
  // u64 first, int count, [string …,] int result, u64 duration. `texts`: which arguments are texts.
  void set_call(const std::vector<uint8_t>& texts) {
    uint32_t end = 36;
    const uint32_t most = uint32_t(texts.size()) * 512;
    std::vector<FetchInsn> taken = {{FetchOp::kArg, 0, 0, 0, 0, 0},
                                    {FetchOp::kStore, 0, 8, 0, 24, 0},
                                    {FetchOp::kArg, 2, 0, 0, 0, 0},
                                    {FetchOp::kStore, 0, 4, 0, 32, 0}};
    for (const uint8_t text : texts) {
      taken.push_back({FetchOp::kArg, text, 0, 0, 0, 0});
      taken.push_back({FetchOp::kString, 0, 4, 0, end, 512});
      end += 4;
    }
    const uint32_t result = end, duration = (end + 4 + 7) / 8 * 8, fixed = duration + 8;
    FetchProgram* at_entry = make_fetch(taken, fixed, fixed + most, RecordHead::kFunction);
    at_entry->has_gaps = 1;
    FetchProgram* fetch = make_fetch({{FetchOp::kTaken, 0, 0, 0, 0, 0},
                                      {FetchOp::kReg, 0, 0, 0, 0, 0},
                                      {FetchOp::kStore, 0, 4, 0, result, 0},
                                      {FetchOp::kField, 0, 8, 0, 0, 8},
                                      {FetchOp::kStore, 0, 8, 0, duration, 0}},
                                     fixed, fixed + most, RecordHead::kFunction);
    fetch->at_entry = at_entry;
    set_fetch(fetch, 0);
    EXPECT_EQ(program_->code == kHookCalls && program_->take_code, is_quick());
  }
  void choose_code() { patchbay::choose_code(program_, true); }
  uint64_t hits() const { return read_hit_counter(counts_->hits); }
  uint64_t in_use() const { return return_hook_counts().in_use; }
  std::vector<std::string> bytes() {
    std::vector<std::string> found;
    RingReader reader(buffer_.get(), true);
    PageImage page;
    for (uint32_t ring = 0; ring < reader.nr_rings(); ring++)
      while (reader.next_page(ring, true, &page)) {
        EventIterator events(page.bytes, page.used);
        for (EventView event; events.next(&event);)
          found.emplace_back(reinterpret_cast<const char*>(event.record.data()),
                             event.record.size());
      }
    return found;
  }
  std::vector<std::vector<uint64_t>> records() {
    std::vector<std::vector<uint64_t>> found;
    for (const std::string& record : bytes()) {
      found.emplace_back(record.size() / 8);
      std::memcpy(found.back().data(), record.data(), record.size() / 8 * 8);
    }
    return found;
  }

  // Abandoned slots name these for as long as the process lives.
  ProbeCounts* counts_ = nullptr;
  SiteProgram* program_ = nullptr;
  EventProgram* event_ = nullptr;
  std::unique_ptr<RingBuffer> buffer_;
  std::string directory_;
  ReturnHookCounts before_{};
};
INSTANTIATE_TEST_SUITE_P(Ways, ReturnHook,
                         ::testing::Values(Way::kGeneral, Way::kQuick, Way::kGeneralCalls,
                                           Way::kQuickCalls));

TEST_P(ReturnHook, ReturnsGoOnAndAreCounted) {
  EXPECT_EQ(hooked_add(40, 2), 42u);
  EXPECT_EQ(hooked_recurse(10000), 10000);
  EXPECT_EQ(hits(), 10002u);
  EXPECT_EQ(counts_->missed, 0u);
  EXPECT_LE(in_use(), before_.in_use);
}

TEST_P(ReturnHook, MoreThanThereAreSlotsIsMissed) {
  EXPECT_EQ(hooked_recurse(40000), 40000);
  EXPECT_EQ(hits() + counts_->missed, 40001u);
  EXPECT_GT(counts_->missed, 0u);
  EXPECT_GT(hits(), 30000u);
  EXPECT_GT(return_hook_counts().no_slot, before_.no_slot);
}

TEST_P(ReturnHook, ExceptionsPassAndAreCaught) {
  for (int i = 0; i < 1000; i++) {
    EXPECT_EQ(hooked_catches(0), 7);
    EXPECT_THROW(hooked_catches(1), std::runtime_error);
    EXPECT_THROW(hooked_catches(2), std::logic_error);
    EXPECT_THROW(hooked_throws(0), std::runtime_error);
  }
  EXPECT_EQ(g_destroyed, 3 * 4000 + 1000);
  EXPECT_EQ(hits(), 1000u);  // the calls of catches(0); the others never returned
}

TEST_P(ReturnHook, ATailCallReturnsForBothAndUnwindersSeeTheCaller) {
  EXPECT_EQ(hooked_first(1), 6);
  const uint64_t first = hits();
  EXPECT_EQ(first, 3u);
  EXPECT_LE(in_use(), before_.in_use);
  int trampolines = 0;
  for (void* frame : g_frames)
    trampolines += is_return_trampoline(reinterpret_cast<uint64_t>(frame));
  EXPECT_LE(trampolines, 3);
  EXPECT_GT(g_frames.size(), size_t(trampolines) + 5);  // up to main
}

TEST_P(ReturnHook, CallsOnCopiedStacksComeBack) {
  run_coroutines(200, 20, 1);  // what was left in other tests is not kept; this says that it may be
  const uint64_t unknown = return_hook_counts().unknown;
  for (const auto& [count, depth] : {std::pair{10, 5}, {50, 1}, {100, 20}, {300, 3}, {2, 200}}) {
    const uint64_t before = hits();
    EXPECT_EQ(run_coroutines(size_t(count), depth, 1), size_t(count));
    EXPECT_EQ(hits() - before, uint64_t(count) * uint64_t(depth + 3)) << count << ' ' << depth;
  }
  EXPECT_EQ(counts_->missed, 0u);
  EXPECT_EQ(return_hook_counts().unknown, unknown);
}

// What has returned may return again (callcc): where to is known, though its record was made.
TEST_P(ReturnHook, AFrameMayReturnTwice) {
  EXPECT_EQ(run_coroutines(20, 20, 3), 60u);
  EXPECT_GE(hits(), 20u * 21);
  EXPECT_LE(hits(), 3 * 20u * (21 + 2));
}

// A language's own personality routine finds its frame by the stack pointer.
extern "C" {
uint64_t return_hook_test_sp, return_hook_test_wrong, return_hook_test_seen;
int return_hook_test_watched(int value);
__attribute__((used)) _Unwind_Reason_Code return_hook_test_personality(int, _Unwind_Action,
                                                                       _Unwind_Exception_Class,
                                                                       _Unwind_Exception*,
                                                                       _Unwind_Context* context) {
  return_hook_test_seen++;
  return_hook_test_wrong += _Unwind_GetCFA(context) != return_hook_test_sp;
  return _URC_CONTINUE_UNWIND;
}
}
REAL int real_thrower(int value) {
  if (value % 2) throw value;
  return value;
}
__asm__(
    ".text\n.type return_hook_test_watched, @function\nreturn_hook_test_watched:\n"
    ".cfi_startproc\n.cfi_personality 0x1b, return_hook_test_personality\n"
    "push %rbx\n.cfi_adjust_cfa_offset 8\nmov %rsp, return_hook_test_sp(%rip)\n"
    "call hooked_thrower\npop %rbx\n.cfi_adjust_cfa_offset -8\nret\n"
    ".cfi_endproc\n.size return_hook_test_watched, . - return_hook_test_watched\n");

TEST_P(ReturnHook, PersonalityRoutinesSeeTheStackPointer) {
  return_hook_test_wrong = return_hook_test_seen = 0;
  int sum = 0;
  for (int i = 0; i < 10; i++) {
    try {
      sum += return_hook_test_watched(i);
    } catch (int value) {
      sum -= value;
    }
  }
  EXPECT_EQ(sum, -5);
  EXPECT_EQ(return_hook_test_seen, 10u);
  EXPECT_EQ(return_hook_test_wrong, 0u);
  EXPECT_EQ(hits(), 5u);
}

TEST_P(ReturnHook, LongjmpOverManyFramesLeaksNothing) {
  for (int i = 0; i < 5000; i++) jump_over(101);
  EXPECT_EQ(hits(), 0u);
  EXPECT_EQ(counts_->missed, 0u);
  EXPECT_GE(return_hook_counts().reclaimed - before_.reclaimed, 5000u * 101 - kReturnSlots);
  EXPECT_EQ(hooked_recurse(10000), 10000);
  EXPECT_EQ(hits(), 10001u);
}

// Levels that were left are levels no more, however many.
TEST_P(ReturnHook, LongjmpKeepsTheThreadsSpares) {
  for (int i = 0; i < 100; i++) {
    jump_over(3);
    EXPECT_EQ(hooked_add(1, 2), 3u);
    EXPECT_LT(pb_return_thread.at, kReturnSpares);
  }
  EXPECT_EQ(hits(), 100u);
}

TEST_P(ReturnHook, ALimitIsKeptAndForgetsDeadCalls) {
  counts_->max_active = 5;
  choose_code();
  hooked_recurse(9);
  EXPECT_EQ(hits(), 5u);
  EXPECT_EQ(counts_->missed, 5u);
  EXPECT_EQ(counts_->active, 0u);
  for (int i = 0; i < 1000; i++) jump_over(4);
  EXPECT_EQ(counts_->missed, 5u);
  EXPECT_LE(counts_->active, 5u);
  hooked_recurse(4);
  EXPECT_EQ(hits(), 10u);
}

void* run_leaves(void*) {
  Guard guard;
  hooked_leaves();
  return nullptr;
}
void* run_waits(void*) {
  Guard guard;
  hooked_waits();
  return nullptr;
}
TEST_P(ReturnHook, ThreadsEndInsideOfHookedFunctions) {
  pthread_t thread;
  void* result;
  ASSERT_EQ(::pthread_create(&thread, nullptr, run_leaves, nullptr), 0);
  ::pthread_join(thread, &result);
  EXPECT_EQ(result, reinterpret_cast<void*>(5));
  ASSERT_EQ(::pthread_create(&thread, nullptr, run_waits, nullptr), 0);
  ::usleep(10000);
  ::pthread_cancel(thread);
  ::pthread_join(thread, &result);
  EXPECT_EQ(result, PTHREAD_CANCELED);
  EXPECT_EQ(g_destroyed, 2);
}

TEST_P(ReturnHook, AnotherThreadMayFinishAFibersCall) {
  static int result;
  result = 0;
  static char stack[64 * 1024];
  ::getcontext(&g_fiber);
  g_fiber.uc_stack.ss_sp = stack;
  g_fiber.uc_stack.ss_size = sizeof stack;
  g_fiber.uc_link = &g_main_context;
  ::makecontext(
      &g_fiber, +[] { result = hooked_yields(1); }, 0);
  ::swapcontext(&g_main_context, &g_fiber);
  EXPECT_EQ(result, 0);
  std::thread([] { ::swapcontext(&g_main_context, &g_fiber); }).join();
  EXPECT_EQ(result, 2);
  EXPECT_EQ(hits(), 1u);
  EXPECT_LE(in_use(), before_.in_use);
}

TEST_P(ReturnHook, AForkedChildReturnsFromItsCopy) {
  const int status = test::status_of_child(
      [] { return hooked_add(40, 2) == 42 && hooked_recurse(100) == 100 ? 3 : 4; });
  EXPECT_EQ(WEXITSTATUS(status), 3);
}

TEST_P(ReturnHook, ManyThreadsAtOnce) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 16; i++)
    threads.emplace_back([i] {
      for (int round = 0; round < 200; round++)
        if (hooked_recurse(50 + i) != 50 + i) std::abort();
    });
  uint64_t calls = 0;
  for (int i = 0; i < 16; i++) {
    threads[size_t(i)].join();
    calls += 200 * uint64_t(51 + i);
  }
  EXPECT_EQ(hits() + counts_->missed, calls);
  EXPECT_EQ(counts_->missed, 0u);
}

// Threads that are gone leave no slots behind, though each of them keeps one for itself.
TEST_P(ReturnHook, ManyThreadsInTurn) {
  const int kThreads = 2000;
  for (int i = 0; i < kThreads; i++) std::thread([] { hooked_add(1, 2); }).join();
  EXPECT_EQ(hits(), uint64_t{kThreads});
  EXPECT_EQ(counts_->missed, 0u);
  EXPECT_LE(in_use(), before_.in_use);
}

TEST_P(ReturnHook, UnwindersSeeEveryRealFrame) {
  std::unique_ptr<std::vector<void*>> hooked(hooked_trace(5));
  g_program = nullptr;
  size_t real = 0;
  for (void* frame : *hooked) real += !is_return_trampoline(reinterpret_cast<uint64_t>(frame));
  EXPECT_EQ(hooked->size() - real, 6u);
  std::unique_ptr<std::vector<void*>> plain(real_trace(0));
  EXPECT_EQ(real, plain->size() + 5);
  EXPECT_EQ(hooked->back(), plain->back());
}

TEST_P(ReturnHook, FlagsAndRegistersArriveAsTheyLeft) {
  uint64_t flags = 0, sum = 0;
  __asm__ volatile(
      "call hooked_flags\n"
      "pushfq\npop %0\ncld\n"
      "lea (%%rcx, %%rdx, 8), %1\n"  // 1 + 16
      "lea (%1, %%rsi, 8), %1\nadd %%rdi, %1\nadd %%r8, %1\nadd %%r9, %1\nadd %%r10, %1\n"
      "add %%r11, %1\n"
      : "=&b"(flags), "=&r"(sum)
      :
      : "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "cc", "memory");
  EXPECT_EQ(flags & 0xcc1, 0xc81u);  // OF DF SF CF, not ZF
  EXPECT_EQ(sum, 1u + 16 + 24 + 4 + 5 + 6 + 7 + 8);
  EXPECT_EQ(hits(), 1u);
}

TEST_P(ReturnHook, RecordsCarryTheFunctionTheCallerAndTheResult) {
  set_fields({{FetchOp::kReg, 0, 0, 0, 0, 0},
              {FetchOp::kStore, 0, 8, 0, 24, 0},
              {FetchOp::kArg, 1, 0, 0, 0, 0},
              {FetchOp::kAdd, 0, 0, 0, 0, 5},
              {FetchOp::kStore, 0, 8, 0, 32, 0}},
             40);
  hooked_add(40, 2);  // a thread's first is the general way's
  records();
  hooked_add(40, 2);
  const auto found = records();
  ASSERT_EQ(found.size(), 1u);
  const std::vector<uint64_t>& words = found[0];
  ASSERT_EQ(words.size(), 5u);
  EXPECT_EQ(words[0], uint64_t(::gettid()) << 32 | 600);
  EXPECT_EQ(words[1], 0x4711u);
  EXPECT_FALSE(is_return_trampoline(words[2]));
  Dl_info info{};
  ::dladdr(reinterpret_cast<void*>(words[2]), &info);
  EXPECT_EQ(info.dli_fbase, main_object());
  EXPECT_EQ(words[3], 42u);
  EXPECT_EQ(words[4], 7u);
}

// Every general register, as the function left it.
TEST_P(ReturnHook, RecordsCarryEveryRegister) {
  for (uint8_t first : {0, 8}) {
    std::vector<FetchInsn> insns;
    for (uint8_t i = 0; i < 8; i++) {
      insns.push_back({FetchOp::kReg, uint8_t(first + i), 0, 0, 0, 0});
      insns.push_back({FetchOp::kStore, 0, 8, 0, 24u + 8 * i, 0});
    }
    set_fields(insns, 88);
    program_->max_record = 96;
    hooked_registers();
    records();
    const uint64_t results[2][8] = {{0x80, 1, 2, 0, 0, 0, 3, 4}, {5, 6, 7, 8}};
    hooked_registers();
    const auto found = records();
    ASSERT_EQ(found.size(), 1u);
    ASSERT_EQ(found[0].size(), 11u);
    for (size_t i = 0; i < 8; i++)
      if (const uint64_t result = results[first / 8][i]) {
        EXPECT_EQ(found[0][3 + i], result) << i;
      }
  }
}

// Either end of a call may take the other way.
struct Ends {
  bool entry, leave;
};
constexpr Ends kAllEnds[] = {{false, false}, {false, true}, {true, false}, {true, true}};

TEST_P(ReturnHook, CallsCarryTheirArgumentsAndTheResult) {
  if (!has_calls()) GTEST_SKIP() << "of whole calls";
  hooked_add(1, 2);
  records();
  const uint16_t code = program_->code, return_code = program_->return_code;
  for (const Ends ends : kAllEnds) {
    program_->code = ends.entry ? code : 0;
    program_->return_code = ends.leave ? return_code : 0;
    EXPECT_EQ(hooked_greet(100, "text", 3), -2);
    const auto found = records();
    ASSERT_EQ(found.size(), 4u);
    for (uint32_t i = 0; i < 4; i++) {  // the innermost returns first
      const std::vector<uint64_t>& words = found[i];
      ASSERT_EQ(words.size(), 6u);
      EXPECT_EQ(words[0], uint64_t(::gettid()) << 32 | 600);
      EXPECT_FALSE(is_return_trampoline(words[1]));
      Dl_info info{};
      ::dladdr(reinterpret_cast<void*>(words[1]), &info);
      EXPECT_EQ(info.dli_fbase, main_object());
      EXPECT_EQ(words[2], 0x4712u);
      EXPECT_EQ(uint32_t(words[3]), 103 - i);
      EXPECT_EQ(words[4], uint64_t(uint32_t(-5 + int(i))) << 32 | i);
      EXPECT_LT(words[5], 1'000'000'000u);
      if (i > 0) {
        EXPECT_GE(words[5], found[i - 1][5]) << "a call is longer than those inside";
      }
    }
  }
}

// The record of a call with these texts, behind its head and without its duration.
std::string call_bytes(uint32_t which, int count, const std::vector<std::string>& texts) {
  std::string fixed(72, 0), tail;
  const uint64_t first = which;
  const int result = -5;
  const auto put = [&fixed](size_t at, const void* bytes, size_t size) {
    fixed.replace(at, size, static_cast<const char*>(bytes), size);
  };
  put(24, &first, 8);
  put(32, &count, 4);
  const size_t end = 36 + 4 * texts.size(), duration = (end + 4 + 7) / 8 * 8;
  put(end, &result, 4);
  fixed.resize(duration + 8);
  for (size_t i = 0; i < texts.size(); i++) {
    const std::string text = texts[i].substr(0, 511);
    const uint32_t where = uint32_t(fixed.size() + tail.size()) | uint32_t(text.size() + 1) << 16;
    put(36 + 4 * i, &where, 4);
    tail += text + '\0';
  }
  fixed += tail;
  fixed.resize((fixed.size() + 3) / 4 * 4);
  return fixed.substr(24, duration - 24) + fixed.substr(duration + 8);
}

TEST_P(ReturnHook, CallsCarryTheirTexts) {
  if (!has_calls()) GTEST_SKIP() << "of whole calls";
  const size_t page = size_t(::sysconf(_SC_PAGESIZE));
  auto* pages = static_cast<char*>(
      ::mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_EQ(::mprotect(pages + page, page, PROT_NONE), 0);
  for (const size_t nr_texts : {1, 2}) {
    set_call(nr_texts == 1 ? std::vector<uint8_t>{1} : std::vector<uint8_t>{1, 1});
    hooked_greet(0, "first", 0);
    records();
    const uint16_t code = program_->code, return_code = program_->return_code;
    for (size_t length = 0; length < 600; length = length < 130 ? length + 1 : length + 47)
      for (const Ends ends : kAllEnds) {
        program_->code = ends.entry ? code : 0;
        program_->return_code = ends.leave ? return_code : 0;
        const std::string text(length, char('a' + length % 26));
        char* at = pages + page - length - 1;  // its end is that of what can be read
        std::memcpy(at, text.c_str(), length + 1);
        hooked_greet(7, at, 0);
        const auto found = bytes();
        ASSERT_EQ(found.size(), 1u) << length;
        EXPECT_EQ(found[0].substr(24, 24) + found[0].substr(56),
                  call_bytes(7, 0, std::vector<std::string>(nr_texts, text)))
            << length;
      }
    program_->code = code;
    program_->return_code = return_code;
    for (const char* bad :
         {static_cast<const char*>(nullptr), static_cast<const char*>(pages + page)}) {
      EXPECT_EQ(hooked_greet(7, bad, 0), -5);
      const auto found = bytes();
      ASSERT_EQ(found.size(), 1u);
      EXPECT_EQ(found[0].substr(24, 24) + found[0].substr(56),
                call_bytes(7, 0, std::vector<std::string>(nr_texts, "")));
    }
    EXPECT_LE(in_use(), before_.in_use);
  }
  ::munmap(pages, 2 * page);
}

// Of one comparison of numbers; the code of the way in question is made anew.
struct Filtered {
  FilterInsn insn;
  FilterProgram program;
};
FilterInsn number(FilterOp op, uint32_t offset, uint8_t size, int64_t value) {
  FilterInsn insn;
  insn.test = FilterTest::kNumber;
  insn.op = op;
  insn.size = size;
  insn.is_signed = true;
  insn.offset = offset;
  insn.value = uint64_t(value);
  insn.on_true = 1;
  insn.on_false = 2;
  return insn;
}

TEST_P(ReturnHook, CallsAreFiltered) {
  if (!has_calls()) GTEST_SKIP() << "of whole calls";
  for (const bool text : {false, true}) {
    program_->event[0].counts = counts_ = nullptr;
    set_call(text ? std::vector<uint8_t>{1} : std::vector<uint8_t>{});
    hooked_greet(0, "first", 0);
    const uint32_t result = text ? 40 : 36, duration = text ? 48 : 40;
    const struct {
      FilterInsn insn;
      size_t matches;
    } rows[] = {
        {number(FilterOp::kEqual, result, 4, -4), 1},
        {number(FilterOp::kLess, result, 4, -3), 2},
        {number(FilterOp::kGreater, result, 4, 0), 0},
        {number(FilterOp::kGreaterEqual, 24, 8, 101), 3},
        {number(FilterOp::kNotEqual, 32, 4, 1), 3},
        {number(FilterOp::kLess, duration, 8, int64_t{1} << 40), 4},
        {number(FilterOp::kGreater, duration, 8, int64_t{1} << 40), 0},
    };
    for (const auto& row : rows) {
      auto* made = keep(new Filtered{row.insn, {}});
      made->program = {nullptr, &made->insn, 1, row.insn.offset + row.insn.size};
      auto* event = keep(new EventProgram(*event_));
      event->filter = &made->program;
      auto* program = make_flexible<SiteProgram>(sizeof(SiteEvent)).release();
      std::memcpy(program, program_, sizeof(SiteProgram) + sizeof(SiteEvent));
      program->event[0].event = event;
      patchbay::choose_code(program, true);
      EXPECT_EQ(program->return_code != 0, is_quick());
      return_hook_test_site.return_program = g_program = program;
      records();
      for (int i = 0; i < 3; i++) EXPECT_EQ(hooked_greet(100, "text", 3), -2);
      const auto found = records();
      EXPECT_EQ(found.size(), 3 * row.matches)
          << int(row.insn.op) << ' ' << row.insn.offset << ' ' << text;
      for (const auto& words : found) EXPECT_LT(words[duration / 8], 1'000'000'000u);
    }
  }
  EXPECT_LE(in_use(), before_.in_use);
}

TEST_P(ReturnHook, FunctionsAreEnteredWithTheRegistersOfTheCall) {
  if (!is_quick()) GTEST_SKIP() << "the thunk of this test keeps no more than arguments";
  if (has_calls()) set_call({1});
  for (int i = 0; i < 3; i++) {
    uint64_t result = 11;
    __asm__ volatile(
        "mov $12, %%ecx\nmov $13, %%edx\nlea 1f(%%rip), %%rsi\nmov $15, %%edi\nmov $16, %%r8d\n"
        "mov $17, %%r9d\nmov $18, %%r10d\nmov $19, %%r11d\n"
        "call hooked_keeps\n"
        ".pushsection .rodata\n1: .asciz \"a text\"\n.popsection\n"
        : "+a"(result)
        :
        : "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "cc", "memory");
    EXPECT_EQ(result, 6u);
    const uint64_t* kept = return_hook_test_kept;
    EXPECT_EQ(kept[0], 11u);
    EXPECT_EQ(kept[1], 12u);
    EXPECT_EQ(kept[2], 13u);
    EXPECT_STREQ(reinterpret_cast<const char*>(kept[3]), "a text");
    for (uint64_t k = 4; k < 9; k++) EXPECT_EQ(kept[k], 11 + k);
  }
  EXPECT_EQ(hits(), 3u);
}

std::atomic<uint64_t> g_handled;
void on_profile(int) {
  if (hooked_add(g_handled, 1) != g_handled + 1) std::abort();
  g_handled = g_handled + 1;
}
// A function that returns with alignment checks on: the record is written all the same.
TEST_P(ReturnHook, AlignmentChecksStayOn) {
  for (uint64_t i = 0; i < 3; i++) {  // records end at odd words too
    uint64_t flags = 0, result = 0;
    __asm__ volatile(
        "call hooked_checked\n"
        "pushfq\npop %0\npushfq\nandl $0xfffbffff, (%%rsp)\npopfq\n"
        : "=&r"(flags), "=&a"(result)
        :
        : "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "cc", "memory");
    EXPECT_EQ(flags & 0x40000, 0x40000u);
    EXPECT_EQ(result, 9u);
    hooked_add(1, 2);
  }
  EXPECT_EQ(hits(), 6u);
  EXPECT_EQ(records().size(), 6u);
}

// Between any two instructions of either way.
TEST_P(ReturnHook, SignalsHitWhereverTheyCome) {
  test::SignalStorm storm(ITIMER_PROF, 100, on_profile);
  g_handled = 0;
  uint64_t calls = 0;
  for (; g_handled < 200; calls++)
    if (hooked_add(calls, 2) != calls + 2) std::abort();
  storm.stop();
  EXPECT_EQ(hits() + counts_->missed, calls + g_handled);
  EXPECT_EQ(counts_->missed, 0u);
  EXPECT_LE(in_use(), before_.in_use);
}

// What was switched off on the way, and programs that have no code any more.
TEST_P(ReturnHook, SwitchedOffEventsRecordNothing) {
  hooked_add(1, 2);
  records();
  event_->rings = RingBuffer::dead_rings();
  hooked_add(1, 2);
  event_->rings = buffer_->rings();
  EXPECT_TRUE(records().empty());
  hooked_add(1, 2);
  EXPECT_EQ(records().size(), 1u);
  EXPECT_EQ(hits(), 3u);
}

}  // namespace
}  // namespace patchbay
