// SPDX-License-Identifier: MIT
//
// What a line of printk costs, as CPU time and as a ratio to the floor of the same run
// (bench/floor.h). This program links the agent; nobody reads the buffer, which overwrites. The
// budget of trace_array_printk() with two integers is 4 x floor. Beside it: the same line through
// snprintf().
//
//   printk [--benchmark_filter=REGEX] [--benchmark_format=json] …
#include <benchmark/benchmark.h>
#include <patchbay/patchbay.h>
#include <patchbay/trace.h>

#include <cstdio>
#include <cstdlib>

#include "floor.h"

namespace {

trace_array* prepared() {
  static trace_array* const array = [] {
    trace_array* made = trace_array_get_by_name("bench", nullptr);
    if (!made || trace_array_init_printk(made) != 0) {
      std::fprintf(stderr, "printk: no instance for the lines\n");
      std::exit(1);
    }
    return made;
  }();
  return array;
}

template <typename Print>
void lines(benchmark::State& state, Print print) {
  trace_array* array = prepared();
  int i = 0;
  for (auto _ : state) {
    if (print(array, i++) <= 0) state.SkipWithError("nothing was recorded");
    benchmark::ClobberMemory();
  }
}

#define LINE_BENCHMARK(name, ...)             \
  void name(benchmark::State& state) {        \
    lines(state, [](trace_array* tr, int i) { \
      (void)tr, (void)i;                      \
      return __VA_ARGS__;                     \
    });                                       \
  }                                           \
  BENCHMARK(name)

LINE_BENCHMARK(two_ints, trace_array_printk(tr, _THIS_IP_, "got %d of %d\n", i, 7))->MinTime(0.5);
LINE_BENCHMARK(no_arguments, trace_array_printk(tr, _THIS_IP_, "here\n"));
LINE_BENCHMARK(text_and_int, trace_array_printk(tr, _THIS_IP_, "%s is %d\n", "a name", i));
LINE_BENCHMARK(six_longs, trace_array_printk(tr, _THIS_IP_, "%ld %ld %ld %lx %lx %lx\n", long(i),
                                             2L, 3L, 4L, 5L, 6L));
LINE_BENCHMARK(a_double, trace_array_printk(tr, _THIS_IP_, "took %.3f ms\n", i * 0.25));
LINE_BENCHMARK(left_aligned, trace_array_printk(tr, _THIS_IP_, "%-8d|%-8d\n", i, 7));
LINE_BENCHMARK(trace_printk_two_ints, trace_printk("got %d of %d\n", i, 7));
LINE_BENCHMARK(trace_puts_constant, trace_puts("here\n"));

char g_changing[] = "got %d of %d\n";
LINE_BENCHMARK(format_in_memory, trace_array_printk(tr, _THIS_IP_, g_changing, i, 7));

void switched_off(benchmark::State& state) {
  trace_array* array = prepared();
  tracer_tracing_off(array);
  int i = 0;
  for (auto _ : state) {
    trace_array_printk(array, _THIS_IP_, "got %d of %d\n", i++, 7);
    benchmark::ClobberMemory();
  }
  tracer_tracing_on(array);
}
BENCHMARK(switched_off);

void with_snprintf(benchmark::State& state) {
  char text[64];
  int i = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(std::snprintf(text, sizeof text, "got %d of %d\n", i++, 7));
    benchmark::ClobberMemory();
  }
}
BENCHMARK(with_snprintf)->Name("snprintf");

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  RatioReporter reporter;
  benchmark::RunSpecifiedBenchmarks(&reporter);
  return 0;
}
