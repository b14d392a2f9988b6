// SPDX-License-Identifier: MIT
//
// Histograms as code against hist_update(), which is what the general way runs: the same calls have
// to leave the same tables. Definitions and arguments are random, by a seed that each failure
// names; PB_HIST_SEED begins with another one.
#include "codegen/hist_code.h"

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "codegen/probe_compile_testing.h"
#include "hist/definition/hist_compile.h"
#include "hist/hist_table.h"
#include "hot/storm_testing.h"
#include "probe/triggers/hist_hot.h"

namespace patchbay {
namespace {

struct Hist : HistData {
  Hist() {
    map_bits = kMinHistBits;
    clock = "mono";
    add(&values, nullptr, kHistHitcount);
  }
  ~Hist() {
    if (table) retire_hist_table(table);
  }
  void add(std::vector<std::unique_ptr<HistField>>* list, const EventField* field,
           uint32_t flags = 0) {
    auto made = std::make_unique<HistField>();
    made->field = field;
    made->flags = flags;
    made->is_signed = field && field->is_signed;
    list->push_back(std::move(made));
  }
  uint64_t hits() const { return count_hist_hits(table); }
};

using Sums = std::map<std::string, std::vector<uint64_t>>;  // by key
Sums sums_of(const Hist& hist, uint64_t* dropped) {
  Sums sums;
  HistTotals totals;
  for (const HistEntry& entry : read_hist_table(hist.table, &totals))
    sums[std::string(reinterpret_cast<const char*>(entry.key), hist.table->key_size)] =
        entry.values;
  *dropped = totals.dropped;
  return sums;
}

const EventField kThread = {"int", "common_pid", 4, 4, true, 0, {}};

class HistCodeTest : public ProbeCompileTest {
 protected:
  void SetUp() override {
    ProbeCompileTest::SetUp();
    if (IsSkipped()) return;
    faults_.emplace(code_, 2 * kMax);
    define("f()");
    Registers in{}, out;
    call(probe_code(&site_, program_, nullptr, false, false), in, &out);  // meets the thread
  }
  void TearDown() override {
    faults_.reset();
    ProbeCompileTest::TearDown();
  }

  const EventField* field(const std::string& name) const {
    if (name == kThread.name) return &kThread;
    for (const EventField& one : call_.fields)
      if (one.name == name) return &one;
    return nullptr;
  }
  std::unique_ptr<Hist> make(const std::vector<std::string>& keys,
                             const std::vector<std::string>& values = {}, uint32_t flags = 0) {
    auto hist = std::make_unique<Hist>();
    for (const std::string& name : keys) hist->add(&hist->keys, field(name), kHistKey | flags);
    for (const std::string& name : values) hist->add(&hist->values, field(name));
    const Status status = compile_hist(hist.get());
    EXPECT_TRUE(status.ok()) << status.error().message();
    return hist;
  }
  // The event is off, and this is its only trigger.
  void use(const Hist& hist, const std::string& filter = "") {
    set_triggers({filter});
    trigger()->kind = TriggerKind::kHist;
    trigger()->action = nullptr;
    trigger()->hist = hist.program;
  }
  Trigger* trigger() {
    return &reinterpret_cast<TriggerProgram*>(trigger_bytes_.data())->trigger[0];
  }
  ProbeCode best() const { return probe_code(&site_, program_, nullptr, false, false); }
  ProbeCode general() const {
    ProbeCode code = best();
    code.fast = code.hist = code.gated = code.soft = false;
    return code;
  }
  // Code in the first or the second half of the room for it.
  const uint8_t* place(const ProbeCode& code, bool second = false) {
    count_hit(new_hit_counter());  // rseq_cs leads elsewhere
    uint8_t* const at = code_ + (second ? kMax : 0);
    const size_t size = emit_probe(code, at, kMax - 1, reinterpret_cast<uint64_t>(at));
    EXPECT_GT(size, 0u);
    expect_site_is_named(at, size);
    at[size] = 0xc3;
    return at;
  }
  static void run(const uint8_t* code, const Registers& in) {
    Registers out;
    call_with_registers(&in, &out, code);
    EXPECT_EQ(std::memcmp(&in, &out, sizeof in), 0) << "registers";
  }

  std::optional<FaultHandlers> faults_;
};

// Few values for a number, so that keys come again; of all kinds.
uint64_t some_number(std::mt19937_64& random) {
  static constexpr uint64_t kBases[] = {0, 0xfffffffffffffffe, 0x7ffffffe, 0x123456789abcdef0, 126};
  return kBases[random() % std::size(kBases)] + random() % 4;
}

TEST_F(HistCodeTest, CountsWhatTheGeneralWayCounts) {
  const char* text = std::getenv("PB_HIST_SEED");
  const uint64_t first = text ? std::strtoull(text, nullptr, 0) : std::random_device{}();
  alignas(8) static uint64_t words[8] = {1, 2, 0xffffffff00000003, 4, 5, 6, 7, 8};
  const auto there = reinterpret_cast<uint64_t>(words);
  uint64_t hits = 0, slow = 0;
  for (uint64_t seed = first; seed < first + 60 && !HasFailure(); seed++) {
    SCOPED_TRACE("PB_HIST_SEED=" + std::to_string(seed));
    std::mt19937_64 random(seed);
    define(random() % 2 ? "f(u64 a, s32 b, u8 c, s16 d, u32 e, char g)"
                        : "f(u64 a, s32 b[0], u8 c, s16 d, s64 e+8[0], char g[1], string h)");
    std::vector<std::string> names = {"a", "b",          "c",    "d",          "e",
                                      "g", "common_pid", "__ip", "__parent_ip"};
    std::shuffle(names.begin(), names.end(), random);
    const size_t nr_keys = 1 + random() % 3, nr_values = random() % 4;
    const std::vector<std::string> keys(names.begin(), names.begin() + long(nr_keys));
    const std::vector<std::string> values(names.end() - long(nr_values), names.end());
    const auto by_general = make(keys, values), by_code = make(keys, values);
    ProbeCounts counts{new_hit_counter(), 0, 0, 0};
    if (random() % 2) set_place(fetch_.get(), &counts);
    use(*by_general);
    const uint8_t* const general_code = place(general());
    use(*by_code);
    ASSERT_TRUE(best().hist && best().fast);
    const bool live = random() % 2;
    const ProbeCode code = probe_code(&site_, program_, nullptr, live, false);
    if (!code.hist) {
      EXPECT_GE(nr_keys + nr_values, 6u) << "there is room for it";
      continue;
    }
    const uint8_t* const hist_code = place(code, true);
    for (int i = 0; i < 400; i++) {
      Registers in;
      for (uint64_t& value : in.r) value = some_number(random);
      if (random() % 8) in.r[1] = there + 8 * (random() % 4);
      if (random() % 8) in.r[4] = there + 8 * (random() % 4);
      if (random() % 8) in.r[5] = there;
      trigger()->hist = by_general->program;
      run(general_code, in);
      trigger()->hist = by_code->program;
      run(hist_code, in);
    }
    uint64_t dropped[2];
    const Sums expected = sums_of(*by_general, &dropped[0]);
    EXPECT_EQ(expected, sums_of(*by_code, &dropped[1]));
    EXPECT_EQ(dropped[0], dropped[1]);
    if (program_->event[0].counts) {
      EXPECT_EQ(read_hit_counter(counts.hits), 800u);
    }
    // What goes the general way is seen in the other table, for which the key may be new.
    Registers in{};
    in.r[1] = in.r[4] = in.r[5] = there;
    run(hist_code, in);
    trigger()->hist = by_general->program;
    const uint64_t before = by_general->hits();
    for (int i = 0; i < 50; i++) run(hist_code, in);
    slow += by_general->hits() - before;
    hits += 50;
  }
  EXPECT_LT(slow, hits / 2) << "preemption goes the general way, and little else";
}

// The keys that a table has no room for, and slots that are taken by others.
TEST_F(HistCodeTest, AFullTableDropsTheSame) {
  define("f(u64 a, u32 b)");
  const auto by_general = make({"a"}, {"b"}), by_code = make({"a"}, {"b"});
  use(*by_general);
  const uint8_t* const general_code = place(general());
  use(*by_code);
  const uint8_t* const hist_code = place(best(), true);
  for (uint64_t i = 0; i < 3000; i++) {
    Registers in{};
    in.r[0] = i * i % 701;
    in.r[1] = i;
    trigger()->hist = by_general->program;
    run(general_code, in);
    trigger()->hist = by_code->program;
    run(hist_code, in);
  }
  uint64_t dropped[2];
  EXPECT_EQ(sums_of(*by_general, &dropped[0]), sums_of(*by_code, &dropped[1]));
  EXPECT_EQ(dropped[0], dropped[1]);
  EXPECT_GT(dropped[0], 0u);
}

TEST_F(HistCodeTest, OnlyHistogramsOfNumbersThatNobodyRecordsHaveCode) {
  define("f(u64 a, s32 b, string c)");
  const auto has_code = [this] { return best().hist; };
  const auto plain = make({"a", "b"}, {"b"});
  use(*plain);
  EXPECT_TRUE(has_code());
  use(*plain, "b > 3");
  EXPECT_TRUE(has_code());
  use(*plain, "c ~ \"*x*\"");
  EXPECT_FALSE(has_code()) << "a filter that needs the record";
  const auto computed = make({"a"}, {}, kHistLog2);
  use(*computed);
  EXPECT_FALSE(has_code()) << "a key that is computed";
  use(*plain);
  event_.has_soft = 0;
  EXPECT_FALSE(has_code()) << "the event is on";
  use(*plain);
  trigger()->after = 1;
  EXPECT_FALSE(has_code()) << "it fires a synthetic event";
  use(*plain);
  PidSet none{};
  event_.pids = &none;
  EXPECT_FALSE(has_code()) << "some threads are wanted";
  event_.pids = nullptr;
  EXPECT_TRUE(has_code());
  set_triggers({"", ""});
  EXPECT_FALSE(has_code()) << "there are two";
}

// Each as it is at the moment of the hit.
TEST_F(HistCodeTest, WhatTheCodeDoesNotDoGoesTheGeneralWay) {
  define("f(u64 a, s32 b)");
  const auto hist = make({"a"}, {"b"}), other = make({"a"}, {"b"});
  uint32_t all = kHistEach;
  hist->program->event_switch = &all;
  use(*hist, "b < 100");
  const uint8_t* const code = place(best());
  Registers in{};
  in.r[0] = 7;
  in.r[1] = 3;
  const auto expect = [&](uint64_t hits, const char* why) {
    run(code, in);
    EXPECT_EQ(hist->hits(), hits) << why;
  };
  expect(1, "the key is new");
  expect(2, "the key is there");
  in.r[1] = 100;
  expect(2, "the filter does not match");
  in.r[1] = 3;
  hist->program->paused = 1;
  expect(2, "it is paused");
  all = kHistAllOn;
  expect(3, "all of the event are on");
  hist->program->paused = 0;
  all = kHistAllPaused;
  expect(3, "all of the event are paused");
  all = kHistEach;
  clear_hist_table(hist->table);
  expect(1, "it was cleared");
  pb_thread.fast_tid = 0;
  expect(2, "a new thread");
  pb_thread.in_agent = 1;
  pb_thread.fast_tid = 0;
  expect(2, "in the agent");
  pb_thread.in_agent = 0;
  expect(3, "and again not in it");
  const uint64_t before = file_->stats(0).entries;
  soft_ = 1;
  uint64_t recorded = 0;
  for (uint32_t ring = 0; ring < file_->nr_rings(); ring++) recorded -= file_->stats(ring).entries;
  expect(4, "the event is recorded");
  for (uint32_t ring = 0; ring < file_->nr_rings(); ring++) recorded += file_->stats(ring).entries;
  EXPECT_EQ(recorded, 1u) << before;
  soft_ = 0;
  retire_hist_table(hist->table);
  expect(0, "the table is retired");
  hist->table = nullptr;
}

const uint8_t* signal_code;
std::atomic<uint64_t> signal_hits{0};
void on_alarm(int) {
  Registers in{}, out;
  in.r[0] = 99;
  in.r[1] = 1000;
  call_with_registers(&in, &out, signal_code);
  signal_hits++;
}

// More threads than CPUs, and a handler that comes between two instructions of the code.
TEST_F(HistCodeTest, EightThreadsCountExactly) {
  constexpr uint64_t kThreads = 8, kHits = 500000, kKeys = 40;
  define("f(u64 a, s32 b)");
  const auto hist = make({"a"}, {"b", "a"});
  ProbeCounts counts{new_hit_counter(), 0, 0, 0};
  set_place(fetch_.get(), &counts);
  use(*hist);
  const uint8_t* const code = place(best());
  signal_code = code;
  signal_hits = 0;
  test::SignalStorm storm(ITIMER_REAL, 500, on_alarm);
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < kThreads; t++)
    threads.emplace_back([&] {
      for (uint64_t i = 0; i < kHits; i++) {
        Registers in{}, out;
        in.r[0] = i % kKeys;
        in.r[1] = i % 3;
        call_with_registers(&in, &out, code);
      }
    });
  for (std::thread& thread : threads) thread.join();
  storm.stop();
  const uint64_t handled = signal_hits;
  EXPECT_EQ(hist->hits(), kThreads * kHits + handled);
  EXPECT_EQ(read_hit_counter(counts.hits), kThreads * kHits + handled);
  std::map<uint64_t, std::vector<uint64_t>> expected;
  for (uint64_t i = 0; i < kHits; i++) {
    auto& sums = expected.try_emplace(i % kKeys, 3).first->second;
    sums[0] += kThreads;
    sums[1] += kThreads * (i % 3);
    sums[2] += kThreads * (i % kKeys);
  }
  if (handled) expected[99] = {handled, 1000 * handled, 99 * handled};
  std::map<uint64_t, std::vector<uint64_t>> found;
  HistTotals totals;
  for (const HistEntry& entry : read_hist_table(hist->table, &totals)) {
    uint64_t key;
    std::memcpy(&key, entry.key, sizeof key);
    found[key] = entry.values;
  }
  EXPECT_EQ(found, expected);
  count_hit(new_hit_counter());  // no code comes where rseq_cs leads
}

// --- halves of a latency pair, which the code calls (codegen/callback_code.h, hist/hist_pair.h)

class HistPairCode : public HistCodeTest {
 protected:
  struct Pair {
    std::unique_ptr<Hist> start, end;
    uint64_t starts() const { return start->hits(); }
  };
  void SetUp() override {
    HistCodeTest::SetUp();
    synthetic_.call.fields = {{"u64", "lat", 8, 8, false, 0, {}}};
    synthetic_.data = &target_;
  }
  static std::unique_ptr<HistField> part(uint32_t flags) {
    auto made = std::make_unique<HistField>();
    made->flags = flags;
    return made;
  }
  static HistField* add_variable(Hist* hist, std::unique_ptr<HistField> value) {
    auto made = part(kHistVar);
    made->var_data = hist;
    made->var_index = uint32_t(hist->variables.size());
    made->operands[0] = std::move(value);
    hist->variables.push_back(std::move(made));
    return hist->variables.back().get();
  }
  static HistField* refer(Hist* hist, const HistField* variable, bool read_once) {
    auto made = part(kHistVarRef);
    made->var_data = variable->var_data;
    made->var_index = variable->var_index;
    made->ref_index = uint32_t(hist->var_refs.size());
    made->read_once = read_once;
    hist->var_refs.push_back(std::move(made));
    return hist->var_refs.back().get();
  }
  Pair make_pair(const std::string& key) {
    Pair pair = {std::make_unique<Hist>(), std::make_unique<Hist>()};
    for (Hist* hist : {pair.start.get(), pair.end.get()})
      hist->add(&hist->keys, field(key), kHistKey);
    const HistField* ts0 = add_variable(pair.start.get(), part(kHistTimestamp));
    EXPECT_TRUE(compile_hist(pair.start.get()).ok());
    const HistField* taken = refer(pair.end.get(), ts0, true);
    auto latency = part(kHistExpr);
    latency->op = HistOperator::kMinus;
    latency->operands[0] = part(kHistTimestamp);
    latency->operands[1] = part(kHistVarRef);
    latency->operands[1]->ref_index = taken->ref_index;
    const HistField* own = add_variable(pair.end.get(), std::move(latency));
    auto action = std::make_unique<HistActionData>();
    action->synthetic = &synthetic_;
    action->params.push_back(refer(pair.end.get(), own, false));
    pair.end->actions.push_back(std::move(action));
    EXPECT_TRUE(compile_hist(pair.end.get()).ok());
    return pair;
  }
  // Of the general way, by which it is told from the code.
  ProbeCode without_code() const {
    ProbeCode code = best();
    code.fast = code.calls = code.gated = code.soft = false;
    return code;
  }
  LiveEvent synthetic_;
  SyntheticTarget target_ = {};
};

TEST_F(HistPairCode, CountsWhatTheGeneralWayCounts) {
  define("f(u32 a)");
  const char* text = std::getenv("PB_HIST_SEED");
  const uint64_t seed = text ? std::strtoull(text, nullptr, 0) : std::random_device{}();
  SCOPED_TRACE("PB_HIST_SEED=" + std::to_string(seed));
  for (const char* key : {"a", "common_pid"})
    for (const char* filter : {"", "a < 9"}) {
      Sums sums[2][2];
      uint64_t dropped, fast = 0;
      for (bool by_code : {false, true}) {
        const Pair pair = make_pair(key);
        for (bool second : {false, true}) {
          std::mt19937_64 random(seed + second);
          use(second ? *pair.end : *pair.start, filter);
          trigger()->after = second;
          const uint8_t* code = place(by_code ? best() : without_code());
          for (int i = 0; i < 2000; i++) {
            Registers in{};
            in.r[0] = random() << 32 | random() % 12;
            run(code, in);
          }
          sums[by_code][second] = sums_of(second ? *pair.end : *pair.start, &dropped);
          fast += by_code && best().calls;
        }
      }
      EXPECT_EQ(fast, 2u);
      EXPECT_EQ(sums[1][0], sums[0][0]) << key << filter;
      EXPECT_EQ(sums[1][1], sums[0][1]) << key << filter;
      EXPECT_GT(sums[0][1].size(), 0u);
    }
}

// Each start is counted once, whoever is interrupted where. (hist_pair_test.cc has both halves.)
TEST_F(HistPairCode, EightThreadsCountExactly) {
  constexpr uint64_t kThreads = 8, kHits = 100000;
  define("f(u64 a, s32 b)");
  const Pair pair = make_pair("a");
  use(*pair.start);
  ASSERT_TRUE(best().calls && best().fast);
  const uint8_t* const code = place(best());
  signal_code = code;
  signal_hits = 0;
  test::SignalStorm storm(ITIMER_REAL, 500, on_alarm);
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < kThreads; t++)
    threads.emplace_back([&] {
      for (uint64_t i = 0; i < kHits; i++) {
        Registers in{}, out;
        in.r[0] = i % 40;
        call_with_registers(&in, &out, code);
      }
    });
  for (std::thread& thread : threads) thread.join();
  storm.stop();
  EXPECT_EQ(pair.starts(), kThreads * kHits + signal_hits);
  count_hit(new_hit_counter());  // no code comes where rseq_cs leads
}

}  // namespace
}  // namespace patchbay
