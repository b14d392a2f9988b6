// SPDX-License-Identifier: MIT
//
// Not one hit too few or too many, not one entry twice: threads and signal handlers that insert the
// same keys at once, tables that are full, cleared, shared with forked children.
#include "hist/hist_table.h"

#include <gtest/gtest.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <ctime>
#include <map>
#include <random>
#include <thread>

#include "base/possible_cpus.h"
#include "base/testing.h"
#include "hist/hist_table_hot.h"
#include "hot/rseq_testing.h"
#include "ring_buffer/ring_write_hot.h"

namespace patchbay {
namespace {

HistKey key_of(const uint64_t* word, uint32_t words) { return {word, words, words}; }

// One hit, as hist_update() does it.
uint32_t hit(HistTable* table, const uint64_t* word, uint64_t value = 0) {
  const HistKey key = key_of(word, table->key_size / 8);
  const uint32_t generation = hist_generation(table), hash = hist_hash(key);
  if (generation & 1) return kHistLate;
  uint32_t entry = hist_find(table, key, hash, generation);
  if (entry == kHistNone) entry = hist_insert(table, key, hash, generation);
  if (entry == kHistFull) hist_drop(table, generation);
  if (entry >= kHistLate) return entry;
  hist_add(table, hist_sum_at(table, entry, 0), 1, generation);
  if (table->nr_values > 1) hist_add(table, hist_sum_at(table, entry, 1), value, generation);
  return entry;
}

HistShape shape_of(uint32_t bits, uint32_t words = 1, uint32_t values = 1) {
  HistShape shape;
  shape.bits = bits;
  shape.key_size = words * 8;
  shape.nr_values = values;
  shape.nr_cpus = possible_cpus();
  return shape;
}

class HistTableTest : public ::testing::Test {
 protected:
  void SetUp() override {
    pb_rseq_offset = test::rseq_offset();
    std::printf("seed %lu\n", static_cast<unsigned long>(seed_));
  }
  void TearDown() override {
    if (table_) retire_hist_table(table_);
    pb_rseq_offset = 0;
    pb_thread = {};
  }
  void make(const HistShape& shape) {
    auto made = make_hist_table(shape);
    ASSERT_TRUE(made.ok()) << made.error().message();
    table_ = *made;
  }
  // By the first word of the key. Fails if a key is there twice.
  std::map<uint64_t, HistEntry> read() {
    std::map<uint64_t, HistEntry> found;
    for (const HistEntry& entry : read_hist_table(table_, &totals_)) {
      const uint64_t key = *reinterpret_cast<const uint64_t*>(entry.key);
      EXPECT_TRUE(found.emplace(key, entry).second) << "twice: " << key << " seed " << seed_;
    }
    return found;
  }
  template <typename Body>
  void in_threads(int count, Body body) {
    std::atomic<int> ready{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < count; t++)
      threads.emplace_back([&, t] {
        for (ready++; ready < count;) std::this_thread::yield();
        body(t);
      });
    for (std::thread& thread : threads) thread.join();
  }

  const uint64_t seed_ = uint64_t(std::time(nullptr));
  HistTable* table_ = nullptr;
  HistTotals totals_;
};

TEST_F(HistTableTest, CountsByKey) {
  make(shape_of(7, 1, 2));
  for (uint64_t i = 0; i < 1000; i++) {
    const uint64_t key = i % 10;
    hit(table_, &key, i);
  }
  auto entries = read();
  ASSERT_EQ(entries.size(), 10u);
  EXPECT_EQ(totals_.hits, 1000u);
  EXPECT_EQ(totals_.entries, 10u);
  EXPECT_EQ(totals_.dropped, 0u);
  for (const auto& [key, entry] : entries) {
    EXPECT_EQ(entry.values[0], 100u);
    EXPECT_EQ(entry.values[1], 100 * key + 10 * 4950);
  }
}

TEST_F(HistTableTest, KeysOfSeveralWords) {
  make(shape_of(7, 4));
  const uint64_t keys[][4] = {{1, 2, 0, 0}, {1, 0, 2, 0}, {2, 1, 0, 0}, {1, 2, 0, 1}, {0, 0, 0, 0}};
  for (const auto& key : keys) hit(table_, key);
  // The same without the zeros at its end; and one that lacks a word.
  const HistKey cut = {keys[0], 2, 4};
  EXPECT_EQ(hist_hash(cut), hist_hash(key_of(keys[0], 4)));
  EXPECT_EQ(hist_find(table_, cut, hist_hash(cut), hist_generation(table_)), 0u);
  const HistKey shorter = {keys[3], 3, 4};
  EXPECT_FALSE(hist_same_key(keys[3], shorter));
  EXPECT_EQ(hist_find(table_, shorter, hist_hash(shorter), hist_generation(table_)), 0u);
  EXPECT_EQ(read_hist_table(table_, &totals_).size(), 5u);
}

TEST_F(HistTableTest, FullTableCountsWhatItDrops) {
  make(shape_of(7));
  for (uint64_t key = 0; key < 200; key++) hit(table_, &key);
  for (uint64_t key = 0; key < 200; key++) hit(table_, &key);
  EXPECT_EQ(read().size(), 128u);
  EXPECT_EQ(totals_.hits, 256u);
  EXPECT_EQ(count_hist_hits(table_), 256u);
  EXPECT_EQ(totals_.dropped, 144u);
}

TEST_F(HistTableTest, VariablesAreSetReadAndTaken) {
  HistShape shape = shape_of(7);
  shape.nr_variables = 2;
  shape.text_bytes = 16;
  make(shape);
  const uint64_t key = 7;
  const uint32_t entry = hit(table_, &key);
  uint64_t value = 0;
  EXPECT_FALSE(read_hist_variable(table_, entry, 1, &value));
  hist_set_variable(hist_variable(table_, entry, 1), 42);
  EXPECT_TRUE(read_hist_variable(table_, entry, 1, &value));
  EXPECT_EQ(value, 42u);
  EXPECT_FALSE(read_hist_variable(table_, entry, 0, &value));
  EXPECT_TRUE(hist_take_variable(hist_variable(table_, entry, 1), &value));
  EXPECT_FALSE(hist_take_variable(hist_variable(table_, entry, 1), &value));
  hist_text(table_, entry, 8)[0] = 'x';
  EXPECT_EQ(*hist_text_at(table_, entry, 8), 'x');
  clear_hist_table(table_);
  EXPECT_EQ(hit(table_, &key), 0u);
  EXPECT_FALSE(read_hist_variable(table_, 0, 1, &value)) << "an entry begins without variables";
}

TEST_F(HistTableTest, ThreadsWithoutRseqCountToo) {
  make(shape_of(7));
  const uint64_t key = 1;
  hit(table_, &key);
  pb_thread.no_rseq = 1;
  for (int i = 0; i < 10; i++) hit(table_, &key);
  EXPECT_EQ(read().at(1).values[0], 11u);
  EXPECT_EQ(table_->locked_users, 0u);
}

TEST_F(HistTableTest, ForkedChildrenCountInTheSameTable) {
  make(shape_of(7));
  uint64_t key = 1;
  hit(table_, &key);
  const int status = test::status_of_child([&] {
    for (int i = 0; i < 100; i++) hit(table_, &key);
    for (key = 2; key < 12; key++) hit(table_, &key);
    return 0;
  });
  ASSERT_EQ(status, 0);
  auto entries = read();
  EXPECT_EQ(entries.size(), 11u);
  EXPECT_EQ(entries.at(1).values[0], 101u);
  clear_hist_table(table_);
  EXPECT_TRUE(read().empty());
}

// All threads insert the same keys in the same order: each key is a race, and the table holds
// exactly as many as there are.
TEST_F(HistTableTest, EqualKeysAtOnceFillItExactly) {
  constexpr uint64_t kKeys = 1 << 10;
  for (int round = 0; round < 100; round++) {
    make(shape_of(10));
    in_threads(4, [&](int) {
      for (uint64_t key = 0; key < kKeys; key++) hit(table_, &key);
    });
    auto entries = read();
    ASSERT_EQ(entries.size(), kKeys) << "seed " << seed_;
    ASSERT_EQ(totals_.dropped, 0u) << "seed " << seed_;
    for (const auto& [key, entry] : entries) ASSERT_EQ(entry.values[0], 4u) << key;
    retire_hist_table(table_);
    table_ = nullptr;
  }
}

TEST_F(HistTableTest, BrimFull) {
  constexpr uint64_t kKeys = 200000, kSize = 1 << 17;
  make(shape_of(17));
  std::atomic<uint64_t> full{0};
  in_threads(4, [&](int t) {
    std::mt19937_64 random(seed_ + uint64_t(t));
    uint64_t dropped = 0;
    for (uint64_t i = 0; i < 2 * kKeys; i++) {
      const uint64_t key = i < kKeys ? (i * 4 + uint64_t(t)) % kKeys : random() % kKeys;
      if (hit(table_, &key) == kHistFull) dropped++;
    }
    full += dropped;
  });
  auto entries = read();
  EXPECT_EQ(entries.size(), kSize) << "seed " << seed_;
  EXPECT_EQ(totals_.dropped, full);
  EXPECT_EQ(totals_.hits + totals_.dropped, 8 * kKeys) << "seed " << seed_;
}

// --- what only a race leaves behind, put there by hand

uint32_t* claim_of(HistTable* table, uint32_t entry) {
  return reinterpret_cast<uint32_t*>(hist_entry(table, entry));
}

TEST_F(HistTableTest, EntriesOfOthersAreLeftAlone) {
  make(shape_of(7));
  const uint32_t generation = hist_generation(table_);
  *claim_of(table_, 0) = generation + 2;  // taken behind a clear that this hit does not know of
  *claim_of(table_, 1) = generation | 1;  // its key is being written
  const uint64_t key = 5;
  EXPECT_EQ(hit(table_, &key), 2u);
  EXPECT_EQ(*claim_of(table_, 0), generation + 2);
  EXPECT_EQ(*claim_of(table_, 1), generation | 1);
}

TEST_F(HistTableTest, WithoutAnEntryLeftAKeyIsDropped) {
  make(shape_of(7));
  const uint64_t generation = hist_generation(table_);
  table_->taken = generation << 32 | table_->nr_entries;
  const uint64_t key = 5;
  EXPECT_EQ(hit(table_, &key), kHistFull);
  table_->taken = generation << 32 | (table_->nr_entries - 1);
  EXPECT_EQ(hit(table_, &key), table_->nr_entries - 1);
  EXPECT_EQ(read().size(), 1u);
  EXPECT_EQ(totals_.dropped, 1u);
}

// The slot was filled while there was room, and the places of `order` were used up meanwhile.
TEST_F(HistTableTest, APendingKeyOfAFullTableIsDropped) {
  make(shape_of(7));
  for (uint64_t key = 0; key < table_->size; key++) ASSERT_LT(hit(table_, &key), kHistLate);
  const uint64_t key = 1000;
  const uint32_t generation = hist_generation(table_), hash = hist_hash(key);
  const uint32_t entry = table_->nr_entries - 1;
  uint32_t at = hash & table_->slot_mask;
  while (table_->slots[at] & kHistEntryMask) at = (at + 1) & table_->slot_mask;
  *hist_key_of(table_, entry) = key;
  table_->slots[at] = hist_tag(hash, generation) | kHistPending | (entry + 1);
  EXPECT_EQ(hit(table_, &key), kHistFull);
  EXPECT_EQ(table_->slots[at] & kHistDead, kHistDead);
  EXPECT_EQ(read().size(), table_->size);
  EXPECT_EQ(totals_.dropped, 1u);
}

// --- handlers that interrupt inserts

HistTable* g_table;
std::atomic<uint64_t> g_in_handler;
std::atomic<uint64_t> g_next_key;

void insert_in_handler(int) {
  // The key that the threads are about to insert, and one that nobody else has.
  uint64_t key = g_next_key.load(std::memory_order_relaxed);
  hit(g_table, &key, key);
  key++;
  hit(g_table, &key, key);
  g_in_handler.fetch_add(2, std::memory_order_relaxed);
}

TEST_F(HistTableTest, HandlersInterruptInserts) {
  constexpr uint64_t kKeys = 60000, kSignals = 10;  // at least
  constexpr int kThreads = 3;
  make(shape_of(17, 1, 2));
  g_table = table_;
  g_in_handler = 0;
  g_next_key = 0;
  struct sigaction action = {}, before = {};
  action.sa_handler = insert_in_handler;
  action.sa_flags = SA_RESTART;
  ::sigaction(SIGPROF, &action, &before);
  itimerval storm = {{0, 50}, {0, 50}}, none = {};
  ::setitimer(ITIMER_PROF, &storm, nullptr);
  std::atomic<int> running{kThreads};
  std::atomic<uint64_t> hits{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; t++)
    threads.emplace_back([&] {
      uint64_t i = 0;
      for (; i < kKeys || g_in_handler <= 2 * kSignals; i++) {
        const uint64_t key = i % kKeys;
        g_next_key.store(key, std::memory_order_relaxed);
        hit(table_, &key, key);
      }
      hits += i;
      running--;
    });
  for (size_t i = 0; running > 0; i++) {
    ::pthread_kill(threads[i % kThreads].native_handle(), SIGPROF);
    ::usleep(20);
  }
  for (std::thread& thread : threads) thread.join();
  ::setitimer(ITIMER_PROF, &none, nullptr);
  ::sigaction(SIGPROF, &before, nullptr);
  auto entries = read();
  EXPECT_EQ(totals_.hits, hits + g_in_handler) << "seed " << seed_;
  EXPECT_EQ(totals_.dropped, 0u);
  EXPECT_GE(entries.size(), kKeys);
  for (const auto& [key, entry] : entries) {
    ASSERT_EQ(entry.values[1], entry.values[0] * key) << "seed " << seed_;
  }
}

// What came before a clear is gone; what comes after it is exact.
TEST_F(HistTableTest, ClearingUnderLoad) {
  make(shape_of(10, 1, 2));
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; t++)
    threads.emplace_back([&, t] {
      std::mt19937_64 random(seed_ + uint64_t(t));
      pb_thread.no_rseq = t == 0;
      while (!stop) {
        const uint64_t key = random() % 2000;
        hit(table_, &key, key);
      }
    });
  for (int i = 0; i < 200; i++) clear_hist_table(table_);
  stop = true;
  for (std::thread& thread : threads) thread.join();
  for (const auto& [key, entry] : read())
    ASSERT_EQ(entry.values[1], entry.values[0] * key) << "seed " << seed_;
  clear_hist_table(table_);
  for (uint64_t key = 0; key < 1100; key++) hit(table_, &key, key);
  EXPECT_EQ(read().size(), 1024u) << "no entry got lost";
  EXPECT_EQ(totals_.hits, 1024u);
  EXPECT_EQ(totals_.dropped, 76u);
}

TEST_F(HistTableTest, QuantilesAreCountedByEntry) {
  HistShape shape = shape_of(7);
  shape.quantile_buckets = 100;
  make(shape);
  uint64_t key = 1;
  const uint32_t one = hit(table_, &key);
  key = 2;
  const uint32_t two = hit(table_, &key);
  for (int i = 0; i < 5; i++) hist_count_quantile(table_, two, 99);
  EXPECT_EQ(read_hist_quantiles(table_, one), std::vector<uint64_t>(100));
  EXPECT_EQ(read_hist_quantiles(table_, two)[99], 5u);
  clear_hist_table(table_);
  EXPECT_EQ(read_hist_quantiles(table_, two)[99], 0u);
}

}  // namespace
}  // namespace patchbay
