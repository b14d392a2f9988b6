// SPDX-License-Identifier: MIT
//
// Function tracers at an entry, entered as stubs enter function_entry.S: every call is in every
// buffer that is on, once, also where a sub-buffer ends, a signal comes or a return is hooked. And
// which events may go that way at all.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "abi/ftrace_records.h"
#include "codegen/probe_compile.h"
#include "hot/rseq_testing.h"
#include "hot/storm_testing.h"
#include "probe/callbacks/callbacks.h"
#include "ring_buffer/ring_buffer.h"
#include "ring_buffer/ring_reader.h"
#include "ring_buffer/ring_write_hot.h"

namespace patchbay {
namespace {

extern "C" {
CallSite function_entry_test_site;
uint64_t function_entry_called(uint64_t value);
uint64_t function_entry_called_with(uint64_t value, int, int, int, int, long, long);  // the same
uint64_t function_entry_tail(uint64_t value);
__attribute__((used, noinline)) uint64_t function_entry_real(uint64_t value) { return value + 1; }
}
// As probe_emitter.cc emits it, without a return program; _tail ends in the same call.
__asm__(
    ".text\n.globl function_entry_called\n.type function_entry_called, @function\n"
    ".globl function_entry_called_with\nfunction_entry_called_with:\n"
    "function_entry_called:\n.cfi_startproc\n"
    "mov %rax, -16(%rsp)\nlea function_entry_test_site(%rip), %rax\ncall probe_entry_shared\n"
    "mov -16(%rsp), %rax\njmp function_entry_real\n.cfi_endproc\n"
    ".size function_entry_called, . - function_entry_called\n"
    ".globl function_entry_tail\n.type function_entry_tail, @function\n"
    "function_entry_tail:\n.cfi_startproc\njmp function_entry_called\n.cfi_endproc\n"
    ".size function_entry_tail, . - function_entry_tail\n");

template <typename T>
T* flexible(size_t more) {
  return static_cast<T*>(std::calloc(1, sizeof(T) + more));
}

struct CallBuffer {
  explicit CallBuffer(uint64_t bytes) {
    char name[] = "/tmp/function_entry_test.XXXXXX";
    directory = ::mkdtemp(name);
    RingBufferOptions options;
    options.path = directory + "/buffer";
    options.nr_cpus = uint32_t(::sysconf(_SC_NPROCESSORS_CONF));
    options.bytes_per_cpu = bytes;
    auto made = RingBuffer::create(options);
    EXPECT_TRUE(made.ok());
    buffer = std::move(*made);
    EXPECT_TRUE(buffer->enable().ok());
    event.rings = buffer->rings();
    event.id = abi::kFunctionId;
    event.max_size = 24;
  }
  ~CallBuffer() {
    buffer->remove_file();
    ::rmdir(directory.c_str());
  }
  std::vector<std::vector<uint64_t>> records() {
    std::vector<std::vector<uint64_t>> found;
    RingReader reader(buffer.get(), true);
    PageImage page;
    for (uint32_t ring = 0; ring < reader.nr_rings(); ring++)
      while (reader.next_page(ring, true, &page)) {
        EventIterator events(page.bytes, page.used);
        for (EventView view; events.next(&view);) {
          EXPECT_EQ(view.record.size(), 24u);
          found.emplace_back(3);
          std::memcpy(found.back().data(), view.record.data(), 24);
        }
      }
    return found;
  }
  std::string directory;
  std::unique_ptr<RingBuffer> buffer;
  EventProgram event{};
};

class FunctionEntry : public ::testing::Test {
 protected:
  void SetUp() override {
    pb_rseq_offset = test::rseq_offset();
    if (!pb_rseq_offset) GTEST_SKIP() << "no rseq";
    if (small_.buffer->header()->clock != abi::kClockTsc) GTEST_SKIP() << "no TSC";
    *fetch_ = {24, 24, 0, 0, 0, 1, 0, RecordHead::kCall, 0};
    function_entry_test_site.function = function_entry_test_site.address = kFunction;
    publish({&small_.event, &large_.event, &off_.event});
    off_.event.rings = RingBuffer::dead_rings();
    EXPECT_EQ(program_->code, kEntryCalls);
  }
  void TearDown() override {
    function_entry_test_site.program = nullptr;
    pb_rseq_offset = 0;
    std::free(program_);
    std::free(fetch_);
  }
  void publish(const std::vector<EventProgram*>& events) {
    std::free(program_);
    program_ = flexible<SiteProgram>(events.size() * sizeof(SiteEvent));
    program_->nr_events = uint32_t(events.size());
    program_->max_record = 24;
    for (size_t i = 0; i < events.size(); i++) {
      events[i]->fetch = fetch_;
      program_->event[i] = {events[i], fetch_, 0, nullptr};
    }
    choose_code(program_, false);
    function_entry_test_site.program = program_;
  }

  static constexpr uint64_t kFunction = 0x4711;
  CallBuffer small_{1 << 16}, large_{4 << 20}, off_{1 << 16};
  FetchProgram* fetch_ = flexible<FetchProgram>(0);
  SiteProgram* program_ = nullptr;
};

TEST_F(FunctionEntry, EveryCallIsInEachBufferOnceWhereverSubBuffersEnd) {
  constexpr uint64_t kCalls = 50000;  // many times what the small one holds
  for (uint64_t i = 0; i < kCalls; i++) ASSERT_EQ(function_entry_called(i), i + 1);
  const auto all = large_.records();
  EXPECT_EQ(all.size(), kCalls);
  const uint64_t here = reinterpret_cast<uint64_t>(&function_entry_called);
  for (const auto& record : all) {
    EXPECT_EQ(record[0], uint64_t(::gettid()) << 32 | abi::kFunctionId);
    EXPECT_EQ(record[1], kFunction);
    EXPECT_EQ(record[2], all[0][2]);
    EXPECT_NE(record[2], here);
  }
  const auto newest = small_.records();
  EXPECT_GT(newest.size(), 1000u);
  EXPECT_LT(newest.size(), 3000u * uint64_t(::sysconf(_SC_NPROCESSORS_CONF)));  // it may migrate
  EXPECT_TRUE(off_.records().empty());
}

TEST_F(FunctionEntry, BuffersThatAreOffCostTheOthersNothing) {
  small_.buffer->disable();
  for (uint64_t i = 0; i < 1000; i++) function_entry_called(i);
  EXPECT_EQ(large_.records().size(), 1000u);
  EXPECT_TRUE(small_.records().empty());
}

volatile uint64_t g_signals;
void on_signal(int) {
  function_entry_called(0);
  g_signals = g_signals + 1;
}
TEST_F(FunctionEntry, SignalsComeAnywhere) {
  test::SignalStorm storm(ITIMER_PROF, 100, on_signal);
  g_signals = 0;
  size_t calls = 0, recorded = 0;
  while (g_signals < 100) {
    for (int i = 0; i < 10000; i++) function_entry_called(uint64_t(i));
    calls += 10000;
    recorded += large_.records().size();
  }
  storm.stop();
  recorded += large_.records().size();
  EXPECT_EQ(recorded, calls + g_signals);
}

// --- a callback of the program

struct SeenCall {
  uint64_t ip, parent_ip, argument, arguments[6], on_stack;
  bool operator==(const SeenCall&) const = default;
};
std::vector<SeenCall> g_seen;
volatile uint64_t g_callbacks;
bool g_calls_again;

void note_call(uint64_t ip, uint64_t parent_ip, uint64_t argument,
               const CallbackRegisters* registers) {
  EXPECT_EQ(registers->ip, ip);
  EXPECT_EQ(registers->parent_ip, parent_ip);
  EXPECT_EQ(*registers->stack, parent_ip);
  EXPECT_EQ(reinterpret_cast<uint64_t>(__builtin_frame_address(0)) % 16, 0u);
  SeenCall seen = {ip, parent_ip, argument, {}, registers->stack[1]};
  for (int i = 0; i < 6; i++) seen.arguments[i] = registers->registers->arg[i];
  g_seen.push_back(seen);
  if (g_calls_again) function_entry_called(1);
}
void count_call(uint64_t, uint64_t, uint64_t, const CallbackRegisters*) {
  g_callbacks = g_callbacks + 1;
}

class CallbackEntry : public FunctionEntry {
 protected:
  void use(void (*function)(uint64_t, uint64_t, uint64_t, const CallbackRegisters*),
           LiveVectors vectors) {
    if (callback_) switch_off(callback_);
    callback_ = make_callback(reinterpret_cast<uint64_t>(function), 77, vectors);
    small_.event.kind = ConsumerKind::kCallback;
    small_.event.callback = callback_;
    publish({&small_.event});
    EXPECT_EQ(program_->code, kEntryCallback);
    function_entry_called(1);  // the thread is known, and has a slot
    g_seen.clear();
  }
  void TearDown() override {
    if (callback_) switch_off(callback_);
    FunctionEntry::TearDown();
  }
  // Six arguments in registers, a seventh.
  static std::vector<SeenCall> call() {
    g_seen.clear();
    EXPECT_EQ(function_entry_called_with(1000, 2, 3, 4, 5, 6, 7), 1001u);
    return g_seen;
  }
  HitCallback* callback_ = nullptr;
};

TEST_F(CallbackEntry, IsGivenWhatTheGeneralWayGives) {
  for (const LiveVectors vectors : {LiveVectors::kUntouched, LiveVectors::kAtEntry}) {
    use(note_call, vectors);
    std::vector<SeenCall> calls[2];
    for (const bool general : {false, true}) {
      program_->code = general ? 0 : uint16_t{kEntryCallback};
      calls[general] = call();
    }
    ASSERT_EQ(calls[0].size(), 1u);
    EXPECT_EQ(calls[0][0].ip, kFunction);
    EXPECT_EQ(calls[0][0].argument, 77u);
    EXPECT_EQ(calls[0][0].arguments[0], 1000u);
    EXPECT_EQ(calls[0][0].arguments[5], 6u);
    EXPECT_EQ(calls[0][0].on_stack, 7u);
    EXPECT_EQ(calls[0], calls[1]);
    program_->code = kEntryCallback;
    program_->event[0].ip = 0x1234;
    EXPECT_EQ(call()[0].ip, 0x1234u);
    switch_off(callback_);
    EXPECT_TRUE(call().empty()) << "it is off";
  }
}

TEST_F(CallbackEntry, ACallInsideIsMissed) {
  use(note_call, LiveVectors::kUntouched);
  g_calls_again = true;
  const uint64_t missed = callback_->missed;
  EXPECT_EQ(call().size(), 1u);
  EXPECT_EQ(callback_->missed, missed + 1);
  g_calls_again = false;
}

TEST_F(CallbackEntry, EveryCallIsCountedWhereverASignalComes) {
  use(count_call, LiveVectors::kUntouched);
  const uint64_t missed = callback_->missed;
  g_signals = 0;
  g_callbacks = 0;
  size_t calls = 0;
  test::SignalStorm storm(ITIMER_PROF, 100, on_signal);
  for (; g_signals < 100; calls += 10000)
    for (int i = 0; i < 10000; i++) function_entry_called(uint64_t(i));
  storm.stop();
  EXPECT_EQ(g_callbacks + callback_->missed - missed, calls + g_signals);
}

TEST(FunctionEntryCode, OnlyCallbacksOfAllThreadsAreFast) {
  HitCallback* callback = make_callback(1, 2, LiveVectors::kAtEntry);
  EventProgram plain{};
  plain.kind = ConsumerKind::kCallback;
  plain.callback = callback;
  ProbeCounts counts{};
  PidSet pids{};
  EXPECT_TRUE(is_fast_callback({&plain, nullptr, 0, nullptr}));
  EXPECT_FALSE(is_fast_callback({&plain, nullptr, 0, &counts}));
  EventProgram other = plain;
  other.pids = &pids;
  EXPECT_FALSE(is_fast_callback({&other, nullptr, 0, nullptr}));
  other = plain;
  other.kind = ConsumerKind::kAction;
  EXPECT_FALSE(is_fast_callback({&other, nullptr, 0, nullptr}));
  switch_off(callback);
}

TEST(FunctionEntryCode, OnlyWhatRecordsPlainlyIsFast) {
  const ptrdiff_t offset = pb_rseq_offset;
  pb_rseq_offset = 64;
  RingSet rings{};
  rings.clock = abi::kClockTsc;
  FetchProgram fetch = {24, 24, 0, 0, 0, 1, 0, RecordHead::kCall, 0};
  FetchProgram with_arguments = fetch, of_function = fetch;
  with_arguments.nr_insns = 1;
  of_function.head = RecordHead::kFunction;
  PidSet no_pids{};
  const PidSet* pids = &no_pids;
  const FetchProgram* calls = &fetch;
  ProbeCounts counts{};
  uint32_t soft = 0;
  EventProgram plain{};
  plain.rings = &rings;
  plain.id = abi::kFunctionId;
  const SiteEvent usual = {&plain, &fetch, 0, nullptr};
  EXPECT_TRUE(is_fast_call(usual));
  auto with = [&](auto change) {
    EventProgram other = plain;
    change(&other);
    return is_fast_call({&other, calls, 0, nullptr});
  };
  EXPECT_FALSE(with([](EventProgram* event) { event->stack = kFunctionStack; }));
  EXPECT_FALSE(with([](EventProgram* event) { event->stack = kUserStack; }));
  EXPECT_FALSE(with([](EventProgram* event) { event->merges_repeats = 1; }));
  EXPECT_FALSE(with([](EventProgram* event) { event->id = 600; }));
  EXPECT_FALSE(with([](EventProgram* event) { event->kind = ConsumerKind::kAction; }));
  EXPECT_FALSE(with([](EventProgram* event) { event->kind = ConsumerKind::kStackDepth; }));
  EXPECT_FALSE(with([&](EventProgram* event) { event->pids = pids; }));
  EXPECT_FALSE(with([&](EventProgram* event) { event->notrace_pids = pids; }));
  EXPECT_FALSE(with([&](EventProgram* event) { event->has_soft = 1, event->soft = &soft; }));
  EXPECT_FALSE(is_fast_call({&plain, &with_arguments, 0, nullptr}));
  EXPECT_FALSE(is_fast_call({&plain, &of_function, 0, nullptr}));
  EXPECT_FALSE(is_fast_call({&plain, &fetch, 0x4711, nullptr}));
  EXPECT_FALSE(is_fast_call({&plain, &fetch, 0, &counts}));
  rings.clock = abi::kClockTsc + 1;
  EXPECT_FALSE(is_fast_call(usual));
  rings.clock = abi::kClockTsc;
  pb_rseq_offset = 0;
  EXPECT_FALSE(is_fast_call(usual));
  pb_rseq_offset = offset;
}

}  // namespace
}  // namespace patchbay
