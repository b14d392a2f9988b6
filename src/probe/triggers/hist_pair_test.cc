// SPDX-License-Identifier: MIT
//
// The halves of a latency pair in assembler (hist_pair.S) against both ways in C: the same counts,
// variables and synthetic events, by seed (PB_HIST_SEED), with threads, signals, clears and a clock
// that is set.
#include "hist/hist_pair.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "filter/filter_abi.h"
#include "hist/hist_clock.h"
#include "hist/hist_quick.h"
#include "probe/triggers/hist_hot_testing.h"

namespace patchbay {
namespace {

constexpr int kThreads = 8;

uint64_t seed() {
  const char* given = std::getenv("PB_HIST_SEED");
  return given ? std::strtoull(given, nullptr, 0) : std::random_device()();
}

enum class Way { kGeneral, kQuick, kPair };

FieldPtr timestamp(bool in_usecs) {
  return generic(kHistTimestamp | (in_usecs ? uint32_t(kHistTimestampUsecs) : 0));
}

// start: keys=KEY:ts0=common_timestamp
// end:   keys=KEY:lat=common_timestamp-$ts0:onmatch().trace($lat)
struct Pair {
  Hist start, end;

  void make(const std::string& key, LiveEvent* synthetic, bool in_usecs = false) {
    for (Hist* hist : {&start, &end}) hist->key(field(key));
    HistField* ts0 = start.variable(timestamp(in_usecs));
    start.compile();
    const HistField* taken = end.refer(ts0, true);
    HistField* lat =
        end.variable(expression(HistOperator::kMinus, timestamp(in_usecs), Hist::copy(taken)));
    HistActionData* action = end.action(HistHandler::kMatch, HistActionKind::kTrace);
    action->synthetic = synthetic;
    action->params = {end.refer(lat)};
    end.compile();
    ASSERT_NE(start.program->half, nullptr);
    ASSERT_NE(end.program->half, nullptr);
  }
  void go(Way way) {
    for (Hist* hist : {&start, &end}) {
      if (way != Way::kPair) hist->program->half = nullptr;
      if (way == Way::kGeneral) hist->program->quick = nullptr;
    }
  }
  // The clock of both, from now on.
  void set_clock(const HistClock* const* word) {
    for (Hist* hist : {&start, &end}) {
      hist->program->clock = word;
      if (hist->program->half) const_cast<HistPairHalf*>(hist->program->half)->clock = word;
    }
  }
  bool same_half(HistPairWay* first, HistPairWay* second) const {
    return start.program->half->way == first && end.program->half->way == second;
  }
};

void hit_at(const Hist& hist, const Record& record) {
  static const StackStart nowhere = {};
  const TriggerHit at = {nullptr, &nowhere, uint32_t(record.header >> 32)};
  hist_update(hist.program, at, reinterpret_cast<const uint8_t*>(&record), record.size());
}

struct Counts {
  uint64_t hits = 0, set = 0;
};
Counts counts_of(Hist* hist) {
  Counts counts;
  for (const HistEntry& entry : hist->read()) {
    counts.hits += entry.values[0];
    counts.set += hist->is_set(0, entry.index);
  }
  return counts;
}

class HistPair : public HistTrace {
 protected:
  void SetUp() override {
    HistTrace::SetUp();
    if (!pb_rseq_offset) GTEST_SKIP() << "no rseq";
    set_fields({{"u64", "lat", 8, 8, false, 0, {}}});
    wanted_by({&a_});
    site()->plain = kPlain;
  }
  SiteProgram* site() { return reinterpret_cast<SiteProgram*>(program_bytes_.data()); }
};

TEST_F(HistPair, EachLoadHasItsWay) {
  Pair u32, s32, s64, own;
  u32.make("key", &synthetic_);
  EXPECT_TRUE(u32.same_half(hist_pair_start_u32, hist_pair_end_u32));
  s32.make("s32", &synthetic_);
  EXPECT_TRUE(s32.same_half(hist_pair_start_s32, hist_pair_end_s32));
  s64.make("s64", &synthetic_);
  EXPECT_TRUE(s64.same_half(hist_pair_start_64, hist_pair_end_64));
  own.make("common_pid", &synthetic_);
  EXPECT_TRUE(own.same_half(hist_pair_start_s32, hist_pair_end_s32));
}

// Small keys, sums, several variables, a variable that is not taken, a text: not these.
TEST_F(HistPair, WhatElseThereIsGoesAnotherWay) {
  Hist small, sum, two, text, taken, again;
  small.key(field("s16")).variable(timestamp(false));
  sum.key(field("key")).value(field("u64")).variable(timestamp(false));
  two.key(field("key")).variable(timestamp(false));
  two.variable(field("u64"));
  text.key(field("loc")).variable(timestamp(false));
  taken.key(field("key"));
  HistField* ts0 = taken.variable(timestamp(false));
  for (Hist* hist : {&small, &sum, &two, &text, &taken}) hist->compile();
  for (const Hist* hist : {&small, &sum, &two, &text}) EXPECT_EQ(hist->program->half, nullptr);
  again.key(field("key"));
  again.variable(
      expression(HistOperator::kMinus, timestamp(false), Hist::copy(again.refer(ts0, false))));
  again.compile();
  EXPECT_EQ(again.program->half, nullptr);
}

// One run of random hits, and all that is left of it.
struct Sample {
  std::string key;
  bool in_usecs;
  uint32_t nr_keys;
  uint64_t seed;
};
struct Left {
  std::map<std::string, std::vector<uint64_t>> starts, ends;
  uint64_t dropped = 0;
  std::vector<std::string> records;
  bool operator==(const Left&) const = default;
};

std::map<std::string, std::vector<uint64_t>> contents(Hist* hist) {
  std::map<std::string, std::vector<uint64_t>> all;
  for (const HistEntry& entry : hist->read())
    all[std::string(reinterpret_cast<const char*>(entry.key), 8)] = {
        entry.values[0], hist->is_set(0, entry.index), hist->read_variable(0, entry.index)};
  return all;
}

Record random_record(std::mt19937_64* random, uint32_t nr_keys) {
  Record record;
  const uint64_t key = (*random)() % nr_keys;
  record.key = uint32_t(key * 0x9e3779b9);
  record.s32 = int32_t(record.key);
  record.s64 = int64_t(key * 0x9e3779b97f4a7c15);
  record.header = (key + 1) << 32 | 7;
  return record;
}

class HistPairRuns : public HistPair {
 protected:
  Left hits_of(const Sample& sample, Way way) {
    Pair pair;
    pair.make(sample.key, &synthetic_, sample.in_usecs);
    pair.go(way);
    HistClock clock = {};
    const HistClock* word = &clock;
    pair.set_clock(&word);
    std::mt19937_64 random(sample.seed);
    for (int i = 0; i < 4000; i++) {
      // Its time is `time` whenever it is read. The raw clock may be behind it.
      clock = {random() % 8 ? 0 : ~uint64_t{0} >> 1, random(), 0, random() % 8 ? 64u : 63u, 0};
      const Record record = random_record(&random, sample.nr_keys);
      pair.start.program->paused = random() % 32 == 0;
      pair.end.program->paused = random() % 32 == 0;
      hit_at(random() % 2 ? pair.start : pair.end, record);
      if (i == 3000) clear_hist_table((random() % 2 ? pair.start : pair.end).table);
    }
    Left left;
    left.starts = contents(&pair.start);
    left.ends = contents(&pair.end);
    left.dropped = pair.start.totals.dropped + pair.end.totals.dropped;
    left.records = a_.take();
    std::sort(left.records.begin(), left.records.end());  // of several CPUs
    return left;
  }
  void compare(const Sample& one) {
    const Left general = hits_of(one, Way::kGeneral);
    EXPECT_GT(general.ends.size(), 4u);
    EXPECT_EQ(hits_of(one, Way::kQuick), general);
    EXPECT_EQ(hits_of(one, Way::kPair), general);
  }
};

bool is_odd(const uint8_t* record, uint32_t) { return record[8] & 1; }

TEST_F(HistPairRuns, DoWhatBothWaysInCDo) {
  const FilterProgram odd = {is_odd, nullptr, 0, 16};
  std::mt19937_64 random(seed());
  for (const char* key : {"key", "s32", "s64", "common_pid"})
    for (uint32_t nr_keys : {8u, 100u, 300u})  // there is room for 128
      for (const char* wanted : {"recorded", "filtered", "not plain", "by nobody"}) {
        const Sample one = {key, bool(random() % 2), nr_keys, random()};
        SCOPED_TRACE(std::string(key) + ", " + std::to_string(nr_keys) + " keys, " + wanted +
                     ", seed " + std::to_string(one.seed));
        target_.program = wanted[0] == 'b' ? nullptr : site();
        site()->plain = wanted[0] == 'n' ? 0 : kPlain;
        a_.program.filter = wanted[0] == 'f' ? &odd : nullptr;
        compare(one);
      }
  a_.program.filter = nullptr;
}

TEST_F(HistPairRuns, WithoutRseqAndInRingsThatAreOff) {
  std::mt19937_64 random(seed());
  for (bool has_rseq : {true, false}) {
    const Sample one = {has_rseq ? "key" : "common_pid", true, 50, random()};
    SCOPED_TRACE(one.seed);
    pb_thread.no_rseq = !has_rseq;
    ring_switch(a_.buffer->rings(), !has_rseq);
    compare(one);
  }
  pb_thread.no_rseq = false;
}

// The field of the synthetic event is narrower than the latency.
TEST_F(HistPair, WhatDoesNotFitIsCut) {
  set_fields({{"u16", "lat", 8, 2, false, 0, {}}});
  Pair pair;
  pair.make("key", &synthetic_);
  HistClock clock = {0, 5, 0, 64, 0};
  const HistClock* word = &clock;
  pair.set_clock(&word);
  hit_at(pair.end, {});  // inserts nothing: there was no start
  hit_at(pair.start, {});
  hit_at(pair.start, {});
  clock.time += 0x12345678;
  for (int i = 0; i < 3; i++) {
    hit_at(pair.end, {});
    const auto records = a_.take();
    ASSERT_EQ(records.size(), i ? 0u : 1u);
    if (!i) {
      EXPECT_EQ(at<uint64_t>(records[0], 8), 0x5678u);
      EXPECT_EQ(at<int32_t>(records[0], 4), 42);
    }
    clock.time++;
    hit_at(pair.start, {});
    hit_at(pair.end, {});  // the second hit of a key is the usual case
    EXPECT_EQ(at<uint64_t>(a_.take().at(0), 8), 0u);
  }
  EXPECT_EQ(pair.end.read().at(0).values[0], 4u);
  EXPECT_EQ(pair.end.read_variable(0), 0u);
}

// Of all threads that look for a start, one gets it: the one that has made it, at the latest.
TEST_F(HistPair, AVariableIsTakenOnce) {
  constexpr uint32_t kPairs = 200000;
  target_.program = nullptr;
  Pair pair;
  pair.make("key", &synthetic_);
  std::atomic<bool> done = false;
  std::atomic<int> takers = 0;
  std::vector<std::thread> threads;
  for (int t = 1; t < kThreads; t++)
    threads.emplace_back([&] {
      for (takers++; !done;) hit_at(pair.end, {});
    });
  while (takers < kThreads - 1) std::this_thread::yield();
  for (uint32_t i = 0; i < kPairs; i++) {
    hit_at(pair.start, {});
    hit_at(pair.end, {});
  }
  done = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(counts_of(&pair.start).hits, kPairs);
  EXPECT_EQ(counts_of(&pair.start).set, 0u);
  EXPECT_EQ(counts_of(&pair.end).hits, kPairs);
}

// Each thread has its own key: what it starts it ends.
TEST_F(HistPair, EveryPairOfEightThreadsIsCounted) {
  constexpr uint32_t kPairs = 20000;
  for (const char* key : {"common_pid", "u32", "s64"}) {
    SCOPED_TRACE(key);
    Pair pair;
    pair.make(key, &synthetic_);
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; t++)
      threads.emplace_back([&, t] {
        Record record;
        record.header = uint64_t(t + 1) << 32 | 7;
        record.u32 = uint32_t(t);
        record.s64 = t;
        for (uint32_t i = 0; i < kPairs; i++) {
          hit_at(pair.start, record);
          hit_at(pair.end, record);
        }
      });
    for (std::thread& thread : threads) thread.join();
    for (Hist* hist : {&pair.start, &pair.end})
      for (const HistEntry& entry : hist->read()) EXPECT_EQ(entry.values[0], kPairs);
    EXPECT_EQ(pair.end.totals.hits, kThreads * kPairs);
    EXPECT_EQ(counts_of(&pair.start).set, 0u);
  }
}

std::atomic<uint64_t> g_in_handler;
const Hist* g_start;
const Hist* g_end;
Record g_record;

// A handler that ends what the thread has started, wherever it was: one of them has the start.
TEST_F(HistPair, AHandlerInTheMiddleTakesAStartOrLeavesIt) {
  for (const char* key : {"common_pid", "key"})
    for (bool starts : {false, true}) {
      SCOPED_TRACE(std::string(key) + (starts ? ", whole pairs" : ", ends"));
      Pair pair;
      pair.make(key, &synthetic_);
      g_end = &pair.end;
      g_start = starts ? &pair.start : nullptr;
      g_in_handler = 0;
      struct sigaction action = {}, before;
      action.sa_handler = [](int) {
        if (g_start) hit_at(*g_start, g_record);
        hit_at(*g_end, g_record);
        g_in_handler++;
      };
      ASSERT_EQ(::sigaction(SIGUSR1, &action, &before), 0);
      std::atomic<bool> done = false;
      std::thread sender([&, to = ::pthread_self()] {
        while (!done) ::pthread_kill(to, SIGUSR1);
      });
      uint64_t pairs = 0;
      for (; pairs < 20000 || g_in_handler < 500; pairs++) {
        hit_at(pair.start, g_record);
        hit_at(pair.end, g_record);
      }
      done = true;
      sender.join();
      ::sigaction(SIGUSR1, &before, nullptr);
      const uint64_t all = pairs + (starts ? g_in_handler.load() : 0);
      EXPECT_EQ(counts_of(&pair.start).hits, all);
      // A start in a handler may stand in place of the one that was interrupted.
      const uint64_t matched = counts_of(&pair.end).hits;
      EXPECT_LE(matched, all);
      EXPECT_GE(matched, pairs);
      EXPECT_EQ(counts_of(&pair.start).set, 0u);
    }
}

// From now on a SIGTRAP behind each instruction, until g_steps are done.
constexpr uint64_t kTrapFlag = 0x100;
int64_t g_steps;
void step() {
  asm volatile(
      "lea -128(%%rsp), %%rsp\n"
      "pushfq\n"
      "orq %0, (%%rsp)\n"
      "popfq\n"
      "lea 128(%%rsp), %%rsp\n"
      :
      : "i"(kTrapFlag)
      : "memory", "cc");
}
void stop_steps() {
  if (g_steps > 0) g_steps = -g_steps;
}
void on_step(int, siginfo_t*, void* raw) {
  if (--g_steps > 0) return;
  static_cast<ucontext_t*>(raw)->uc_mcontext.gregs[REG_EFL] &= ~greg_t(kTrapFlag);
  if (g_steps == 0) hit_at(*g_end, g_record);
}

// A hit that is interrupted behind its n-th instruction, by one that ends what is started. What
// comes behind a sequence was left at its first instruction is the ways in C.
void interrupted_hit(const Hist& hist, int64_t n) {
  static const StackStart nowhere = {};
  const TriggerHit at = {nullptr, &nowhere, 42};
  const HistPairHalf* half = hist.program->half;
  HistPairWay* way = half->way;
  g_steps = n;
  step();
  way(half, &at, reinterpret_cast<const uint8_t*>(&g_record));
  stop_steps();
}

TEST_F(HistPair, AHandlerBehindEachInstruction) {
  constexpr int64_t kInstructions = 120;  // of the longer half, with what stands around it
  struct sigaction action = {}, before;
  action.sa_sigaction = on_step;
  action.sa_flags = SA_SIGINFO;
  ASSERT_EQ(::sigaction(SIGTRAP, &action, &before), 0);
  for (const char* key : {"common_pid", "key"}) {
    Pair pair;
    pair.make(key, &synthetic_);
    g_end = &pair.end;
    hit_at(pair.start, g_record);
    hit_at(pair.end, g_record);
    uint64_t pairs = 1;
    for (int64_t n = 1; n < kInstructions; n++, pairs += 2) {
      interrupted_hit(pair.start, n);
      hit_at(pair.end, g_record);
      hit_at(pair.start, g_record);
      interrupted_hit(pair.end, n);
      ASSERT_EQ(counts_of(&pair.start).hits, pairs + 2) << key << ", " << n << " instructions";
      ASSERT_EQ(counts_of(&pair.end).hits, pairs + 2) << key << ", " << n << " instructions";
    }
  }
  ::sigaction(SIGTRAP, &before, nullptr);
}

// What is late counts before a clear: afterwards the counts are those of the hits that follow.
TEST_F(HistPair, ClearsBesideHits) {
  Pair pair;
  pair.make("key", &synthetic_);
  std::atomic<bool> done = false;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; t++)
    threads.emplace_back([&, t] {
      std::mt19937_64 random{uint64_t(t)};
      while (!done) hit_at(random() % 2 ? pair.start : pair.end, random_record(&random, 64));
    });
  for (int i = 0; i < 50; i++) clear_hist_table((i % 2 ? pair.start : pair.end).table);
  done = true;
  for (std::thread& thread : threads) thread.join();
  for (Hist* hist : {&pair.start, &pair.end}) clear_hist_table(hist->table);
  for (int i = 0; i < 100; i++) {
    hit_at(pair.start, {});
    hit_at(pair.end, {});
  }
  for (Hist* hist : {&pair.start, &pair.end}) {
    ASSERT_EQ(hist->read().size(), 1u);
    EXPECT_EQ(hist->totals.hits, 100u);
  }
}

}  // namespace
}  // namespace patchbay
