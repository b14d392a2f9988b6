// SPDX-License-Identifier: MIT
//
// The generated fast path against the general path: the same call must give the same record, leave
// every register alone, and the accounting must agree.
#include "codegen/probe_compile.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <random>
#include <vector>

#include "base/raw_syscall.h"
#include "base/testing.h"
#include "codegen/probe_compile_testing.h"
#include "ring_buffer/ring_follower.h"
#include "ring_buffer/ring_write_hot.h"

namespace patchbay {
namespace {

// Longer than the delta of a record can say: the next event needs a time extend.
void wait_for_time_extend() {
  const uint64_t from = __builtin_ia32_rdtsc();
  while (__builtin_ia32_rdtsc() - from <= uint64_t{1} << abi::kDeltaBits) ::usleep(10000);
}

class ProbeCompile : public ProbeCompileTest {};

TEST_F(ProbeCompile, FastAndGeneralPathRecordTheSame) {
  std::mt19937_64 random(7);
  for (const char* line :
       {"f()", "f(int a)", "f(int a, int b)", "f(char a, short b, u64 c, u8 d, long e, x16 f)",
        "f(NULL, NULL, x64 c, x64 d)", "f(x8 a)", "f(u64 a | u8 a2 | x32 a3)",
        "f(u64 a+16, NULL, x32 b+4)", "f(symbol a, NULL, NULL, NULL, NULL, char last)"}) {
    SCOPED_TRACE(line);
    define(line);
    ASSERT_TRUE(has_fast_path(program_->event[0]));
    Registers in, out;
    for (uint64_t& value : in.r) value = random();
    hit(false, in, &out);  // the thread is known from here on: the fast path is taken
    auto general = hit(false, in, &out);
    ASSERT_EQ(std::memcmp(&in, &out, sizeof in), 0) << "general path";
    ASSERT_EQ(pb_thread.fast_tid, uint32_t(raw_syscall(SYS_gettid)));
    auto fast = hit(true, in, &out);
    ASSERT_EQ(std::memcmp(&in, &out, sizeof in), 0) << "fast path";
    ASSERT_EQ(general.size(), 1u);
    ASSERT_EQ(fast.size(), 1u);
    // The return addresses are those of the same call instruction.
    EXPECT_EQ(general[0], fast[0]);
  }
}

// Generated code writes what the model does, byte for byte (G1), among what goes the general way.
TEST_F(ProbeCompile, WritesWhatTheModelWrites) {
  define("f(int a, u64 b, char c)");
  const test::OneCpu one;
  test::RingFollower follower(buffer_->rings(), one.cpu);
  std::mt19937_64 random(7);
  Registers in, out;
  for (int i = 0; i < 2000; i++) {
    for (uint64_t& value : in.r) value = random();
    if (i == 500) wait_for_time_extend();
    const auto records = hit(true, in, &out);
    ASSERT_EQ(records.size(), 1u);
    ASSERT_TRUE(
        follower.follow({reinterpret_cast<const char*>(records[0].data()), records[0].size()}))
        << i;
  }
  EXPECT_TRUE(follower.is_equal());
}

TEST_F(ProbeCompile, WhatTheFastPathCannotDoGoesTheGeneralWay) {
  // The general way fetches another argument than the code was made for: so a record says which way
  // it came.
  define("f(NULL, int a)");
  const FetchProgramPtr general = std::move(fetch_);
  define("f(int a)");
  Registers in{}, out;
  in.r[0] = kFastWay;
  in.r[1] = kGeneralWay;
  general_fetch_ = general.get();
  uint32_t came = 0;
  const test::OneCpu one;
  pb_thread.fast_tid = 0;  // a new thread
  EXPECT_EQ(way(in), kGeneralWay);
  EXPECT_NE(pb_thread.fast_tid, 0u);
  // A thread that does not run for long between two hits needs a time extend.
  for (int i = 0; i < 1000 && (came = way(in)) == kGeneralWay; i++) {
  }
  EXPECT_EQ(came, kFastWay);
  wait_for_time_extend();
  EXPECT_EQ(way(in), kGeneralWay);
  buffer_->disable();
  EXPECT_EQ(hit(true, in, &out).size(), 0u);
  ASSERT_TRUE(buffer_->enable().ok());
  int ways[3] = {};
  for (int i = 0; i < 1000; i++) {  // across the ends of sub-buffers
    came = way(in);
    ASSERT_TRUE(came == kFastWay || came == kGeneralWay) << i;
    ways[came]++;
  }
  EXPECT_GE(ways[kGeneralWay], 1000 * 24 / 4096);  // each end of a sub-buffer
  EXPECT_GT(ways[kFastWay], ways[kGeneralWay]);
  pb_thread.in_agent = 1;
  pb_thread.fast_tid = 0;
  EXPECT_EQ(hit(true, in, &out).size(), 0u);
  pb_thread.in_agent = 0;
  EXPECT_EQ(file_->recursion(), 1u);
}

TEST_F(ProbeCompile, AFilterOnArgumentsIsTestedBeforeAnythingElse) {
  Registers in, out;
  for (const char* line : {"f(int a, u64 b)", "f(int a, u64 b, string c)"}) {
    SCOPED_TRACE(line);
    define(line);
    for (const char* text : {"a == 7", "a > 5 && !(b == 0x123456789a)", "b == 1 || a == 7"}) {
      SCOPED_TRACE(text);
      set_filter(text);
      ASSERT_TRUE(has_register_filter(program_->event[0]));
      const bool fast = has_fast_path(program_->event[0]);
      ASSERT_TRUE(fast);
      for (uint64_t a : {7, 3}) {
        for (uint64_t& value : in.r) value = 0;
        in.r[0] = a;
        in.r[2] = reinterpret_cast<uint64_t>("text");
        in.r[6] = 0x1111;
        in.r[8] = 0x2222;
        EXPECT_EQ(hit(fast, in, &out).size(), a == 7 ? 1u : 0u) << a;
        EXPECT_EQ(std::memcmp(&in, &out, sizeof in), 0) << a;
      }
    }
  }
}

// Whatever the code tests by itself: the triggers that match run, and what is on is recorded.
TEST_F(ProbeCompile, FiltersOfTriggersAreTestedOnTheRegisters) {
  ProbeCounts counts{new_hit_counter(), 0, 0, 0};
  uint64_t hits = 0;
  for (const char* line : {"f(int a, u64 b)", "f(int a, u64 b, string c)"})
    for (const char* filter : {"", "b != 5"})
      for (bool live : {false, true})
        for (bool inside : {false, true})
          for (const auto& gates : std::vector<std::vector<std::string>>{
                   {"a == 7"}, {"a > 100 || b == 0x123456789a", "a == 7"}, {}}) {
            SCOPED_TRACE(line + std::string(filter) + (live ? " live" : "") +
                         (inside ? " inside " : " ") + std::to_string(gates.size()));
            define(line);
            set_place(fetch_.get(), &counts);
            if (*filter) set_filter(filter);
            set_triggers(gates);
            if (gates.empty()) event_.triggers = nullptr;  // in soft mode for another one's sake
            const ProbeCode code = probe_code(&site_, program_, nullptr, live, inside);
            EXPECT_EQ(code.gated, !gates.empty());
            EXPECT_EQ(code.filtered, *filter != 0);
            EXPECT_TRUE(code.fast);
            EXPECT_TRUE(code.soft);
            for (soft_ = 0; soft_ < 2; soft_++)
              for (uint64_t a : {7, 3, 101})
                for (uint64_t b : {5, 6}) {
                  Registers in{}, out;
                  in.r[0] = a;
                  in.r[1] = b;
                  in.r[2] = reinterpret_cast<uint64_t>("text");
                  in.r[6] = 0x1111;
                  in.r[8] = 0x2222;
                  switched_ = 1;
                  const bool recorded = soft_ && (!*filter || b != 5);
                  const bool matches = !gates.empty() && (a == 7 || (a == 101 && gates.size() > 1));
                  EXPECT_EQ(call(code, in, &out).size(), recorded ? 1u : 0u) << a << " " << b;
                  EXPECT_EQ(std::memcmp(&in, &out, sizeof in), 0);
                  EXPECT_EQ(switched_, matches ? 0u : 1u) << a;
                  EXPECT_EQ(read_hit_counter(counts.hits), ++hits);
                }
          }
}

TEST_F(ProbeCompile, TriggersThatNeedMoreThanRegistersGoTheGeneralWay) {
  define("f(int a, string c)");
  set_triggers({"a == 7", ""});
  EXPECT_FALSE(probe_code(&site_, program_, nullptr, false, false).gated) << "one has no filter";
  set_triggers({"a == 7"});
  EXPECT_TRUE(probe_code(&site_, program_, nullptr, false, false).gated);
  event_.from_record = 1;
  EXPECT_FALSE(probe_code(&site_, program_, nullptr, false, false).gated);
  event_.from_record = 0;
  PidSet none{};
  event_.pids = &none;  // what matches nothing is nothing for all threads
  ProbeCode code = probe_code(&site_, program_, nullptr, false, false);
  EXPECT_TRUE(code.gated && code.soft && !code.fast);
}

TEST_F(ProbeCompile, TwentyPredicatesFit) {
  define("f(int a, u64 b)");
  std::string text = "a == 0";
  for (int i = 1; i < 20; i++) text += " || a == " + std::to_string(1000 + i);
  set_filter(text);
  ASSERT_TRUE(has_fast_path(program_->event[0]));
  Registers in{}, out;
  for (uint64_t a : {0, 1019, 1020}) {
    in.r[0] = a;
    EXPECT_EQ(hit(true, in, &out).size(), a == 1020 ? 0u : 1u);
  }
  for (int i = 0; i < 100; i++) text += " || b == 0x123456789abc";
  set_filter(text);
  filter_fits_ = false;
  EXPECT_EQ(hit(false, in, &out).size(), 0u) << "the general path knows the filter too";
}

TEST_F(ProbeCompile, FlagsSurviveWhereTheyAreLive) {
  define("f(int a)");
  uint64_t hits_before = 0;
  ProbeCounts counts{new_hit_counter(), 0, 0, 0};
  set_place(fetch_.get(), &counts);
  for (bool fast : {false, true, true}) {
    ProbeCode code = probe_code(&site_, program_, nullptr, true, false);
    ASSERT_TRUE(code.fast);
    code.fast = fast;
    count_hit(new_hit_counter());
    size_t size = emit_probe(code, code_, kMax, reinterpret_cast<uint64_t>(code_));
    ASSERT_GT(size, 0u);
    code_[size] = 0xc3;
    for (uint64_t bits = 0; bits < 64; bits++) {  // CF PF AF ZF SF OF
      uint64_t flags_in = (bits & 1) | (bits & 2) << 1 | (bits & 4) << 2 | (bits & 8) << 3 |
                          (bits & 16) << 3 | (bits & 32) << 6;
      uint64_t flags_out = 0;
      __asm__ volatile("sub $256, %%rsp; push %1; popfq; call *%2; pushfq; pop %0; add $256, %%rsp"
                       : "=r"(flags_out)
                       : "r"(flags_in | 2), "r"(code_)
                       : "memory", "cc");
      ASSERT_EQ(flags_out & 0x8d5, flags_in) << fast;
    }
    hits_before += 64;
    EXPECT_EQ(read_hit_counter(counts.hits), hits_before);
  }
}

TEST_F(ProbeCompile, EveryHitIsCountedWhateverBecomesOfIt) {
  ProbeCounts counts{new_hit_counter(), 0, 0, 0};
  Registers in{}, out;
  uint64_t hits = 0;
  auto expect_hit = [&](bool fast, size_t records) {
    EXPECT_EQ(hit(fast, in, &out).size(), records);
    EXPECT_EQ(std::memcmp(&in, &out, sizeof in), 0);
    EXPECT_EQ(read_hit_counter(counts.hits), ++hits);
  };
  for (const char* line : {"f(int a, u64 b)", "f(int a, u64 b, string c)"}) {
    SCOPED_TRACE(line);
    define(line);
    set_place(fetch_.get(), &counts);
    const bool fast = has_fast_path(program_->event[0]);
    event_.filter = nullptr;
    in.r[2] = reinterpret_cast<uint64_t>("text");
    pb_thread.fast_tid = 0;
    for (int i = 0; i < 300; i++) expect_hit(fast, 1);  // a new thread, ends of sub-buffers
    buffer_->disable();
    expect_hit(fast, 0);
    ASSERT_TRUE(buffer_->enable().ok());
    set_filter("a == 7");
    in.r[0] = 7;
    expect_hit(fast, 1);
    in.r[0] = 8;
    expect_hit(fast, 0);
    pb_thread.fast_tid = 0;
    expect_hit(fast, 0);  // rejected, and nobody knows the thread
    EXPECT_NE(pb_thread.fast_tid, 0u) << "it would share a counter for ever";
    const uint64_t missed = counts.missed;
    pb_thread.in_agent = 1;
    for (const uint64_t a : {7, 8}) {  // recorded, and rejected
      pb_thread.fast_tid = 0;
      in.r[0] = a;
      EXPECT_EQ(hit(fast, in, &out).size(), 0u);
      EXPECT_EQ(counts.missed, missed) << "hits of the agent are none of the program's";
      EXPECT_EQ(read_hit_counter(counts.hits), hits);
    }
    pb_thread.in_agent = 0;
    in.r[0] = 0;
  }
}

TEST_F(ProbeCompile, OnlyPlacesOfOneEventGetCodeOfTheirOwn) {
  define("f(int a)");
  EXPECT_TRUE(probe_code(&site_, program_, nullptr, false, false).fast);
  EXPECT_EQ(probe_code(&site_, program_, nullptr, false, false),
            probe_code(&site_, program_, nullptr, false, false));
  event_.from_record = 1;
  ProbeCode code = probe_code(&site_, program_, nullptr, false, false);
  EXPECT_FALSE(code.fast || code.filtered || code.event.event);
  event_.from_record = 0;
  PidSet none{};
  event_.pids = &none;
  EXPECT_FALSE(probe_code(&site_, program_, nullptr, false, false).fast);
  event_.pids = nullptr;
  ProbeCode hooking = probe_code(&site_, nullptr, program_, false, false);
  EXPECT_TRUE(hooking.hooks_return && !hooking.site_has_events && !hooking.fast);
}

// A call of the code comes back through a trampoline, whatever the entry does besides.
TEST_F(ProbeCompile, ReturnsAreHooked) {
  define("f(int a)");
  std::vector<uint8_t> bytes(sizeof(SiteProgram) + sizeof(SiteEvent));
  auto* returns = reinterpret_cast<SiteProgram*>(bytes.data());
  FetchProgram fetch{};
  fetch.fixed_size = fetch.max_size = 24;
  fetch.head = RecordHead::kReturn;
  EventProgram out_event = event_;
  out_event.id = 601;
  out_event.fetch = &fetch;
  out_event.max_size = 24;
  ProbeCounts counts{new_hit_counter(), 0, 0, 0};
  returns->nr_events = 1;
  returns->max_record = 24;
  returns->event[0] = {&out_event, &fetch, 0x77, &counts};
  site_.return_program = returns;
  Registers in, out;
  for (uint64_t& value : in.r) value = 0x0101010101010101;
  uint64_t hits = 0;
  for (bool live : {false, true})
    for (bool inside : {false, true})
      for (const SiteProgram* entry :
           {static_cast<const SiteProgram*>(program_), static_cast<const SiteProgram*>(nullptr)})
        for (bool fast : {false, true}) {
          site_.program = entry;
          ProbeCode code = probe_code(&site_, entry, returns, live, inside);
          EXPECT_TRUE(code.hooks_return);
          code.fast = code.fast && fast;
          auto records = call(code, in, &out);
          EXPECT_EQ(std::memcmp(&in, &out, sizeof in), 0);
          ASSERT_EQ(records.size(), entry ? 2u : 1u);
          uint64_t words[3];
          std::memcpy(words, records.back().data(), sizeof words);
          EXPECT_EQ(words[0] & 0xffff, 601u);
          EXPECT_EQ(words[1], 0x77u);
          if (entry) {  // the same caller in both records
            EXPECT_EQ(std::memcmp(&words[2], records[0].data() + 8, 8), 0);
          }
          EXPECT_EQ(read_hit_counter(counts.hits), ++hits);
        }
}

}  // namespace
}  // namespace patchbay
