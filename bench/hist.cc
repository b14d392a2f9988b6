// SPDX-License-Identifier: MIT
//
// What a hit of a histogram costs, as CPU time and as a ratio to the floor of the same run: the
// update alone, over a record that is there. What stands before it (the event's own way to its
// triggers) is in bench/static_event.cc.
//
// Goals: one integer key 1.0 x floor, two keys with a text 2 x, a latency pair (two hits, two
// variables, onmatch().trace()) 4 x; four threads on one table get 1.5 times as much done as one on
// two CPUs, and their totals are exact. The clock on the wall is what counts for those: on a
// machine that does other things the CPU time for each hit says more, which is printed beside it.
//
//   hist [--benchmark_filter=REGEX] [--benchmark_format=json] …
#include <benchmark/benchmark.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "floor.h"
#include "hist/definition/hist_compile.h"
#include "hist/hist_program.h"
#include "hist/hist_table.h"
#include "hot/rseq_testing.h"
#include "probe/records/unwind_hot.h"
#include "probe/triggers/hist_hot.h"
#include "ring_buffer/ring_buffer.h"
#include "ring_buffer/ring_write_hot.h"
#include "ring_buffer/thread_rseq.h"

using namespace patchbay;

namespace {

constexpr uint32_t kKeys = 256;

struct Record {
  uint64_t header = uint64_t{1} << 32 | 7;
  uint32_t key = 0;
  uint32_t text = uint32_t(sizeof kText) << 16 | 24;  // __data_loc
  uint64_t value = 42;
  static constexpr char kText[] = "select 1 from t42x;";
  char bytes[sizeof kText] = {};
  Record() { std::memcpy(bytes, kText, sizeof kText); }
};
static_assert(offsetof(Record, bytes) == 24);

const EventField kKey = {"u32", "key", offsetof(Record, key), 4, false, 0, {}};
const EventField kThread = {"int", "common_pid", 4, 4, true, 0, {}};
const EventField kText = {"__data_loc char[]", "text", offsetof(Record, text), 4, false, 0, {}};
const EventField kValue = {"u64", "value", offsetof(Record, value), 8, false, 0, {}};

std::unique_ptr<HistField> field(uint32_t flags, const EventField* of = nullptr) {
  auto made = std::make_unique<HistField>();
  made->flags = flags;
  made->field = of;
  return made;
}

void make(HistData* data) {
  data->clock = "mono";
  Status status = compile_hist(data);
  if (status.ok()) return;
  std::fprintf(stderr, "%s\n", status.error().message().c_str());
  std::exit(1);
}

HistData* new_hist(const EventField& key = kKey) {
  auto* data = new HistData;
  data->values.push_back(field(kHistHitcount));
  data->keys.push_back(field(kHistKey, &key));
  return data;
}

HistField* add_variable(HistData* data, std::unique_ptr<HistField> value) {
  auto variable = field(kHistVar);
  variable->var_data = data;
  variable->var_index = uint32_t(data->variables.size());
  variable->operands[0] = std::move(value);
  data->variables.push_back(std::move(variable));
  return data->variables.back().get();
}

HistField* refer(HistData* data, const HistField* variable, bool read_once) {
  auto reference = field(kHistVarRef);
  reference->var_data = variable->var_data;
  reference->var_index = variable->var_index;
  reference->ref_index = uint32_t(data->var_refs.size());
  reference->read_once = read_once;
  data->var_refs.push_back(std::move(reference));
  return data->var_refs.back().get();
}

void hit(const HistData* data, const Record& record) {
  static const StackStart nowhere = {};
  const TriggerHit at = {nullptr, &nowhere, 1};
  hist_update(data->program, at, reinterpret_cast<const uint8_t*>(&record), sizeof record);
}

template <typename Use>
void run(benchmark::State& state, Use use) {
  Record record;
  uint32_t i = 0;
  for (auto _ : state) {
    record.key = i++ % kKeys;
    benchmark::ClobberMemory();
    use(record);
  }
}

void one_key(benchmark::State& state) {
  static HistData* data = [] {
    HistData* made = new_hist();
    make(made);
    return made;
  }();
  run(state, [](const Record& record) { hit(data, record); });
}
BENCHMARK(one_key)->MinTime(0.5);

void one_key_two_values(benchmark::State& state) {
  static HistData* data = [] {
    HistData* made = new_hist();
    made->values.push_back(field(0, &kValue));
    made->values.push_back(field(0, &kValue));
    make(made);
    return made;
  }();
  run(state, [](const Record& record) { hit(data, record); });
}
BENCHMARK(one_key_two_values)->MinTime(0.5);

void one_key_quantiles(benchmark::State& state) {
  static HistData* data = [] {
    HistData* made = new_hist();
    made->values.push_back(field(kHistQuantiles, &kValue));
    make(made);
    return made;
  }();
  run(state, [](const Record& record) { hit(data, record); });
}
BENCHMARK(one_key_quantiles)->MinTime(0.5);

void two_keys_with_text(benchmark::State& state) {
  static HistData* data = [] {
    HistData* made = new_hist();
    made->keys.push_back(field(kHistKey | kHistString, &kText));
    make(made);
    return made;
  }();
  run(state, [](const Record& record) { hit(data, record); });
}
BENCHMARK(two_keys_with_text)->MinTime(0.5);

// --- start: keys=key:ts0=common_timestamp
//     end: keys=key:lat=common_timestamp-$ts0:onmatch(start).trace(pair,$lat)

LiveEvent g_synthetic;
SyntheticTarget g_target;

struct Pair {
  HistData* start;
  HistData* end;
};

Pair make_pair(const EventField& key) {
  g_synthetic.call.fields = {{"u64", "lat", 8, 8, false, 0, {}}};
  g_synthetic.data = &g_target;
  Pair pair = {new_hist(key), new_hist(key)};
  const HistField* ts0 = add_variable(pair.start, field(kHistTimestamp));
  make(pair.start);
  const HistField* reference = refer(pair.end, ts0, true);
  auto latency = field(kHistExpr);
  latency->op = HistOperator::kMinus;
  latency->operands[0] = field(kHistTimestamp);
  latency->operands[1] = field(kHistVarRef);
  latency->operands[1]->ref_index = reference->ref_index;
  const HistField* variable = add_variable(pair.end, std::move(latency));
  auto action = std::make_unique<HistActionData>();
  action->synthetic = &g_synthetic;
  action->params.push_back(refer(pair.end, variable, false));
  pair.end->actions.push_back(std::move(action));
  make(pair.end);
  return pair;
}

// Who wants the synthetic event: nobody, or an instance that records it.
void latency_pair(benchmark::State& state, const EventField& key, const SiteProgram* wanted) {
  const Pair pair = make_pair(key);
  g_target.program = wanted;
  run(state, [&](const Record& record) {
    hit(pair.start, record);
    hit(pair.end, record);
  });
}

const SiteProgram* recorded() {
  static char directory[] = "/dev/shm/patchbay-bench.XXXXXX";
  if (!::mkdtemp(directory)) std::exit(1);
  RingBufferOptions options;
  options.path = std::string(directory) + "/buffer";
  options.nr_cpus = uint32_t(::sysconf(_SC_NPROCESSORS_CONF));
  auto made = RingBuffer::create(options);
  if (!made.ok() || !(*made)->enable().ok()) std::exit(1);
  RingBuffer* buffer = made->release();
  buffer->remove_file();
  ::rmdir(directory);
  static EventProgram event = {};
  event.rings = buffer->rings();
  event.id = 8;
  alignas(SiteProgram) static char bytes[sizeof(SiteProgram) + sizeof(SiteEvent)];
  auto* program = new (bytes) SiteProgram{};
  program->nr_events = 1;
  program->plain = kPlain;
  program->event[0].event = &event;
  return program;
}

void latency_pair_nobody(benchmark::State& state, const EventField& key) {
  latency_pair(state, key, nullptr);
}
void latency_pair_recorded(benchmark::State& state, const EventField& key) {
  static const SiteProgram* const program = recorded();
  latency_pair(state, key, program);
}
BENCHMARK_CAPTURE(latency_pair_nobody, key, kKey)->MinTime(0.5);
BENCHMARK_CAPTURE(latency_pair_recorded, key, kKey)->MinTime(0.5);
BENCHMARK_CAPTURE(latency_pair_nobody, common_pid, kThread)->MinTime(0.5);
BENCHMARK_CAPTURE(latency_pair_recorded, common_pid, kThread)->MinTime(0.5);

// The limit of the pair: keys in a table that no other thread has, and nothing that others may
// read, clear or switch off. Of several readers of one variable one gets it: that takes an exchange
// (`shared`).
void latency_pair_limit(benchmark::State& state, bool shared) {
  struct Slot {
    uint64_t key, starts, ends, time, set;
  };
  static Slot slots[2 * kKeys];
  static uint64_t ring[1024][4];
  uint64_t written = 0;
  run(state, [&](const Record& record) {
    Slot& start = slots[record.key * 2654435761u >> 23];
    start.key = record.key;
    start.starts++;
    start.time = __builtin_ia32_rdtsc();
    __atomic_store_n(&start.set, 1, __ATOMIC_RELEASE);
    benchmark::ClobberMemory();
    Slot& end = slots[record.key * 2654435761u >> 23];
    const uint64_t now = __builtin_ia32_rdtsc();
    const bool is_set = shared ? __atomic_exchange_n(&end.set, 0, __ATOMIC_ACQ_REL) : end.set;
    if (!shared) end.set = 0;
    if (end.key != record.key || !is_set) return;
    end.ends++;
    uint64_t* out = ring[written++ % 1024];
    out[0] = now;
    out[1] = record.header;
    out[2] = now - end.time;
  });
}
BENCHMARK_CAPTURE(latency_pair_limit, own, false)->MinTime(0.5);
BENCHMARK_CAPTURE(latency_pair_limit, shared, true)->MinTime(0.5);

// --- threads on one table: the same number of hits, by one thread or by four

constexpr uint32_t kAllHits = 4'000'000;

struct Spent {
  double wall = 1e9, cpu = 1e9;  // seconds; the least of several times
};
Spent g_spent[2][2];  // [keys are many][threads are four]

double seconds(clockid_t clock) {
  timespec now;
  ::clock_gettime(clock, &now);
  return double(now.tv_sec) + double(now.tv_nsec) * 1e-9;
}

// As the agent does at a thread's first hit: until then it adds with a lock.
void settle_thread() {
  if (!may_use_rseq()) std::fprintf(stderr, "hist: no rseq: all additions take a lock\n");
}

// All the hits of one thread; its CPU time.
double hit_often(const HistData* data, uint32_t keys, uint32_t hits) {
  settle_thread();
  Record record;
  const double before = seconds(CLOCK_THREAD_CPUTIME_ID);
  for (uint32_t i = 0; i < hits; i++) {
    record.key = i % keys;
    benchmark::ClobberMemory();
    hit(data, record);
  }
  return seconds(CLOCK_THREAD_CPUTIME_ID) - before;
}

void must_be_exact(const HistData* data, uint32_t keys) {
  HistTotals totals;
  uint64_t hits = 0;
  for (const HistEntry& entry : read_hist_table(data->table, &totals)) hits += entry.values[0];
  if (hits == kAllHits && totals.hits == kAllHits && totals.entries == keys) return;
  std::fprintf(stderr, "hist: %llu hits were counted of %u\n",
               static_cast<unsigned long long>(hits), kAllHits);
  std::exit(1);
}

void threads(benchmark::State& state, uint32_t keys, uint32_t count) {
  static HistData* data = [] {
    HistData* made = new_hist();
    make(made);
    return made;
  }();
  Spent& spent = g_spent[keys > 1][count > 1];
  for (auto _ : state) {
    clear_hist_table(data->table);
    std::vector<double> cpu(count);
    std::vector<std::thread> all;
    const double before = seconds(CLOCK_MONOTONIC);
    for (uint32_t i = 0; i < count; i++)
      all.emplace_back([&, i] { cpu[i] = hit_often(data, keys, kAllHits / count); });
    for (std::thread& thread : all) thread.join();
    const double wall = seconds(CLOCK_MONOTONIC) - before;
    must_be_exact(data, keys);
    spent.wall = std::min(spent.wall, wall);
    spent.cpu = std::min(spent.cpu, std::accumulate(cpu.begin(), cpu.end(), 0.0));
    state.SetIterationTime(wall);
  }
  state.SetItemsProcessed(int64_t(state.iterations()) * kAllHits);
}
#define THREADS(name, keys, count)              \
  BENCHMARK_CAPTURE(threads, name, keys, count) \
      ->UseManualTime()                         \
      ->MinTime(0.5)                            \
      ->Unit(benchmark::kMillisecond)
THREADS(one_key_1, 1, 1);
THREADS(one_key_4, 1, 4);
THREADS(thousand_keys_1, 1000, 1);
THREADS(thousand_keys_4, 1000, 4);

class ThreadsReporter : public RatioReporter {
  void put_more() override {
    for (bool many : {false, true}) {
      const Spent &one = g_spent[many][0], &four = g_spent[many][1];
      if (one.wall > 1e8 || four.wall > 1e8) continue;
      char line[160];
      std::snprintf(line, sizeof line,
                    "  4 threads, %s: %.2f x the throughput of one; CPU time of a hit %.2f x\n",
                    many ? "1000 keys" : "one key", one.wall / four.wall, four.cpu / one.cpu);
      GetOutputStream() << line;
    }
  }
};

// Filled to the brim, then read and sorted by nothing: what a reader waits for at least.
void read_131072(benchmark::State& state) {
  static HistData* data = [] {
    HistData* made = new_hist();
    made->map_bits = kMaxHistBits;
    make(made);
    Record record;
    for (record.key = 0; record.key < 1 << kMaxHistBits; record.key++) hit(made, record);
    return made;
  }();
  HistTotals totals;
  for (auto _ : state) benchmark::DoNotOptimize(read_hist_table(data->table, &totals).size());
  state.counters["entries"] = double(totals.entries);
}
BENCHMARK(read_131072)->Unit(benchmark::kMillisecond);

}  // namespace

int main(int argc, char** argv) {
  bool own_format = false;
  for (int i = 1; i < argc; i++)
    own_format = own_format || std::string(argv[i]).starts_with("--benchmark_format");
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  pb_rseq_offset = test::rseq_offset();
  settle_thread();
  ThreadsReporter reporter;
  if (own_format)
    benchmark::RunSpecifiedBenchmarks();
  else
    benchmark::RunSpecifiedBenchmarks(&reporter);
}
