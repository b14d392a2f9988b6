// SPDX-License-Identifier: MIT
// Reading a histogram that is filled to the brim: 131,072 entries from the table to sorted text.
// Budget: 300 ms (docs: a reader at a terminal does not wait).
#include <benchmark/benchmark.h>

#include <cstring>

#include "base/possible_cpus.h"
#include "hist/hist_table_hot.h"
#include "hist/image/hist_image_of.h"
#include "hist/text/hist_text.h"
#include "hist/text/hist_text_testing.h"

namespace {

using namespace patchbay;
using patchbay::testing::add_hitcount;
using patchbay::testing::hist_event_field;
using patchbay::testing::hist_field;

constexpr uint32_t kEntries = 131072;

void hit(HistTable* table, const uint64_t* word, uint64_t value) {
  const uint32_t words = table->key_size / 8;
  const HistKey key = {word, words, words};
  const uint32_t generation = hist_generation(table), hash = hist_hash(key);
  uint32_t entry = hist_find(table, key, hash, generation);
  if (entry == kHistNone) entry = hist_insert(table, key, hash, generation);
  if (entry >= kHistLate) return hist_drop(table, generation);
  hist_add(table, hist_sum_at(table, entry, 0), 1, generation);
  hist_add(table, hist_sum_at(table, entry, 1), value, generation);
}

HistTable* make_table(uint32_t words) {
  HistShape shape;
  shape.bits = 17;
  shape.key_size = words * 8;
  shape.nr_values = 2;
  shape.nr_cpus = possible_cpus();
  return *make_hist_table(shape);
}

void read(benchmark::State& state, const HistData& hist, uint64_t bytes_at_least) {
  uint64_t bytes = 0;
  for (auto _ : state) {
    auto contents = contents_of_table(hist);
    bytes = hist_text(hist_image_of(hist, "hist:bench", *contents, {})).size();
  }
  if (bytes < bytes_at_least) state.SkipWithError("the table is not full");
  state.counters["bytes"] = double(bytes);
}

// hist:keys=id:vals=bytes:sort=bytes.descending,id:size=131072
void HistReadNumber(benchmark::State& state) {
  const EventField id = hist_event_field("u64", "id", 8, false);
  const EventField bytes = hist_event_field("u64", "bytes", 8, false);
  HistData hist;
  add_hitcount(&hist);
  hist.values.push_back(hist_field(&bytes));
  hist.keys.push_back(hist_field(&id, kHistKey));
  hist.sorts = {{1, true}, {2, false}};
  hist.table = make_table(1);
  for (uint64_t i = 0; i < kEntries; i++) {
    const uint64_t key = i * 0x9e3779b97f4a7c15;
    hit(hist.table, &key, i % 1000);
  }
  read(state, hist, kEntries * 50);
  retire_hist_table(hist.table);
}
BENCHMARK(HistReadNumber)->Unit(benchmark::kMillisecond);

// hist:keys=name,id:vals=bytes.percent,…:sort=name,bytes: texts that begin alike.
void HistReadText(benchmark::State& state) {
  const EventField name = hist_event_field("char[32]", "name", 32, false);
  const EventField id = hist_event_field("u64", "id", 8, false);
  HistData hist;
  add_hitcount(&hist);
  hist.values.push_back(hist_field(&id, kHistPercent));
  hist.keys.push_back(hist_field(&name, kHistKey | kHistString));
  hist.keys[0]->size = 32;
  hist.keys.push_back(hist_field(&id, kHistKey));
  hist.keys[1]->key_offset = 32;
  hist.sorts = {{2, false}, {1, true}};
  hist.table = make_table(5);
  for (uint64_t i = 0; i < kEntries; i++) {
    uint64_t key[5] = {};
    std::snprintf(reinterpret_cast<char*>(key), 32, "SELECT * FROM t%04llu",
                  static_cast<unsigned long long>(i * 7919 % 5000));
    key[4] = i;
    hit(hist.table, key, i);
  }
  read(state, hist, kEntries * 90);
  retire_hist_table(hist.table);
}
BENCHMARK(HistReadText)->Unit(benchmark::kMillisecond);

}  // namespace
