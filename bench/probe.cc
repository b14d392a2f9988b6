// SPDX-License-Identifier: MIT
//
// What one event costs, as CPU time and as a ratio to the floor of the same run: a loop that reads
// the TSC and stores a 32-byte record in a private ring (docs/invariants.md). This program links
// the agent and traces its own functions; nobody reads the buffer, which overwrites.
//
//   probe [--benchmark_filter=REGEX] [--benchmark_format=json] …
#include <benchmark/benchmark.h>
#include <patchbay/patchbay.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include "floor.h"

#define TRACED extern "C" __attribute__((noinline, used, visibility("default")))

TRACED __attribute__((patchable_function_entry(5, 0))) void bench_sled(int a, int b) {
  __asm__ volatile("" : : "r"(a), "r"(b));
}
TRACED __attribute__((patchable_function_entry(5, 0))) void bench_sled_off(int a, int b) {
  __asm__ volatile("" : : "r"(a), "r"(b));
}
// The same body without a sled, never traced: what a disabled sled is compared with.
TRACED void bench_no_sled(int a, int b) { __asm__ volatile("" : : "r"(a), "r"(b)); }
TRACED __attribute__((patchable_function_entry(5, 0))) void bench_string(const char* text) {
  __asm__ volatile("" : : "r"(text));
}
TRACED __attribute__((patchable_function_entry(5, 0))) void bench_deref(const uint64_t* words) {
  __asm__ volatile("" : : "r"(words));
}
TRACED __attribute__((patchable_function_entry(5, 0))) void bench_pointer(const void* pointer) {
  __asm__ volatile("" : : "r"(pointer));
}
TRACED __attribute__((patchable_function_entry(5, 0))) void bench_three(const void* pointer) {
  __asm__ volatile("" : : "r"(pointer));
}
// An ordinary function: its prologue is what the compiler makes of it.
TRACED int bench_plain(int a, int b) {
  __asm__ volatile("" : "+r"(a), "+r"(b));
  return a + b * 3;
}
// A jump back into its own first bytes, and no padding before it: only int3 can trace it.
TRACED void bench_int3(int a, int b);
__asm__(
    ".text\n.type bench_before_int3, @function\n"
    "bench_before_int3: lea 1(%rax), %rax\n lea 1(%rax), %rax\n lea 1(%rax), %rax\n ret\n"
    ".size bench_before_int3, . - bench_before_int3\n"
    ".globl bench_int3\n.type bench_int3, @function\n"
    "bench_int3: mov %edi, %eax\n1: sub $1, %eax\n test %esi, %eax\n js 1b\n ret\n"
    ".size bench_int3, . - bench_int3\n");

namespace {

void enable(const char* event, bool on) {
  must(("events/functions/" + std::string(event) + "/enable").c_str(), on ? "1" : "0");
}

template <typename Call>
void traced(benchmark::State& state, const char* event, Call call) {
  if (event && state.thread_index() == 0) enable(event, true);
  int i = 0;
  for (auto _ : state) call(i++);
  if (event && state.thread_index() == 0) enable(event, false);
}

#define EVENT_BENCHMARK(name, event, ...) \
  void name(benchmark::State& state) {    \
    traced(state, event, [](int i) {      \
      (void)i;                            \
      __VA_ARGS__;                        \
    });                                   \
  }                                       \
  BENCHMARK(name)

EVENT_BENCHMARK(untraced_call, nullptr, bench_no_sled(i, i))->MinTime(0.3);
EVENT_BENCHMARK(sled_disabled, nullptr, bench_sled_off(i, i))->MinTime(0.3);
EVENT_BENCHMARK(sled_two_ints, "bench_sled", bench_sled(i, i + 1))->MinTime(0.5);
EVENT_BENCHMARK(sled_two_ints_threads, "bench_sled", bench_sled(i, i + 1))
    ->ThreadRange(2, 4)
    ->MinTime(0.3);
// With a filter on an argument: not one event is wanted, and every one is.
void filtered(benchmark::State& state, const char* filter) {
  must("events/functions/bench_sled/filter", filter);
  traced(state, "bench_sled", [](int i) { bench_sled(i & 0xffff, i + 1); });
  must("events/functions/bench_sled/filter", "0");
}
BENCHMARK_CAPTURE(filtered, sled_rejected, "a < 0")->MinTime(0.5);
BENCHMARK_CAPTURE(filtered, sled_passed, "a >= 0")->MinTime(0.3);
EVENT_BENCHMARK(entry_two_ints, "bench_plain", benchmark::DoNotOptimize(bench_plain(i, i + 1)))
    ->MinTime(0.5);
EVENT_BENCHMARK(int3_two_ints, "bench_int3", bench_int3(i & 0xffff, 0))->MinTime(0.3);
EVENT_BENCHMARK(sled_string_20, "bench_string", bench_string("select 1 from t42x;"))->MinTime(0.3);
EVENT_BENCHMARK(sled_deref, "bench_deref", static const uint64_t words[4] = {}; bench_deref(words))
    ->MinTime(0.3);
struct Node {
  uint64_t value;
  const Node* next;
};
constexpr Node kNodes[4] = {{7, &kNodes[1]}, {8, &kNodes[2]}, {9, &kNodes[3]}, {10, nullptr}};
EVENT_BENCHMARK(sled_one_pointer, "bench_pointer", bench_pointer(kNodes))->MinTime(0.3);
EVENT_BENCHMARK(sled_three_pointers, "bench_three", bench_three(kNodes))->MinTime(0.3);

}  // namespace

int main(int argc, char** argv) {
  bool own_format = false;
  for (int i = 1; i < argc; i++)
    own_format |= std::string(argv[i]).starts_with("--benchmark_format");
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  must("function_events",
       "bench_sled(int a, int b)\nbench_plain(int a, int b)\nbench_int3(int a, int b)\n"
       "bench_string(string text)\nbench_deref(x64 words[2])\n"
       "bench_pointer(u64 value[0])\nbench_three(u64 value+8[0]+8[0]+0[0])\n");
  if (own_format) {
    benchmark::RunSpecifiedBenchmarks();
  } else {
    RatioReporter reporter;
    benchmark::RunSpecifiedBenchmarks(&reporter);
  }
  benchmark::Shutdown();
}
