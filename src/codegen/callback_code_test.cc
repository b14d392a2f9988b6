// SPDX-License-Identifier: MIT
//
// Subscribers called by code of their place against the general way: both have to give them the
// same records, as often. Programs and memory are random, by a seed that each failure names;
// PB_CALLBACK_SEED begins with another one.
#include "codegen/callback_code.h"

#include <alloca.h>
#include <sys/wait.h>
#include <unistd.h>
#include <unwind.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "codegen/fetch_testing.h"
#include "hot/storm_testing.h"
#include "probe/callbacks/callbacks.h"

namespace patchbay {
namespace {

using Word = uint64_t;

template <typename F>
Word address_of(F* function) {
  return reinterpret_cast<Word>(function);
}

struct Call {
  Word argument;
  std::vector<uint8_t> record;
  bool operator==(const Call&) const = default;
};
std::vector<Call> g_calls;

void note(const CallbackRecord* given, Word argument) {
  const auto* bytes = static_cast<const uint8_t*>(given->record);
  uint32_t tid;
  std::memcpy(&tid, bytes + 4, sizeof tid);
  EXPECT_EQ(given->tid, tid);
  EXPECT_EQ(address_of(bytes) % 8, 0u);
  g_calls.push_back({argument, {bytes, bytes + given->size}});
}

class CallbackCode : public FetchTest {
 protected:
  void SetUp() override {
    FetchTest::SetUp();
    if (IsSkipped()) return;
    define("f(int a, u64 b)");
    subscribe({""});
    run(general_code(best()));  // this thread has a slot
    g_calls.clear();
  }
  void TearDown() override {
    for (HitCallback* one : callbacks_) switch_off(one);
    FetchTest::TearDown();
  }

  // Of the event, which is off: one for each filter.
  void subscribe(const std::vector<std::string>& filters,
                 void (*function)(const CallbackRecord*, Word) = note,
                 LiveVectors vectors = LiveVectors::kUntouched) {
    for (HitCallback* one : callbacks_) switch_off(one);
    callbacks_.clear();
    set_triggers(filters);
    for (size_t i = 0; i < filters.size(); i++) {
      callbacks_.push_back(make_callback(address_of(function), 100 + i, vectors));
      Trigger& trigger = triggers()->trigger[i];
      trigger.kind = TriggerKind::kCallback;
      trigger.action = nullptr;
      trigger.after = trigger.needs_record = 1;
      trigger.callback = callbacks_.back();
    }
  }
  TriggerProgram* triggers() { return reinterpret_cast<TriggerProgram*>(trigger_bytes_.data()); }
  ProbeCode best() const { return probe_code(&site_, program_, nullptr, false, false); }
  const uint8_t* place(const ProbeCode& code) {
    count_hit(new_hit_counter());  // rseq_cs leads elsewhere
    const size_t size = emit_probe(code, code_, kMax - 1, address_of(code_));
    EXPECT_GT(size, 0u);
    expect_site_is_named(code_, size);
    code_[size] = 0xc3;
    return code_;
  }
  // One hit, and what it has called.
  std::vector<Call> run(const ProbeCode& code, const Registers& in = {}) {
    g_calls.clear();
    Registers out;
    EXPECT_TRUE(call(code, in, &out).empty()) << "nobody records the event";
    EXPECT_EQ(std::memcmp(&in, &out, sizeof in), 0) << "registers";
    return std::move(g_calls);
  }
  std::vector<std::vector<uint8_t>> records_of(const ProbeCode& code, const Registers& in,
                                               Registers* out) override {
    g_calls.clear();
    EXPECT_TRUE(call(code, in, out).empty()) << "nobody records the event";
    std::vector<std::vector<uint8_t>> records;
    for (Call& one : g_calls) records.push_back(std::move(one.record));
    return records;
  }
  // What came without the general way, which would not count these.
  bool came_by_code(const ProbeCode& code, const Registers& in = {}) {
    for (int tries = 0; tries < 1000; tries++) {  // preemption takes the general way
      general_fetch_ = marker_.get();
      const std::vector<Call> calls = run(code, in);
      general_fetch_ = nullptr;
      if (!calls.empty() && !is_marker(calls[0].record)) return true;
    }
    return false;
  }

  std::vector<HitCallback*> callbacks_;
};

TEST_F(CallbackCode, RandomProgramsGiveWhatTheGeneralWayGives) {
  const char* given = std::getenv("PB_CALLBACK_SEED");
  const uint64_t first = given ? std::strtoull(given, nullptr, 0) : 1;
  for (uint64_t seed = first; seed < first + 300 && !HasFailure(); seed++) {
    Maker maker(seed, memory_);
    maker.fill();
    for (uint64_t& word : t_words) word = maker.pointer();
    const RecordHead head = maker.once_in(2) ? RecordHead::kProbe : RecordHead::kFunction;
    uint32_t fixed;
    const auto insns = maker.program(head, false, &fixed);
    use(make(insns, fixed, head));
    ProbeCounts counts{new_hit_counter(), 0, 0, 0};
    if (maker.once_in(2)) set_place(fetch_.get(), &counts);
    for (int i = 0; i < 4; i++) {
      SCOPED_TRACE("PB_CALLBACK_SEED=" + std::to_string(seed) + ", registers " + std::to_string(i) +
                   "\n" + describe(*fetch_));
      Registers in;
      maker.fill(&in);
      compare(in, false, false);
    }
  }
  EXPECT_GT(seen_fast_, 200) << "or the code was hardly run";
  EXPECT_GT(seen_faults_, 30);
}

TEST_F(CallbackCode, TextsAreGivenWhole) {
  use(make({{FetchOp::kArg, 0, 0, 0, 0, 0},
            {FetchOp::kString, 0, 4, 0, 24, 512},
            {FetchOp::kArg, 1, 0, 0, 0, 0},
            {FetchOp::kString, 0, 4, 0, 28, 512}},
           32, RecordHead::kFunction));
  std::memset(memory_, 'x', 2 * kPage);
  uint8_t* const end = memory_ + 2 * kPage - 1;
  *end = 0;
  constexpr size_t kRoom = abi::kMaxSmallData - 32;
  for (size_t both = 0; both < kRoom + 20 && !HasFailure(); both++) {
    for (const size_t first : {both / 3, both / 2, both}) {
      Registers in{};
      in.r[0] = address_of(end) - first;
      in.r[1] = address_of(end) - (both - first);
      compare(in, false, false);
    }
  }
  EXPECT_GT(seen_fast_, 3 * int(kRoom) - 20);
}

TEST_F(CallbackCode, IsMadeWhereSubscriptionsAreAllThatIsAsked) {
  const auto has_code = [this] { return best().calls && best().fast; };
  EXPECT_TRUE(has_code());
  subscribe({"a > 3"});
  EXPECT_TRUE(has_code());
  subscribe({"", "", "", ""});
  EXPECT_TRUE(has_code());
  subscribe({"", "", "", "", ""});
  EXPECT_FALSE(has_code()) << "so many";
  subscribe({"", "a > 3"});
  EXPECT_FALSE(has_code()) << "one of several has a filter";
  subscribe({""});
  triggers()->trigger[0].kind = TriggerKind::kAction;
  EXPECT_FALSE(has_code()) << "another trigger";
  subscribe({""});
  event_.has_soft = 0;
  EXPECT_FALSE(has_code()) << "the event is on";
  subscribe({""});
  PidSet none{};
  event_.pids = &none;
  EXPECT_FALSE(has_code()) << "some threads are wanted";
  event_.pids = nullptr;
  EXPECT_FALSE(probe_code(&site_, program_, nullptr, true, false).calls) << "flags are live";
  EXPECT_FALSE(probe_code(&site_, program_, nullptr, false, true).calls) << "inside a function";
  EXPECT_TRUE(has_code());
  define("f(string a)");
  subscribe({"a ~ \"*x*\""});
  EXPECT_FALSE(has_code()) << "a filter that needs the record";
}

TEST_F(CallbackCode, AFilterOnRegistersDecides) {
  subscribe({"a > 3 && b != 7"});
  const ProbeCode code = best();
  ASSERT_TRUE(code.calls && code.gated);
  for (Word a = 0; a < 8; a++) {
    for (Word b = 5; b < 9; b++) {
      Registers in{};
      in.r[0] = a;
      in.r[1] = b;
      const std::vector<Call> calls = run(code, in);
      EXPECT_EQ(calls.size(), a > 3 && b != 7 ? 1u : 0u);
      EXPECT_EQ(calls, run(general_code(code), in));
    }
  }
}

TEST_F(CallbackCode, SeveralAreCalledInTheirOrder) {
  for (size_t count = 1; count <= kMaxCodeCallbacks; count++) {
    subscribe(std::vector<std::string>(count));
    const ProbeCode code = best();
    ASSERT_TRUE(code.calls);
    EXPECT_TRUE(came_by_code(code));
    const std::vector<Call> calls = run(code);
    ASSERT_EQ(calls.size(), count);
    for (size_t i = 0; i < count; i++) {
      EXPECT_EQ(calls[i].argument, 100 + i);
      EXPECT_EQ(calls[i].record, calls[0].record);
    }
    EXPECT_EQ(calls, run(general_code(code)));
    for (size_t off = 0; off < count; off++) {
      switch_off(callbacks_[off]);
      EXPECT_EQ(run(code).size(), count - 1) << "one of them is off";
      make_callback(address_of(&note), 100 + off, LiveVectors::kUntouched);
    }
    EXPECT_EQ(run(code).size(), count);
  }
}

TEST_F(CallbackCode, WhatTheCodeDoesNotDoGoesTheGeneralWay) {
  const ProbeCode code = best();
  const auto expect = [&](size_t calls, const char* why) {
    EXPECT_EQ(run(code).size(), calls) << why;
  };
  EXPECT_TRUE(came_by_code(code));
  pb_thread.fast_tid = 0;
  expect(1, "a new thread");
  pb_thread.in_agent = 1;
  pb_thread.fast_tid = 0;
  expect(0, "in the agent");
  pb_thread.in_agent = 0;
  expect(1, "and again not in it");
  CallbackSlot* const slot = pb_thread.callback_slot;
  pb_thread.callback_slot = nullptr;
  expect(1, "a thread without a slot");
  pb_thread.callback_slot->tid = 0;
  pb_thread.callback_slot = slot;
  soft_ = 1;
  g_calls.clear();
  Registers in{}, out;
  EXPECT_EQ(call(code, in, &out).size(), 1u) << "the event is recorded";
  EXPECT_EQ(g_calls.size(), 1u);
}

// --- in a callback

const uint8_t* g_code;
void hit_again(const CallbackRecord* given, Word argument) {
  note(given, argument);
  Registers in{}, out;
  call_with_registers(&in, &out, g_code);
}

TEST_F(CallbackCode, AHitInsideIsMissed) {
  subscribe({"", ""}, hit_again);
  g_code = code_;
  const Word before[] = {callbacks_[0]->missed, callbacks_[1]->missed};
  EXPECT_EQ(run(best()).size(), 2u);
  for (int i = 0; i < 2; i++) EXPECT_EQ(callbacks_[i]->missed, before[i] + 2);
  EXPECT_EQ(pb_thread.callback_slot->running, nullptr);
}

// What it writes lies below everything of ours.
__attribute__((noinline)) void use_much_stack(const CallbackRecord* given, Word argument) {
  const auto* bytes = static_cast<const uint8_t*>(given->record);
  const std::vector<uint8_t> before(bytes, bytes + given->size);
  constexpr size_t kMuch = 200'000;
  auto* much = static_cast<volatile uint8_t*>(alloca(kMuch));
  for (size_t i = 0; i < kMuch; i++) much[i] = 0xa5;
  EXPECT_EQ(std::memcmp(bytes, before.data(), before.size()), 0);
  EXPECT_EQ(address_of(__builtin_frame_address(0)) % 16, 0u) << "the stack is aligned";
  note(given, argument);
}

TEST_F(CallbackCode, TheCallbackMayUseTheStack) {
  subscribe({"", ""}, use_much_stack);
  ASSERT_TRUE(best().calls);
  Registers in;
  for (Word i = 0; i < std::size(in.r); i++) in.r[i] = 0x1111111111111111 * (i + 1);
  EXPECT_TRUE(came_by_code(best(), in));
  const std::vector<Call> calls = run(best(), in);
  ASSERT_EQ(calls.size(), 2u);
  EXPECT_EQ(calls, run(general_code(best()), in));
}

// The child has no callbacks (callbacks_after_fork() is the agent's at a fork); where the thread is
// in one, it comes back from it.
bool g_is_child;
void fork_here(const CallbackRecord* given, Word argument) {
  note(given, argument);
  if (argument != 100) return;
  const pid_t child = ::fork();
  g_is_child = child == 0;
  if (g_is_child) return callbacks_after_fork();
  int status = -1;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST_F(CallbackCode, AChildThatIsForkedInsideCallsNone) {
  subscribe({"", "", ""}, fork_here);
  place(best());
  Registers in{}, out;
  g_calls.clear();
  call_with_registers(&in, &out, code_);
  const size_t calls = g_calls.size();
  if (g_is_child) {
    call_with_registers(&in, &out, code_);
    ::_exit(calls == 1 && g_calls.size() == 1 && !HasFailure() ? 0 : 1);
  }
  EXPECT_EQ(calls, 3u);
}

// --- a handler between any two instructions, which goes through the agent

uint64_t g_nr_calls, g_nr_strangers;
void count_strangers(const CallbackRecord* given, Word) {
  uint32_t tid;
  std::memcpy(&tid, static_cast<const uint8_t*>(given->record) + 4, sizeof tid);
  g_nr_calls++;
  g_nr_strangers += tid != pb_thread.tid || given->tid != pb_thread.tid;
}

TEST_F(CallbackCode, EachRecordIsOfItsThreadWhereHandlersGoThroughTheAgent) {
  subscribe({""}, count_strangers);
  place(best());
  test::SignalStorm storm(ITIMER_REAL, 50, [](int) { pb_thread.fast_tid = 0; });
  constexpr uint64_t kHits = 3'000'000;
  g_nr_calls = g_nr_strangers = 0;
  Registers in{}, out;
  for (uint64_t i = 0; i < kHits; i++) call_with_registers(&in, &out, code_);
  storm.stop();
  EXPECT_EQ(g_nr_calls, kHits);
  EXPECT_EQ(g_nr_strangers, 0u);
}

// --- registers that are the program's

void spoil_vectors(const CallbackRecord*, Word) {
  __asm__ volatile(
      ".irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15\n"
      "pcmpeqd %%xmm\\n, %%xmm\\n\n"
      ".endr" ::
          : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10",
            "xmm11", "xmm12", "xmm13", "xmm14", "xmm15");
  g_calls.push_back({});
}

struct Vectors {
  uint8_t xmm[16][16];
};
// Loads all from `in`, calls `code`, stores all to `out`.
extern "C" void call_with_vectors(const Vectors* in, Vectors* out, const void* code);
__asm__(R"(
	.text
	.type call_with_vectors, @function
call_with_vectors:
	push %rbx
	mov %rsi, %rbx
	.irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
	movups 16*\n(%rdi), %xmm\n
	.endr
	call *%rdx
	.irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
	movups %xmm\n, 16*\n(%rbx)
	.endr
	pop %rbx
	ret
	.size call_with_vectors, . - call_with_vectors
)");

TEST_F(CallbackCode, VectorRegistersAreKeptForCallbacksThatMayUseThem) {
  for (const bool in_use_is_known : {true, false}) {
    if (in_use_is_known && !pb_callback_xinuse) continue;
    const uint8_t before = std::exchange(pb_callback_xinuse, in_use_is_known);
    subscribe({"", ""}, spoil_vectors, LiveVectors::kAll);
    const ProbeCode code = best();
    ASSERT_TRUE(code.calls);
    Vectors in, out = {};
    for (size_t i = 0; i < sizeof in; i++) (&in.xmm[0][0])[i] = uint8_t(7 * i + 1);
    g_calls.clear();
    call_with_vectors(&in, &out, place(code));
    EXPECT_EQ(g_calls.size(), 2u);
    EXPECT_EQ(std::memcmp(&in, &out, sizeof in), 0);
    pb_callback_xinuse = before;
  }
}

std::vector<Word> g_frames;
_Unwind_Reason_Code note_frame(_Unwind_Context* context, void*) {
  g_frames.push_back(_Unwind_GetIP(context));
  return _URC_NO_REASON;
}
void unwind_here(const CallbackRecord*, Word) { _Unwind_Backtrace(note_frame, nullptr); }

// Which they know no table of.
TEST_F(CallbackCode, UnwindersPassTheCode) {
  subscribe({""}, unwind_here);
  place(best());
  Registers in{}, out;
  const Word caller = address_of(&call_with_registers);
  for (int tries = 0; tries < 2; tries++) {
    g_frames.clear();
    call_with_registers(&in, &out, code_);
    const auto is_caller = [caller](Word ip) { return ip - caller < 300; };
    EXPECT_EQ(std::count_if(g_frames.begin(), g_frames.end(), is_caller), 1);
  }
}

// --- threads

struct Counted {
  std::atomic<uint64_t> calls{0}, sum{0}, inside{0}, late{0};
  std::atomic<bool> is_gone{false};
};
Counted g_counted[2];

void count_up(const CallbackRecord* given, Word argument) {
  Counted& counted = g_counted[argument - 100];
  counted.inside++;
  if (counted.is_gone) counted.late++;
  uint64_t value;
  std::memcpy(&value, static_cast<const uint8_t*>(given->record) + 24, sizeof value);
  counted.sum += value;
  counted.calls++;
  counted.inside--;
}

std::atomic<uint64_t> g_handled{0};
void on_alarm(int) {
  Registers in{}, out;
  in.r[1] = address_of(&g_handled);
  call_with_registers(&in, &out, g_code);
  g_handled++;
}

// More threads than CPUs, pointers that lead nowhere, a handler that comes between two instructions
// of the code, and a second subscription that comes and goes.
TEST_F(CallbackCode, EightThreadsAreCountedExactly) {
  constexpr uint64_t kThreads = 8, kHits = 200'000;
  use(make({{FetchOp::kArg, 0, 0, 0, 0, 0},
            {FetchOp::kStore, 0, 8, 0, 24, 0},
            {FetchOp::kArg, 1, 0, 0, 0, 0},
            {FetchOp::kLoad, 0, 8, 0, 32, 0}},
           40, RecordHead::kFunction));
  subscribe({"", ""}, count_up);
  ASSERT_TRUE(best().calls);
  g_code = place(best());
  const Word missed = callbacks_[0]->missed;
  test::SignalStorm storm(ITIMER_REAL, 500, on_alarm);
  std::atomic<uint64_t> running{kThreads};
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < kThreads; t++)
    threads.emplace_back([&] {
      for (uint64_t i = 0; i < kHits; i++) {
        Registers in{}, out;
        in.r[0] = i;
        in.r[1] = i % 1024 ? address_of(&g_handled) : 8;
        call_with_registers(&in, &out, g_code);
      }
      running--;
    });
  Counted& passing = g_counted[1];
  for (uint64_t turns = 0; running || turns == 0; turns++) {
    switch_off(callbacks_[1]);
    EXPECT_TRUE(wait_until_left(callbacks_[1], 60'000).ok());
    EXPECT_EQ(passing.inside, 0u);
    passing.is_gone = true;
    std::this_thread::yield();
    passing.is_gone = false;
    EXPECT_EQ(make_callback(address_of(&count_up), 101, LiveVectors::kUntouched), callbacks_[1]);
    std::this_thread::yield();
  }
  for (std::thread& thread : threads) thread.join();
  storm.stop();
  EXPECT_EQ(passing.late, 0u) << "called after it had been waited for";
  EXPECT_EQ(g_counted[0].calls + callbacks_[0]->missed - missed, kThreads * kHits + g_handled);
  EXPECT_EQ(g_counted[0].sum, kThreads * (kHits * (kHits - 1) / 2));
  count_hit(new_hit_counter());  // no code comes where rseq_cs leads
}

}  // namespace
}  // namespace patchbay
