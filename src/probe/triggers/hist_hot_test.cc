// SPDX-License-Identifier: MIT
//
// What one hit makes of a record: each kind of key, value, variable, expression and action, by
// definitions as the control side makes them.
#include "probe/triggers/hist_hot.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "base/raw_syscall.h"
#include "hist/definition/hist_compile.h"
#include "hist/hist_clock.h"
#include "hist/hist_program.h"
#include "hist/hist_quick.h"
#include "hist/hist_saves_hot.h"
#include "hist/hist_table.h"
#include "hist/quantile_buckets.h"
#include "hot/fault.h"
#include "hot/rseq_testing.h"
#include "hot/storm_testing.h"
#include "hot/thread_block_testing.h"
#include "probe/triggers/action_hot.h"
#include "probe/triggers/hist_hot_testing.h"
#include "ring_buffer/ring_reader.h"
#include "ring_buffer/ring_write_hot.h"

namespace patchbay {
namespace {

// --- numbers

TEST_F(HistHot, NumbersOfAllSizesAndSigns) {
  EXPECT_EQ(number(field("s8")), uint64_t(-8));
  EXPECT_EQ(number(field("u8")), 250u);
  EXPECT_EQ(number(field("s16")), uint64_t(-1600));
  EXPECT_EQ(number(field("s32")), uint64_t(-320000));
  EXPECT_EQ(number(field("u32")), 4000000000u);
  EXPECT_EQ(number(field("s64")), uint64_t(-64));
  EXPECT_EQ(number(field("u64")), 640u);
  EXPECT_EQ(number(field("common_pid")), 42u);
}

TEST_F(HistHot, Log2RoundsUp) {
  const std::pair<uint64_t, uint64_t> rows[] = {{0, 0},
                                                {1, 0},
                                                {2, 1},
                                                {3, 2},
                                                {4, 2},
                                                {5, 3},
                                                {7, 3},
                                                {8, 3},
                                                {18, 5},
                                                {1024, 10},
                                                {1025, 11},
                                                {uint64_t{1} << 63, 63},
                                                {(uint64_t{1} << 63) + 1, 64},
                                                {~uint64_t{0}, 64}};
  for (auto [value, power] : rows) {
    Record record;
    record.u64 = value;
    EXPECT_EQ(number(field("u64", kHistLog2), record), power) << value;
  }
}

TEST_F(HistHot, BucketsRoundDown) {
  for (uint64_t value : {uint64_t{0}, uint64_t{9}, uint64_t{10}, uint64_t{640}, ~uint64_t{0}}) {
    Record record;
    record.u64 = value;
    FieldPtr bucket = field("u64", kHistBucket);
    bucket->buckets = 10;
    EXPECT_EQ(number(std::move(bucket), record), value / 10 * 10);
  }
}

TEST_F(HistHot, ExpressionsAreUnsigned64Bits) {
  using Op = HistOperator;
  const auto both = [](Op op, uint64_t left, uint64_t right) {
    return number(expression(op, constant(left), constant(right)));
  };
  EXPECT_EQ(both(Op::kPlus, ~uint64_t{0}, 2), 1u);
  EXPECT_EQ(both(Op::kMinus, 1, 2), ~uint64_t{0});
  EXPECT_EQ(both(Op::kTimes, uint64_t{1} << 63, 3), uint64_t{1} << 63);
  EXPECT_EQ(both(Op::kDivide, 10, 3), 3u);
  EXPECT_EQ(both(Op::kDivide, ~uint64_t{0}, 2), ~uint64_t{0} >> 1);
  EXPECT_EQ(both(Op::kDivide, 10, 0), ~uint64_t{0});
  EXPECT_EQ(number(expression(Op::kUnaryMinus, field("u8"))), uint64_t(-250));
  // (u64 - s8) * 2 / key
  EXPECT_EQ(
      number(expression(
          Op::kDivide,
          expression(Op::kTimes, expression(Op::kMinus, field("u64"), field("s8")), constant(2)),
          field("key"))),
      (640u + 8) * 2 / 5);
}

TEST_F(HistHot, Cpu) {
  const uint64_t cpu = number(generic(kHistCpu));
  EXPECT_LT(cpu, uint64_t(::sysconf(_SC_NPROCESSORS_CONF)));
  pb_rseq_offset = 0;
  EXPECT_LT(number(generic(kHistCpu)), uint64_t(::sysconf(_SC_NPROCESSORS_CONF)));
}

uint64_t monotonic() {
  timespec now = {};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return uint64_t(now.tv_sec) * 1000000000 + uint64_t(now.tv_nsec);
}

TEST_F(HistHot, TimeIsThatOfTheClock) {
  constexpr uint64_t kApart = 100000;  // of two clocks that are read one after the other
  const uint64_t before = monotonic();
  const uint64_t time = number(generic(kHistTimestamp));
  EXPECT_GE(time + kApart, before);
  EXPECT_LE(time, monotonic() + kApart);
  const uint64_t usecs = number(generic(kHistTimestamp | kHistTimestampUsecs));
  EXPECT_GE(usecs + kApart / 1000, before / 1000);
  EXPECT_LE(usecs, monotonic() / 1000 + kApart);
}

TEST_F(HistHot, TimeOfOneHitIsOneTime) {
  Hist hist;
  hist.key(field("key"));
  hist.variable(generic(kHistTimestamp));
  hist.variable(generic(kHistTimestamp));
  hist.compile();
  hit(hist, {});
  EXPECT_NE(hist.read_variable(0), 0u);
  EXPECT_EQ(hist.read_variable(0), hist.read_variable(1));
}

// Over a day a difference of ticks is off by less than two from what the rate says.
TEST_F(HistHot, DifferencesOfTimeAreExact) {
  const HistClock* clock = *hist_clock(TraceClock::kMono, abi::kClockTsc);
  const auto to_ns = [&](uint64_t ticks) {
    return uint64_t(static_cast<unsigned __int128>(ticks) * clock->multiply >> clock->shift);
  };
  const uint64_t hour = 3600ull * 2000000000, step = 12345;
  const uint64_t one = to_ns(step);
  for (uint64_t at = 0; at < 24 * hour; at += hour) {
    const uint64_t difference = to_ns(at + step) - to_ns(at);
    EXPECT_LE(difference - one + 1, 2u) << at;
  }
  EXPECT_GT(clock->multiply, uint64_t{1} << 60) << "as many bits of the rate as there are";
}

// --- texts and stacks

std::string key_text(const HistEntry& entry, const HistField& key) {
  return reinterpret_cast<const char*>(entry.key) + key.key_offset;
}

// With what the last byte says.
std::string key_bytes(const HistEntry& entry, const HistField& key) {
  return {reinterpret_cast<const char*>(entry.key + key.key_offset), kHistTextBytes};
}

TEST_F(HistHot, TextsOfEachKindAreOneKey) {
  const std::string texts[] = {
      "", "a", "1234567", "12345678", "123456789", std::string(200, 'x'), "select 1 from t42;"};
  for (const char* name : {"loc", "rel", "pointer"}) {
    Hist hist;
    hist.key(field(name)).compile();
    for (int round = 0; round < 2; round++) {
      for (const std::string& text : texts) {
        Record record;
        record.set_texts(text);
        record.pointer = text.c_str();
        hit(hist, record);
      }
    }
    std::map<std::string, uint64_t> found;
    for (const HistEntry& entry : hist.read())
      found[key_text(entry, *hist.keys[0])] = entry.values[0];
    EXPECT_EQ(found.size(), std::size(texts)) << name;
    for (const std::string& text : texts) EXPECT_EQ(found[text], 2u) << name << " " << text;
  }
}

TEST_F(HistHot, FixedTextsAreCutBehindTheirNul) {
  Hist hist;
  hist.key(field("fixed")).compile();
  Record record;
  std::memcpy(record.fixed, "ab\0cdefghijk", 12);
  hit(hist, record);
  std::memcpy(record.fixed, "ab\0xxxxxxxxx", 12);
  hit(hist, record);
  std::memcpy(record.fixed, "twelve bytes", 12);
  hit(hist, record);
  const auto entries = hist.read();
  ASSERT_EQ(entries.size(), 2u);
  for (const HistEntry& entry : entries) {
    const std::string text = key_text(entry, *hist.keys[0]);
    EXPECT_EQ(text, entry.values[0] == 2 ? "ab" : "twelve bytes");
  }
}

TEST_F(HistHot, LongTextsAreCut) {
  Hist hist;
  hist.key(field("pointer")).compile();
  const std::string text(1000, 'y');
  Record record;
  record.pointer = text.c_str();
  hit(hist, record);
  // One that ends there is another key: what is cut has a mark behind it.
  const std::string short_one(255, 'y');
  record.pointer = short_one.c_str();
  hit(hist, record);
  const auto entries = hist.read();
  ASSERT_EQ(entries.size(), 2u);
  EXPECT_EQ(key_bytes(entries[0], *hist.keys[0]), short_one + char(kHistTextCut));
  EXPECT_EQ(key_bytes(entries[1], *hist.keys[0]), short_one + '\0');
}

// Both ways of a hit: the quick one, and that of a histogram with quantiles.
TEST_F(HistHot, TextsWithALengthDifferInTheirNuls) {
  const std::string texts[] = {"",
                               "ab",
                               std::string("ab\0cd", 5),
                               std::string("ab\0", 3),
                               std::string("ab\0\0", 4),
                               std::string("ab\0\0\0\0\0\0\0\0\0\0\0\0\0\0x", 17),
                               std::string(3, '\0'),
                               std::string(255, 'y'),
                               std::string(300, 'y')};
  for (const bool is_quick : {true, false}) {
    Hist hist;
    hist.key(field("counted"));
    if (!is_quick) hist.value(field("u64", kHistQuantiles));
    hist.compile();
    for (int round = 0; round < 2; round++) {
      for (const std::string& text : texts) {
        Record record;
        record.loc = record.put(text.c_str(), text.size() + 1);
        hit(hist, record);
      }
    }
    std::map<std::string, uint64_t> found;
    for (const HistEntry& entry : hist.read())
      found[key_bytes(entry, *hist.keys[0])] = entry.values[0];
    EXPECT_EQ(found.size(), std::size(texts));
    for (const std::string& text : texts) {
      std::string bytes = text;
      bytes.resize(255);
      const size_t nuls = text.size() - (text.find_last_not_of('\0') + 1);
      bytes += text.size() > 255 ? char(kHistTextCut) : char(nuls);
      EXPECT_EQ(found[bytes], 2u) << is_quick << " " << text;
    }
  }
}

TEST_F(HistHot, TextsOutsideTheRecordAreEmpty) {
  Hist hist;
  hist.key(field("loc")).compile();
  Record record;
  record.loc = 8u << 16 | 5000;
  hit(hist, record);
  record.loc = 8u << 16 | 2;
  hit(hist, record);
  const auto entries = hist.read();
  ASSERT_EQ(entries.size(), 1u);
  EXPECT_EQ(key_text(entries[0], *hist.keys[0]), "");
}

TEST_F(HistHot, CompoundKeys) {
  Hist hist;
  hist.key(field("key")).key(field("loc")).key(field("s8")).compile();
  EXPECT_EQ(hist.keys[1]->key_offset, 16u) << "behind the numbers";
  EXPECT_EQ(hist.keys[2]->key_offset, 8u);
  for (uint32_t i = 0; i < 60; i++) {
    Record record;
    record.key = i % 2;
    record.s8 = int8_t(i % 5);
    record.set_texts(i % 3 ? "one" : "another text");
    hit(hist, record);
  }
  const auto entries = hist.read();
  EXPECT_EQ(entries.size(), 20u);
  EXPECT_EQ(hist.totals.hits, 60u);
}

TEST_F(HistHot, SeveralTextsInOneKey) {
  Hist hist;
  hist.key(field("fixed")).key(field("pointer")).key(field("u8")).compile();
  const char* const texts[] = {"", "a", "12345678", "a long text behind a pointer"};
  for (int round = 0; round < 2; round++) {
    for (const char* text : texts) {
      for (const char* fixed : {"one", "elevenchars"}) {
        Record record;
        std::memset(record.fixed, 0, sizeof record.fixed);
        std::strcpy(record.fixed, fixed);
        record.pointer = text;
        hit(hist, record);
      }
    }
  }
  const auto entries = hist.read();
  ASSERT_EQ(entries.size(), 8u);
  EXPECT_EQ(key_text(entries[7], *hist.keys[0]), "elevenchars");
  EXPECT_EQ(key_text(entries[7], *hist.keys[1]), texts[3]);
  EXPECT_EQ(entries[7].values[0], 2u);
}

TEST_F(HistHot, StacksOfTheHitAndOfAField) {
  const uint64_t frames[] = {3, 0x1000, 0x2000, 0x3000};
  Record record;
  record.stack = record.put(frames, sizeof frames);
  Hist of_field;
  of_field.key(field("stack", kHistStacktrace)).compile();
  hit(of_field, record);
  auto entries = of_field.read();
  ASSERT_EQ(entries.size(), 1u);
  EXPECT_EQ(std::memcmp(entries[0].key, frames + 1, 24), 0);
  for (int i = 24; i < 31 * 8; i++) EXPECT_EQ(entries[0].key[i], 0);

  Hist of_hit;
  of_hit.key(generic(kHistStacktrace));
  of_hit.variable(generic(kHistStacktrace));
  of_hit.variable(field("stack", kHistStacktrace));
  of_hit.compile();
  hit(of_hit, record);
  entries = of_hit.read();
  ASSERT_EQ(entries.size(), 1u);
  const uint64_t expected[] = {2, here(), caller(), 0};
  EXPECT_EQ(std::memcmp(entries[0].key, expected + 1, 24), 0);
  EXPECT_EQ(std::memcmp(reinterpret_cast<const void*>(of_hit.read_variable(0)), expected, 24), 0);
  EXPECT_EQ(std::memcmp(reinterpret_cast<const void*>(of_hit.read_variable(1)), frames, 32), 0);
}

TEST_F(HistHot, TextsInVariables) {
  Hist hist;
  hist.key(field("key"));
  hist.variable(field("fixed"));
  hist.variable(field("loc"));
  hist.variable(field("pointer"));
  FieldPtr comm = field("common_pid", kHistExecname | kHistString);
  hist.variable(std::move(comm));
  hist.compile();
  Record record;
  record.set_texts("dynamic");
  record.pointer = "behind a pointer";
  std::memcpy(record.fixed, "twelve bytes", 12);
  {
    const test::Playing player(7, "player");
    hit(hist, record);
  }
  EXPECT_EQ(hist.text(0), "twelve byte") << "a variable has the size of the field";
  EXPECT_EQ(hist.text(1), "dynamic");
  EXPECT_EQ(hist.text(2), "behind a pointer");
  EXPECT_EQ(hist.text(3), "player");
  record.pointer = reinterpret_cast<const char*>(16);
  hit(hist, record);
  char name[16] = {};
  raw_syscall(SYS_prctl, 16, raw_pointer(name));
  EXPECT_EQ(hist.text(3), name);
}

// --- sums

TEST_F(HistHot, SumsOfSignedAndUnsignedValues) {
  Hist hist;
  hist.key(field("key")).value(field("s32")).value(field("u64")).compile();
  for (int i = 0; i < 10; i++) hit(hist, {});
  const auto entries = hist.read();
  ASSERT_EQ(entries.size(), 1u);
  EXPECT_EQ(entries[0].values, (std::vector<uint64_t>{10, uint64_t(-3200000), 6400}));
}

TEST_F(HistHot, QuantilesCountTheirRanges) {
  Hist hist;
  hist.key(field("key")).value(field("u64", kHistQuantiles)).compile();
  for (uint64_t value : {uint64_t{3}, uint64_t{3}, uint64_t{1000000}}) {
    Record record;
    record.u64 = value;
    hit(hist, record);
  }
  const auto counts = read_hist_quantiles(hist.table, 0);
  ASSERT_EQ(counts.size(), kQuantileBuckets);
  EXPECT_EQ(counts[3], 2u);
  EXPECT_EQ(counts[quantile_bucket(1000000)], 1u);
}

TEST_F(HistHot, QuantilesOfNumbersWithASign) {
  Hist hist;
  hist.key(field("key")).value(field("s8", kHistQuantiles)).compile();
  for (int8_t value : {-1, -128, -1, 5}) {
    Record record;
    record.s8 = value;
    hit(hist, record);
  }
  const auto counts = read_hist_quantiles(hist.table, 0);
  ASSERT_EQ(counts.size(), 2 * kQuantileBuckets);
  EXPECT_EQ(counts[0], 0u);
  EXPECT_EQ(counts[5], 1u);
  EXPECT_EQ(counts[kQuantileBuckets + 1], 2u);
  EXPECT_EQ(counts[kQuantileBuckets + quantile_bucket(128)], 1u);
}

TEST_F(HistHot, PausedAndSwitchedOff) {
  Hist hist;
  hist.paused = true;
  hist.key(field("key")).compile();
  hit(hist, {});
  EXPECT_TRUE(hist.read().empty());
  hist.program->paused = 0;
  hit(hist, {});
  EXPECT_EQ(hist.read().size(), 1u);
  uint32_t all = kHistAllPaused;
  hist.program->event_switch = &all;
  hit(hist, {});
  EXPECT_EQ(hist.read()[0].values[0], 1u);
  hist.program->paused = 1;
  all = kHistAllOn;
  hit(hist, {});
  EXPECT_EQ(hist.read()[0].values[0], 2u);
  all = kHistEach;
  hit(hist, {});
  EXPECT_EQ(hist.read()[0].values[0], 2u);
}

TEST_F(HistHot, NamedOnesShareATable) {
  Hist first, second;
  first.key(field("key")).compile();
  second.owner = &first;
  second.table = first.table;
  second.key(field("u32")).compile();
  Record record;
  record.u32 = record.key;
  hit(first, record);
  hit(second, record);
  EXPECT_EQ(first.read().at(0).values[0], 2u);
}

// --- variables and actions

TEST_F(HistHot, AVariableIsReadOnce) {
  Hist start, end;
  start.key(field("key"));
  HistField* ts0 = start.variable(field("u64"));
  start.compile();
  end.key(field("key"));
  const HistField* ref = end.refer(ts0, true);
  end.variable(expression(HistOperator::kMinus, field("s64"), Hist::copy(ref)));
  end.compile();
  Record record;
  record.u64 = 100;
  record.s64 = 140;
  hit(end, record);
  EXPECT_TRUE(end.read().empty()) << "nothing has set it";
  hit(start, record);
  hit(end, record);
  EXPECT_EQ(end.read_variable(0), 40u);
  EXPECT_FALSE(start.is_set(0));
  hit(end, record);
  EXPECT_EQ(end.read().at(0).values[0], 1u) << "it was read";
  record.key = 6;
  hit(start, record);
  record.key = 7;
  hit(end, record);
  EXPECT_EQ(end.read().size(), 1u) << "another key";
}

TEST_F(HistHot, SavesTheFieldsOfTheMaximum) {
  Hist hist;
  hist.key(field("key"));
  HistField* latency = hist.variable(field("u64"));
  HistActionData* action =
      hist.action(HistHandler::kMax, HistActionKind::kSave, hist.refer(latency));
  HistField* saved = hist.variable(nullptr);
  HistField* text = hist.variable(nullptr);
  action->saved.push_back({saved, field("s32")});
  action->saved.push_back({text, field("loc")});
  hist.compile();
  const auto one = [&](uint64_t value, int32_t other, const std::string& name) {
    Record record;
    record.u64 = value;
    record.s32 = other;
    record.set_texts(name);
    hit(hist, record);
  };
  one(0, 1, "zero");
  EXPECT_FALSE(hist.is_set(saved->var_index)) << "not more than nothing";
  one(10, 2, "ten");
  one(7, 3, "seven");
  one(10, 4, "ten again");
  EXPECT_EQ(hist.read_variable(action->track_var->var_index), 10u);
  EXPECT_EQ(hist.read_variable(saved->var_index), 2u);
  EXPECT_EQ(hist.text(text->var_index), "ten");
  one(11, -5, "eleven");
  EXPECT_EQ(hist.read_variable(saved->var_index), uint64_t(-5));
  EXPECT_EQ(hist.text(text->var_index), "eleven");
}

// The value and the fields of save() are of one event at each moment, whoever is preempted where,
// or interrupted by a handler that hits the same entry.
class HistSaves : public HistHot, public ::testing::WithParamInterface<HistHandler> {
 protected:
  static constexpr uint64_t kHits = 30000;
  static constexpr int kThreads = 8;

  void SetUp() override {
    hist_.key(field("key"));
    HistField* value = hist_.variable(field("u64"));
    HistActionData* action = hist_.action(GetParam(), HistActionKind::kSave, hist_.refer(value));
    for (const char* name : {"s64", "u32", "loc"}) {
      HistField* saved = hist_.variable(nullptr);
      saved_.push_back(saved->var_index);
      action->saved.push_back({saved, field(name)});
    }
    hist_.compile();
  }
  static void hit_with(uint64_t value) {
    Record record;
    record.u64 = value;
    record.s64 = int64_t(value * 3);
    record.u32 = uint32_t(value);
    record.set_texts("text " + std::to_string(value));
    hit(*current_, record);
  }
  // The fields of a save are of the value that stands with them.
  bool is_whole(const HistSavedFields& saved) {
    uint32_t at[3];
    for (size_t i = 0; i < 3; i++)
      if (!find_hist_saved(*hist_.program, saved_[i], &at[i])) return false;
    return saved.bytes[at[0] / 8] == saved.value * 3 && saved.bytes[at[1] / 8] == saved.value &&
           "text " + std::to_string(saved.value) ==
               reinterpret_cast<const char*>(saved.bytes.data() + at[2] / 8);
  }
  void read_until(const std::atomic<bool>& done) {
    HistSavedFields saved;
    while (!done) {
      ASSERT_TRUE(read_hist_saved(*hist_.program, 0, &saved));
      ASSERT_TRUE(!saved.is_set || is_whole(saved)) << saved.value;
      std::this_thread::yield();
    }
    ASSERT_TRUE(read_hist_saved(*hist_.program, 0, &saved));
    ASSERT_TRUE(saved.is_set);
    EXPECT_TRUE(is_whole(saved)) << saved.value;
    if (GetParam() == HistHandler::kMax) {
      EXPECT_EQ(saved.value, kHits * kThreads + kThreads - 1);
    }
  }

  Hist hist_;
  std::vector<uint32_t> saved_;
  static Hist* current_;
};
Hist* HistSaves::current_;

TEST_P(HistSaves, AreOfOneEventWithManyThreads) {
  current_ = &hist_;
  hit_with(1);  // alone: entry 0 is the key's
  std::atomic<bool> done{false};
  std::thread all([&] {
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; t++)
      threads.emplace_back([t] {
        for (uint64_t i = 1; i <= kHits; i++) hit_with(i * kThreads + uint64_t(t));
      });
    for (std::thread& thread : threads) thread.join();
    done = true;
  });
  read_until(done);
  all.join();
  EXPECT_LE(uint32_t(hist_.table->taken_saves), uint32_t(kThreads) + 1) << "free ones are reused";
}

TEST_P(HistSaves, AreOfOneEventWithHandlers) {
  current_ = &hist_;
  static std::atomic<uint64_t> next;
  next = 1;
  hit_with(next++);  // alone: entry 0 is the key's
  test::SignalStorm storm(ITIMER_REAL, 50, [](int) { hit_with(next++); });
  HistSavedFields saved;
  bool whole = true;
  for (int i = 0; i < 200000 && whole; i++) {
    hit_with(next++);
    if (i % 16) continue;
    whole = read_hist_saved(*hist_.program, 0, &saved) && saved.is_set && is_whole(saved);
  }
  storm.stop();
  EXPECT_TRUE(whole) << saved.value;
}

// Where no save is free the value is kept alone; a clear frees all.
TEST_P(HistSaves, WithoutAFreeOneTheValueStands) {
  current_ = &hist_;
  hit_with(5);
  const uint32_t generation = hist_generation(hist_.table);
  while (hist_take_save(hist_.table, generation) != kHistNone) continue;
  hit_with(6);  // takes none, gives that of 5 back
  HistSavedFields saved;
  ASSERT_TRUE(read_hist_saved(*hist_.program, 0, &saved));
  EXPECT_EQ(saved.value, 6u);
  EXPECT_FALSE(saved.is_set);
  hit_with(7);
  ASSERT_TRUE(read_hist_saved(*hist_.program, 0, &saved));
  EXPECT_TRUE(saved.is_set && is_whole(saved)) << "that of 5";
  clear_hist_table(hist_.table);
  hit_with(4);
  ASSERT_TRUE(read_hist_saved(*hist_.program, 0, &saved));
  EXPECT_EQ(saved.value, 4u);
  EXPECT_TRUE(saved.is_set && is_whole(saved));
}

INSTANTIATE_TEST_SUITE_P(Handlers, HistSaves,
                         ::testing::Values(HistHandler::kMax, HistHandler::kChange));

TEST_F(HistHot, ChangesAreSeen) {
  Hist hist;
  hist.key(field("key"));
  HistField* value = hist.variable(field("u64"));
  HistActionData* action =
      hist.action(HistHandler::kChange, HistActionKind::kSave, hist.refer(value));
  HistField* saved = hist.variable(nullptr);
  action->saved.push_back({saved, field("s32")});
  hist.compile();
  const std::pair<uint64_t, int32_t> rows[] = {{5, 1}, {5, 2}, {3, 3}, {3, 4}};
  const uint64_t kept[] = {1, 1, 3, 3};
  for (size_t i = 0; i < std::size(rows); i++) {
    Record record;
    record.u64 = rows[i].first;
    record.s32 = rows[i].second;
    hit(hist, record);
    EXPECT_EQ(hist.read_variable(saved->var_index), kept[i]) << i;
  }
}

TEST_F(HistHot, SnapshotAtTheMaximumOfAllEntries) {
  static ActionBell bell;
  pb_action_bell = &bell;
  HitAction snapshot = {};
  snapshot.kind = ActionKind::kSnapshot;
  Hist hist;
  hist.key(field("key"));
  HistField* value = hist.variable(field("u64"));
  HistActionData* action =
      hist.action(HistHandler::kMax, HistActionKind::kSnapshot, hist.refer(value));
  action->snapshot = &snapshot;
  hist.compile();
  uint64_t kept = 0;
  uint32_t entry = 0;
  EXPECT_FALSE(read_hist_tracked(*hist.program, 0, &kept, &entry));
  const auto one = [&](uint32_t key, uint64_t value) {
    Record record;
    record.key = key;
    record.u64 = value;
    hit(hist, record);
  };
  one(1, 10);
  one(2, 9);
  EXPECT_EQ(snapshot.asked, 1u) << "the maximum of its key, but not of all";
  one(2, 12);
  EXPECT_EQ(snapshot.asked, 2u);
  ASSERT_TRUE(read_hist_tracked(*hist.program, 0, &kept, &entry));
  EXPECT_EQ(kept, 12u);
  EXPECT_EQ(*hist_key_of(hist.table, entry), 2u);
  pb_action_bell = nullptr;
}

TEST_F(HistHot, MaximaOfManyThreads) {
  Hist hist;
  hist.key(field("key")).value(field("u64"));
  HistField* value = hist.variable(field("u64"));
  HistActionData* action = hist.action(HistHandler::kMax, HistActionKind::kSave, hist.refer(value));
  HistField* saved = hist.variable(nullptr);
  action->saved.push_back({saved, field("u64")});
  hist.compile();
  constexpr uint64_t kHits = 50000;
  constexpr int kThreads = 4;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; t++)
    threads.emplace_back([&, t] {
      for (uint64_t i = 1; i <= kHits; i++) {
        Record record;
        record.u64 = i * kThreads + uint64_t(t);
        record.key = uint32_t(i % 3);
        hit(hist, record);
      }
    });
  for (std::thread& thread : threads) thread.join();
  uint64_t hits = 0, sum = 0, largest = 0;
  for (const HistEntry& entry : hist.read()) {
    hits += entry.values[0];
    sum += entry.values[1];
    const uint64_t maximum = hist.read_variable(action->track_var->var_index, entry.index);
    EXPECT_EQ(hist.read_variable(saved->var_index, entry.index), maximum);
    largest = std::max(largest, maximum);
  }
  EXPECT_EQ(hits, kThreads * kHits);
  EXPECT_EQ(sum, kThreads * kThreads * (kHits * (kHits + 1) / 2) + kHits * 6);
  EXPECT_EQ(largest, kHits * kThreads + kThreads - 1);
}

// --- synthetic events

TEST_F(HistTrace, RecordsInAllInstances) {
  set_fields({{"u64", "lat", 8, 8, false, 0, {}},
              {"s32", "value", 16, 4, true, 0, {}},
              {"u8", "small", 24, 1, false, 0, {}}});
  Hist hist;
  std::vector<FieldPtr> values;
  values.push_back(field("u64"));
  values.push_back(field("s32"));
  values.push_back(field("s16"));
  trace(&hist, std::move(values));
  hit(hist, {});
  for (Instance* instance : {&a_, &b_}) {
    const auto records = instance->take();
    ASSERT_EQ(records.size(), 1u);
    EXPECT_EQ(records[0].size(), 32u);
    EXPECT_EQ(at<uint16_t>(records[0], 0), 77u);
    EXPECT_EQ(at<int32_t>(records[0], 4), 42);
    EXPECT_EQ(at<uint64_t>(records[0], 8), 640u);
    EXPECT_EQ(at<uint64_t>(records[0], 16), uint32_t(-320000)) << "4 bytes, the rest is 0";
    EXPECT_EQ(at<uint64_t>(records[0], 24), uint8_t(-1600));
  }
  target_.program = nullptr;
  hit(hist, {});
  EXPECT_TRUE(a_.take().empty());
  EXPECT_EQ(hist.read().at(0).values[0], 2u);
}

TEST_F(HistTrace, TextsAndStacks) {
  set_fields({{"char", "fixed", 8, 12, true, 12, "[]"},
              {"__data_loc char[]", "text", 264, 8, true, 0, {}},
              {"__data_loc long[]", "stack", 272, 8, true, 0, {}},
              {"__data_loc char[]", "more", 280, 8, true, 0, {}}});
  Hist hist;
  std::vector<FieldPtr> values;
  values.push_back(field("fixed"));
  values.push_back(field("loc"));
  values.push_back(field("stack", kHistStacktrace));
  values.push_back(field("pointer"));
  trace(&hist, std::move(values));
  Record record;
  const uint64_t frames[] = {2, 0x1000, 0x2000};
  record.stack = record.put(frames, sizeof frames);
  record.set_texts("dynamic");
  record.pointer = "";
  hit(hist, record);
  const auto records = a_.take();
  ASSERT_EQ(records.size(), 1u);
  EXPECT_EQ(records[0].size() % 4, 0u);
  EXPECT_STREQ(records[0].data() + 8, "eleven char");
  EXPECT_EQ(behind(records[0], 264), std::string("dynamic\0", 8));
  EXPECT_EQ(behind(records[0], 272),
            std::string(reinterpret_cast<const char*>(frames), sizeof frames));
  EXPECT_EQ(behind(records[0], 280), std::string(1, '\0'));
}

// start: keys=key:ts0=u64   end: keys=key:lat=s64-$ts0:onmatch(start).trace(pair,$lat)
TEST_F(HistTrace, ALatencyPair) {
  set_fields({{"u64", "lat", 8, 8, false, 0, {}}});
  wanted_by({&b_});
  Hist start, end;
  start.key(field("key"));
  HistField* ts0 = start.variable(field("u64"));
  start.compile();
  const HistField* ref = end.refer(ts0, true);
  std::vector<FieldPtr> values;
  values.push_back(expression(HistOperator::kMinus, field("s64"), Hist::copy(ref)));
  trace(&end, std::move(values));
  for (uint32_t i = 0; i < 100; i++) {
    Record record;
    record.key = i % 50;
    record.u64 = i;
    record.s64 = 2 * i;
    hit(start, record);
    hit(end, record);
    hit(end, record);
  }
  EXPECT_TRUE(a_.take().empty());
  const auto records = b_.take();
  ASSERT_EQ(records.size(), 100u);
  uint64_t sum = 0;
  for (const std::string& record : records) sum += at<uint64_t>(record, 8);
  EXPECT_EQ(sum, 4950u);
}

// keys=key[,s32][,loc]:vals=u32:ts0=u64,seen=s16
// keys=…:vals=$seen,u64:was=$ts0,own=s32:now=common_timestamp:onmatch().trace($own,$ts0,$was)
struct BothWays {
  Hist start, end;
  void make(uint32_t extra_keys, LiveEvent* synthetic, bool quick) {
    for (Hist* hist : {&start, &end}) {
      hist->key(field("key"));
      if (extra_keys & 1) hist->key(field("s32"));
      if (extra_keys & 2) hist->key(field("loc"));
    }
    start.value(field("u32"));
    HistField* ts0 = start.variable(field("u64"));
    HistField* seen = start.variable(field("s16"));
    start.compile();
    const HistField* once = end.refer(ts0, true);
    const HistField* again = end.refer(seen);
    end.value(Hist::copy(again)).value(field("u64"));
    HistField* was = end.variable(Hist::copy(once));
    HistField* own = end.variable(field("s32"));
    end.variable(generic(kHistTimestamp));
    HistActionData* action = end.action(HistHandler::kMatch, HistActionKind::kTrace);
    action->synthetic = synthetic;
    action->params = {end.refer(own), end.var_refs[0].get(), end.refer(was)};
    end.compile();
    for (Hist* hist : {&start, &end}) {
      ASSERT_NE(hist->program->quick, nullptr);
      if (!quick) hist->program->quick = nullptr;
    }
  }
  static std::map<std::string, std::vector<uint64_t>> contents(Hist* hist, uint32_t variables) {
    std::map<std::string, std::vector<uint64_t>> all;
    for (const HistEntry& entry : hist->read()) {
      auto& words =
          all[std::string(reinterpret_cast<const char*>(entry.key), hist->table->key_size)];
      words = entry.values;
      for (uint32_t i = 0; i < variables; i++) {
        words.push_back(hist->is_set(i, entry.index));
        words.push_back(hist->read_variable(i, entry.index));
      }
    }
    return all;
  }
};

TEST_F(HistTrace, TheStraightWayDoesWhatTheGeneralWayDoes) {
  set_fields({{"u64", "one", 8, 8, false, 0, {}},
              {"u32", "two", 16, 4, false, 0, {}},
              {"u8", "three", 24, 1, false, 0, {}}});
  wanted_by({&a_});
  for (uint32_t extra_keys = 0; extra_keys < 4; extra_keys++)
    for (bool is_plain : {false, true}) {
      SCOPED_TRACE(extra_keys);
      reinterpret_cast<SiteProgram*>(program_bytes_.data())->plain = is_plain ? kPlain : 0;
      std::map<std::string, std::vector<uint64_t>> starts[2], ends[2];
      std::vector<std::string> records[2];
      for (bool quick : {false, true}) {
        BothWays ways;
        ways.make(extra_keys, &synthetic_, quick);
        std::mt19937_64 random(3);
        for (int i = 0; i < 3000; i++) {
          Record record;
          record.key = uint32_t(random() % 12);  // with the others more than there is room for
          record.s32 = int32_t(random() % 3) - 1;
          record.u64 = random();
          record.u32 = uint32_t(random());
          record.s16 = int16_t(random());
          record.set_texts(std::string(random() % 3 * 9, 'x').insert(0, random() % 2, 'a'));
          hit(random() % 3 ? ways.start : ways.end, record);
        }
        starts[quick] = BothWays::contents(&ways.start, 2);
        ends[quick] = BothWays::contents(&ways.end, 2);
        records[quick] = a_.take();
        std::sort(records[quick].begin(), records[quick].end());  // of several CPUs
      }
      EXPECT_GT(starts[0].size(), 11u);
      EXPECT_EQ(starts[0], starts[1]);
      EXPECT_GT(ends[0].size(), 10u);
      EXPECT_EQ(ends[0], ends[1]);
      EXPECT_GT(records[0].size(), 50u);
      EXPECT_EQ(records[0], records[1]);
    }
}

// keys=…:ts0=u64   keys=…:was=$ts0,now=common_timestamp:onmatch().trace($was)   keys=…:vals=u32,s16
struct Shapes {
  Hist start, end, counts;
  void make(uint32_t extra_keys, LiveEvent* synthetic, bool quick) {
    for (Hist* hist : {&start, &end, &counts}) {
      hist->key(field("key"));
      if (extra_keys & 1) hist->key(field("s32"));
      if (extra_keys & 2) hist->key(field("loc"));
    }
    HistField* ts0 = start.variable(field("u64"));
    start.compile();
    HistField* was = end.variable(Hist::copy(end.refer(ts0, true)));
    end.variable(generic(kHistTimestamp));
    HistActionData* action = end.action(HistHandler::kMatch, HistActionKind::kTrace);
    action->synthetic = synthetic;
    action->params = {end.refer(was)};
    end.compile();
    counts.value(field("u32")).value(field("s16"));
    counts.compile();
    EXPECT_EQ(start.program->quick->shape, HistQuickShape::kRemembers);
    EXPECT_EQ(end.program->quick->shape, HistQuickShape::kMatches);
    EXPECT_EQ(counts.program->quick->shape, HistQuickShape::kCounts);
    for (Hist* hist : {&start, &end, &counts})
      if (!quick) hist->program->quick = nullptr;
  }
};

TEST_F(HistTrace, EveryShapeOfItDoesWhatTheGeneralWayDoes) {
  set_fields({{"u64", "one", 8, 8, false, 0, {}}});
  wanted_by({&a_});
  for (uint32_t extra_keys = 0; extra_keys < 4; extra_keys++)
    for (bool is_plain : {false, true}) {
      SCOPED_TRACE(extra_keys);
      reinterpret_cast<SiteProgram*>(program_bytes_.data())->plain = is_plain ? kPlain : 0;
      std::map<std::string, std::vector<uint64_t>> seen[2][3];
      std::vector<std::string> records[2];
      for (bool quick : {false, true}) {
        Shapes shapes;
        shapes.make(extra_keys, &synthetic_, quick);
        std::mt19937_64 random(7);
        for (int i = 0; i < 3000; i++) {
          Record record;
          record.key = uint32_t(random() % 12);
          record.s32 = int32_t(random() % 3) - 1;
          record.u64 = random();
          record.u32 = uint32_t(random());
          record.s16 = int16_t(random());
          record.set_texts(std::string(random() % 5 * 7, 'x').insert(0, random() % 2, 'a'));
          hit(random() % 3 ? shapes.start : shapes.end, record);
          hit(shapes.counts, record);
        }
        seen[quick][0] = BothWays::contents(&shapes.start, 1);
        seen[quick][1] = BothWays::contents(&shapes.end, 1);
        seen[quick][2] = BothWays::contents(&shapes.counts, 0);
        records[quick] = a_.take();
        std::sort(records[quick].begin(), records[quick].end());
      }
      for (uint32_t which = 0; which < 3; which++) {
        EXPECT_GT(seen[0][which].size(), 10u);
        EXPECT_EQ(seen[0][which], seen[1][which]) << which;
      }
      EXPECT_GT(records[0].size(), 50u);
      EXPECT_EQ(records[0], records[1]);
    }
}

// A sum that is a time has one, though nothing else of the histogram asks for the clock.
TEST_F(HistTrace, SumsOfTimes) {
  Hist hist;
  hist.key(field("key")).value(generic(kHistTimestamp));
  hist.compile();
  ASSERT_NE(hist.program->quick, nullptr);
  hit(hist, {});
  EXPECT_GT(hist.read().at(0).values[0], 0u);
}

// A histogram over the synthetic event that it fires itself ends, and what was cut is counted.
TEST_F(HistTrace, FiringIsBounded) {
  set_fields({{"u32", "key", uint32_t(offsetof(Record, key)), 4, false, 0, {}}});
  wanted_by({&a_});
  Hist hist;
  std::vector<FieldPtr> values;
  values.push_back(field("key"));
  trace(&hist, std::move(values));
  std::vector<char> bytes(sizeof(TriggerProgram) + sizeof(Trigger));
  auto* triggers = reinterpret_cast<TriggerProgram*>(bytes.data());
  triggers->nr_triggers = 1;
  triggers->trigger[0].kind = TriggerKind::kHist;
  triggers->trigger[0].needs_record = 1;
  triggers->trigger[0].hist = hist.program;
  a_.program.triggers = triggers;
  hit(hist, {});
  EXPECT_EQ(hist.read().at(0).values[0], 1u + kMaxHistDepth);
  EXPECT_EQ(a_.take().size(), kMaxHistDepth);
  EXPECT_EQ(a_.buffer->header()->recursion, 1u);
}

}  // namespace
}  // namespace patchbay
