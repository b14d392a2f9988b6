// SPDX-License-Identifier: MIT
//
// What tracers of functions cost a call, as CPU time and as a ratio to the floor of the same run
// (bench/floor.h): `function` alone, in two and in four instances at one function, and with a
// second instance whose filter leaves the function out (which must add nothing); function_graph and
// the profiler, a call and its return, also where calls are nested and where all of many functions
// are traced; a return probe alone and with one at the entry. The program traces itself; nobody
// reads the buffers, which overwrite.
//
//   function_tracer [--benchmark_filter=REGEX] [--benchmark_format=json] …
#include <benchmark/benchmark.h>
#include <patchbay/patchbay.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <string>
#include <utility>

#include "floor.h"

extern "C" {
#define TRACED __attribute__((noinline, used, visibility("default")))
TRACED int bench_leaf(int a) {
  __asm__ volatile("" : "+r"(a));
  return a + 1;
}
TRACED int bench_other(int a) {
  __asm__ volatile("" : "+r"(a));
  return a - 1;
}
// One call that makes three: how graphs and profiles meet most calls.
TRACED int bench_outer(int a) { return bench_leaf(a) + bench_leaf(a + 1) + bench_leaf(a + 2); }
}

namespace {

// Functions of the same code at many addresses: what a program looks like in which everything is
// traced.
constexpr int kMany = 1024;
template <int N>
TRACED int bench_many(int a) {
  __asm__ volatile("" : "+r"(a) : "i"(N));
  return a + N;
}
using Function = int (*)(int);
template <int... N>
const Function* many_functions(std::integer_sequence<int, N...>) {
  static const Function all[] = {bench_many<N>...};
  return all;
}
const Function* const g_many = many_functions(std::make_integer_sequence<int, kMany>());

using Call = void (*)(int i);
void call_leaf(int i) { benchmark::DoNotOptimize(bench_leaf(i)); }
void call_outer(int i) { benchmark::DoNotOptimize(bench_outer(i)); }
void call_many(int i) { benchmark::DoNotOptimize(g_many[i % kMany](i)); }

void run(benchmark::State& state, Call call) {
  int i = 0;
  for (auto _ : state) call(i++);
}

constexpr char kAll[] = "bench_leaf\nbench_outer\nbench_other\n";

std::string instance_path(int instance) {
  return instance ? "instances/bench" + std::to_string(instance) + "/" : "";
}

// Writes are appended, so that names go by being taken back one by one.
std::string taken_back(const std::string& filter) {
  std::string text = "!" + filter;
  for (size_t at = text.find('\n'); at + 1 < text.size(); at = text.find('\n', at + 1))
    text.insert(at + 1, "!");
  return text;
}

// The limits of the rows below: what their clock reads and stores alone cost, without a ring that
// others read. A pair is two clocks and two records; of four tracers each has a record.
struct Private {
  uint64_t words[1 << 13];
  uint64_t position = 0;
  uint64_t* take(uint64_t count) {
    uint64_t* const at = words + position;
    position = (position + count) & (std::size(words) / 2 - 1);
    return at;
  }
} g_private[4];

void put(Private& ring, uint64_t count, uint64_t time, uint64_t value) {
  uint64_t* const at = ring.take(count);
  at[0] = time;
  for (uint64_t i = 1; i < count; i++) at[i] = value + i;
  benchmark::ClobberMemory();
}
// As many instructions more: stores alone, or one of three, with a load and a sum.
enum class More { kMixed, kStores };
template <int kCount, More kMore>
void spend() {
  uint64_t room[2] = {};
  if (kMore == More::kStores)
    __asm__ volatile(".rept %c1\nmov %0, (%0)\n.endr" : : "r"(room), "i"(kCount) : "memory");
  else
    __asm__ volatile(".rept %c1\nmov 8(%0), %%rax\nlea 3(%%rax), %%rcx\nmov %%rcx, (%0)\n.endr"
                     :
                     : "r"(room), "i"(kCount / 3)
                     : "rax", "rcx", "memory");
}
template <int kDepth, int kCount = 0, More kMore = More::kMixed>
void limit_of_pairs(benchmark::State& state) {
  int i = 0;
  for (auto _ : state) {
    for (int n = 0; n < kDepth; n++) {
      put(g_private[0], 4, __builtin_ia32_rdtsc(), uint64_t(i));
      spend<kCount / 2, kMore>();
    }
    kDepth == 1 ? call_leaf(i++) : call_outer(i++);
    for (int n = 0; n < kDepth; n++) {
      put(g_private[0], 7, __builtin_ia32_rdtsc(), uint64_t(i));
      spend<kCount / 2, kMore>();
    }
  }
}
BENCHMARK(limit_of_pairs<1>)->Name("limits/pair")->MinTime(0.3);
BENCHMARK(limit_of_pairs<4>)->Name("limits/nested_4_pairs")->MinTime(0.3);
// What a pair comes to by the number of its instructions: some hide behind the clocks, the others
// cost, stores most of all.
BENCHMARK((limit_of_pairs<1, 120>))->Name("limits/pair_and_120_instructions")->MinTime(0.3);
BENCHMARK((limit_of_pairs<1, 180>))->Name("limits/pair_and_180_instructions")->MinTime(0.3);
BENCHMARK((limit_of_pairs<1, 240>))->Name("limits/pair_and_240_instructions")->MinTime(0.3);
BENCHMARK((limit_of_pairs<1, 40, More::kStores>))->Name("limits/pair_and_40_stores")->MinTime(0.3);
BENCHMARK((limit_of_pairs<1, 80, More::kStores>))->Name("limits/pair_and_80_stores")->MinTime(0.3);

template <int kCount>
void limit_of_tracers(benchmark::State& state) {
  int i = 0;
  for (auto _ : state) {
    const uint64_t time = __builtin_ia32_rdtsc();
    for (int n = 0; n < kCount; n++) put(g_private[n], 4, time, uint64_t(i));
    call_leaf(i++);
  }
}
BENCHMARK(limit_of_tracers<2>)->Name("limits/two_tracers")->MinTime(0.3);
BENCHMARK(limit_of_tracers<4>)->Name("limits/four_tracers")->MinTime(0.3);

// The same with what the ring's protocol asks of each record (src/ring_buffer/ring_record.inc): the
// start of a restartable sequence, the CPU, the room that is left, the time since the record
// before, its count and time in the slot that is not published, and the store that publishes it.
struct alignas(64) Published {
  struct Slot {
    uint64_t time, entries;
  };
  static constexpr uint64_t kHeader = 16, kRecord = 28, kOtherSlot = uint64_t{1} << 63;
  uint64_t publish = kHeader;
  uint32_t last = 4095;  // of a sub-buffer
  Slot slots[2] = {};
  alignas(64) char bytes[4096];

  __attribute__((noinline)) void begin(uint64_t time) {
    slots[0].time = slots[1].time = time;
    publish = kHeader;
  }
} g_published[4];
volatile struct {
  uint64_t sequence;
  uint32_t cpu_start, cpu;
} g_thread;

void publish(Published* ring, uint64_t time, uint64_t value) {
  g_thread.sequence = reinterpret_cast<uint64_t>(&g_published);
  if (g_thread.cpu_start != g_thread.cpu) return;
  const uint64_t published = ring->publish;
  const Published::Slot& slot = ring->slots[published >> 63];
  Published::Slot& other = ring->slots[(published >> 63) ^ 1];
  const uint64_t delta = time - slot.time, at = published & ring->last;
  if (delta >= 1U << 27 || at < Published::kHeader || at + Published::kRecord > ring->last)
    return ring->begin(time);
  char* const to = ring->bytes + at;
  const uint64_t words[] = {value, value + 1, value + 2};
  const uint32_t first = uint32_t(delta << 5 | 6);
  std::memcpy(to, &first, sizeof first);
  for (size_t i = 0; i < std::size(words); i++)
    std::memcpy(to + sizeof first + i * sizeof words[0], &words[i], sizeof words[0]);
  other.entries = slot.entries + 1;
  other.time = time;
  __asm__ volatile("" : : : "memory");
  ring->publish = (published ^ Published::kOtherSlot) + Published::kRecord;
  __asm__ volatile("" : : : "memory");
}
template <int kCount>
void limit_of_published(benchmark::State& state) {
  int i = 0;
  for (auto _ : state) {
    const uint64_t time = __builtin_ia32_rdtsc();
    for (int n = 0; n < kCount; n++) publish(&g_published[n], time, uint64_t(i));
    call_leaf(i++);
  }
}
BENCHMARK(limit_of_published<1>)->Name("limits/one_tracer_published")->MinTime(0.3);
BENCHMARK(limit_of_published<2>)->Name("limits/two_tracers_published")->MinTime(0.3);
BENCHMARK(limit_of_published<4>)->Name("limits/four_tracers_published")->MinTime(0.3);

// `instances` tracers; the first has the functions of `filter`, the others those of `others`.
void tracers(benchmark::State& state, const char* tracer, int instances, const char* filter,
             const char* others, Call call) {
  for (int i = 0; i < instances; i++) {
    must((instance_path(i) + "set_ftrace_filter").c_str(), i ? others : filter);
    must((instance_path(i) + "current_tracer").c_str(), tracer);
  }
  run(state, call);
  for (int i = 0; i < instances; i++) {
    must((instance_path(i) + "current_tracer").c_str(), "nop");
    must((instance_path(i) + "set_ftrace_filter").c_str(), taken_back(i ? others : filter));
  }
}

void untraced(benchmark::State& state) { run(state, call_leaf); }
BENCHMARK(untraced)->MinTime(0.3);
void untraced_nested(benchmark::State& state) { run(state, call_outer); }
BENCHMARK(untraced_nested)->MinTime(0.3);
void untraced_many(benchmark::State& state) { run(state, call_many); }
BENCHMARK(untraced_many)->MinTime(0.3);

#define TRACERS(name, ...) BENCHMARK_CAPTURE(tracers, name, __VA_ARGS__)->MinTime(0.5)
TRACERS(function, "function", 1, kAll, kAll, call_leaf);
TRACERS(function_and_another_without_it, "function", 2, kAll, "bench_other\n", call_leaf);
TRACERS(function_twice, "function", 2, kAll, kAll, call_leaf);
TRACERS(function_four_times, "function", 4, kAll, kAll, call_leaf);
TRACERS(function_of_others, "function", 1, "bench_other\n", kAll, call_leaf);
TRACERS(function_nested_4_calls, "function", 1, kAll, kAll, call_outer);
TRACERS(function_1024_functions, "function", 1, "*bench_many*\n", kAll, call_many);
TRACERS(graph, "function_graph", 1, kAll, kAll, call_leaf);
TRACERS(graph_nested_4_calls, "function_graph", 1, kAll, kAll, call_outer);
TRACERS(graph_1024_functions, "function_graph", 1, "*bench_many*\n", kAll, call_many);

void graph_and_function(benchmark::State& state) {
  must("instances/bench1/set_ftrace_filter", kAll);
  must("instances/bench1/current_tracer", "function");
  tracers(state, "function_graph", 1, kAll, kAll, call_leaf);
  must("instances/bench1/current_tracer", "nop");
  must("instances/bench1/set_ftrace_filter", taken_back(kAll));
}
BENCHMARK(graph_and_function)->MinTime(0.5);

// It is the default tracer while it is on, and its filter goes with it.
void profiler(benchmark::State& state, const char* filter, Call call) {
  must("function_profile_enabled", "1");
  must("set_ftrace_filter", filter);
  run(state, call);
  must("function_profile_enabled", "0");
}
BENCHMARK_CAPTURE(profiler, leaf, kAll, call_leaf)->MinTime(0.5);
BENCHMARK_CAPTURE(profiler, nested_4_calls, kAll, call_outer)->MinTime(0.5);

void probes(benchmark::State& state, const char* first, const char* second) {
  for (const char* event : {first, second})
    if (event) must((std::string("events/bench/") + event + "/enable").c_str(), "1");
  run(state, call_leaf);
  for (const char* event : {first, second})
    if (event) must((std::string("events/bench/") + event + "/enable").c_str(), "0");
}
BENCHMARK_CAPTURE(probes, return_only, "out", nullptr)->MinTime(0.5);
BENCHMARK_CAPTURE(probes, entry_and_return, "in", "out")->MinTime(0.5);

}  // namespace

int main(int argc, char** argv) {
  if (!std::getenv("PATCHBAY_TRACE_INSTANCE")) {
    ::setenv("PATCHBAY_TRACE_INSTANCE", "bench1;bench2;bench3", 1);
    ::execv("/proc/self/exe", argv);
    return 1;
  }
  bool own_format = false;
  for (int i = 1; i < argc; i++)
    own_format |= std::string(argv[i]).starts_with("--benchmark_format");
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  must("kprobe_events",
       "p:bench/in bench_leaf a=%di:s32\n"
       "r:bench/out bench_leaf ret=$retval:s32\n");
  if (own_format) {
    benchmark::RunSpecifiedBenchmarks();
  } else {
    RatioReporter reporter;
    benchmark::RunSpecifiedBenchmarks(&reporter);
  }
  benchmark::Shutdown();
}
