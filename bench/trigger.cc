// SPDX-License-Identifier: MIT
//
// What triggers cost a hit, as CPU time and as a ratio to the floor of the same run
// (bench/floor.h): mostly one whose filter does not match, while the event itself is off. This
// program links the agent and traces its own events.
//
//   trigger [--benchmark_filter=REGEX] [--benchmark_format=json] …
#include <benchmark/benchmark.h>
#include <patchbay/patchbay.h>
#include <patchbay/trace_event.h>
#if __has_include(<sys/sdt.h>)
#include <sys/sdt.h>
#define BENCH_USDT 1
#endif

#include <string>

#include "floor.h"

PB_TRACE_EVENT(bench, two_ints, PB_FIELDS(PB_FIELD(int, a), PB_FIELD(int, b)));
PB_TRACE_EVENT(bench, other, PB_FIELDS(PB_FIELD(int, a)));

extern "C"
    __attribute__((noinline, used, visibility("default"), patchable_function_entry(5, 0))) void
    bench_sled(int a, int b) {
  __asm__ volatile("" : : "r"(a), "r"(b));
}
#ifdef BENCH_USDT
extern "C" __attribute__((noinline, used, visibility("default"))) void bench_usdt(int a, int b) {
  DTRACE_PROBE2(bench, place, a, b);
}
#endif

namespace {

// A hit with these triggers, whose count is used up where there is one.
template <typename Use>
void triggered(benchmark::State& state, const std::string& event, bool on,
               std::vector<std::string> triggers, Use use) {
  const std::string directory = "events/" + event;
  if (on) must((directory + "/enable").c_str(), "1");
  for (const std::string& one : triggers) must((directory + "/trigger").c_str(), one);
  int i = 0;
  for (auto _ : state) {
    use(i++ & 0xffff);
    benchmark::ClobberMemory();
  }
  for (const std::string& one : triggers) must((directory + "/trigger").c_str(), "!" + one);
  must((directory + "/enable").c_str(), "0");
}

void hit_static(int i) { PB_TRACE(two_ints, i, i + 1); }
void hit_function(int i) { bench_sled(i, i + 1); }
void hit_few(int i) { bench_sled(i & 0xff, i + 1); }

// The limit of function_hist: the untraced call, the hash of one key, a slot, a key and a count.
struct Counted {
  uint64_t slot[4096], key[512], hits[512];
};
Counted counted;

uint64_t slot_of(uint64_t key) {
  uint64_t sum = key * 0x9e3779b97f4a7c15;
  sum = (sum ^ sum >> 32) * 0xd6e8feb86659fd93;
  return sum >> 32;
}
void hist_limit(benchmark::State& state) {
  for (uint64_t key = 1; key <= 256; key++) {
    uint64_t at = slot_of(key);
    while (counted.slot[at % 4096]) at++;
    counted.slot[at % 4096] = key;
    counted.key[key] = key;
  }
  int i = 0;
  for (auto _ : state) {
    hit_few(i);
    const uint64_t key = 1 + uint64_t(i++ & 0xff);
    uint64_t at = slot_of(key);
    while (counted.key[counted.slot[at % 4096]] != key) at++;
    counted.hits[counted.slot[at % 4096]]++;
    benchmark::ClobberMemory();
  }
}
BENCHMARK(hist_limit)->MinTime(0.5);

#define TRIGGERED(name, event, on, use, ...)                                              \
  void name(benchmark::State& state) { triggered(state, event, on, {__VA_ARGS__}, use); } \
  BENCHMARK(name)->MinTime(0.5)

constexpr const char* kStatic = "bench/two_ints";
constexpr const char* kFunction = "functions/bench_sled";
constexpr const char* kProbe = "bench/entry";

TRIGGERED(static_no_match, kStatic, false, hit_static, "traceoff if a < 0");
TRIGGERED(static_no_match_of_three, kStatic, false, hit_static, "traceoff if a < 0",
          "stacktrace if a < 0", "enable_event:bench:other if a < 0");
TRIGGERED(static_switches_what_is_so, kStatic, false, hit_static, "disable_event:bench:other");
TRIGGERED(static_recorded_no_match, kStatic, true, hit_static, "traceoff if a < 0");
TRIGGERED(static_hist_no_match, kStatic, false, hit_static, "hist:keys=a if a < 0");
TRIGGERED(function_no_match, kFunction, false, hit_function, "traceoff if a < 0");
TRIGGERED(function_no_match_of_three, kFunction, false, hit_function, "traceoff if a < 0",
          "stacktrace if a < 0", "hist:keys=a if a < 0");
TRIGGERED(function_recorded_no_match, kFunction, true, hit_function, "traceoff if a < 0");
TRIGGERED(function_hist, kFunction, false, hit_few, "hist:keys=a");
TRIGGERED(function_hist_two_keys_and_sum, kFunction, false, hit_few,
          "hist:keys=a,common_pid:vals=b");
TRIGGERED(function_hist_filter, kFunction, false, hit_few, "hist:keys=a if b > 0");
TRIGGERED(probe_no_match, kProbe, false, hit_function, "traceoff if a < 0");
TRIGGERED(probe_recorded_no_match, kProbe, true, hit_function, "traceoff if a < 0");
#ifdef BENCH_USDT
void hit_usdt(int i) { bench_usdt(i, i + 1); }
TRIGGERED(usdt_no_match, "sdt_bench/place", false, hit_usdt, "traceoff if arg1 < 0");
#endif

}  // namespace

int main(int argc, char** argv) {
  bool own_format = false;
  for (int i = 1; i < argc; i++)
    own_format = own_format || std::string(argv[i]).starts_with("--benchmark_format");
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  must("function_events", "bench_sled(int a, int b)");
  must("kprobe_events", "p:bench/entry bench_sled a=%di:s32 b=%si:s32");
  RatioReporter reporter;
  if (own_format)
    benchmark::RunSpecifiedBenchmarks();
  else
    benchmark::RunSpecifiedBenchmarks(&reporter);
}
