// SPDX-License-Identifier: MIT
//
// What a static event costs, as CPU time and as a ratio to the floor of the same run (a loop that
// reads the TSC and stores a 32-byte record in a private ring, as in bench/probe.cc). This program
// links the agent and traces its own events; nobody reads the buffer, which overwrites.
//
//   static_event [--benchmark_filter=REGEX] [--benchmark_format=json] …
#include <benchmark/benchmark.h>
#include <patchbay/patchbay.h>
#include <patchbay/trace_event.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include "floor.h"

PB_TRACE_EVENT(bench, two_ints, PB_FIELDS(PB_FIELD(int, a), PB_FIELD(int, b)));
PB_TRACE_EVENT(bench, four_longs,
               PB_FIELDS(PB_FIELD(long, a), PB_FIELD(long, b), PB_FIELD(long, c),
                         PB_FIELD(long, d)));
PB_TRACE_EVENT(bench, text, PB_FIELDS(PB_FIELD(int, a), PB_STRING(text)));
PB_TRACE_EVENT(bench, sched_switch,
               PB_FIELDS(PB_ARRAY(char, prev_comm, 16), PB_FIELD(int, prev_pid),
                         PB_FIELD(int, prev_prio), PB_FIELD(long, prev_state),
                         PB_ARRAY(char, next_comm, 16), PB_FIELD(int, next_pid),
                         PB_FIELD(int, next_prio)));
PB_TRACE_EVENT(bench, never_on, PB_FIELDS(PB_FIELD(int, a), PB_FIELD(int, b)));

namespace {

void set(const char* event, const char* file, const std::string& text) {
  must(("events/bench/" + std::string(event) + "/" + file).c_str(), text);
}

// Eight times the same little work, with and without eight disabled sites: the difference of these
// two rows, divided by eight, is what a disabled site costs.
template <bool kWithSites>
void eight_times(benchmark::State& state) {
  int i = 0;
  for (auto _ : state) {
#define WORK                                \
  __asm__ volatile("add $1, %0" : "+r"(i)); \
  if constexpr (kWithSites) PB_TRACE(never_on, i, i);
    WORK WORK WORK WORK WORK WORK WORK WORK
#undef WORK
  }
}
BENCHMARK(eight_times<false>)->Name("eight_without_sites")->MinTime(0.5);
BENCHMARK(eight_times<true>)->Name("eight_disabled_sites")->MinTime(0.5);

template <typename Use>
void traced(benchmark::State& state, const char* event, const char* filter, Use use) {
  if (state.thread_index() == 0) {
    if (filter) set(event, "filter", filter);
    set(event, "enable", "1");
  }
  int i = 0;
  for (auto _ : state) {
    use(i++);
    benchmark::ClobberMemory();
  }
  if (state.thread_index() != 0) return;
  set(event, "enable", "0");
  if (filter) set(event, "filter", "0");
}

#define EVENT_BENCHMARK(name, event, filter, ...)                               \
  void name(benchmark::State& state) {                                          \
    traced(state, #event, filter, [](int i) { PB_TRACE(event, __VA_ARGS__); }); \
  }                                                                             \
  BENCHMARK(name)

const char* const kTwenty =
    "a == 1 || a == 2 || a == 3 || a == 4 || a == 5 || a == 6 || a == 7 || a == 8 || a == 9 || "
    "a == 10 || b == 1 || b == 2 || b == 3 || b == 4 || b == 5 || b == 6 || b == 7 || b == 8 || "
    "b == 9 || b == 10";

EVENT_BENCHMARK(two_ints_recorded, two_ints, nullptr, i, i + 1)->MinTime(0.5);
EVENT_BENCHMARK(two_ints_threads, two_ints, nullptr, i, i + 1)->ThreadRange(2, 4)->MinTime(0.3);
EVENT_BENCHMARK(four_longs_recorded, four_longs, nullptr, i, i, i, i)->MinTime(0.5);
EVENT_BENCHMARK(text_20_recorded, text, nullptr, i, "select 1 from t42x;")->MinTime(0.3);
// Texts as a program has them, not constants that the compiler stores as two words.
char g_prev_comm[16] = "kworker/0:1-eve", g_next_comm[16] = "swapper/0";
EVENT_BENCHMARK(sched_switch_recorded, sched_switch, nullptr, g_prev_comm, i, 120, i, g_next_comm,
                i, 120)
    ->MinTime(0.3);
EVENT_BENCHMARK(two_ints_filter_passed, two_ints, "a >= 0", i & 0xffff, i)->MinTime(0.3);
EVENT_BENCHMARK(two_ints_filter_rejected, two_ints, "a < 0", i & 0xffff, i)->MinTime(0.5);
EVENT_BENCHMARK(two_ints_20_predicates, two_ints, kTwenty, 1000 + (i & 0xff), 2000)->MinTime(0.3);

class SiteReporter : public RatioReporter {
  void put_more() override {
    const double with = of("eight_disabled"), without = of("eight_without");
    if (with != 0 && without != 0) put("one disabled site", (with - without) / 8, 0);
  }
};

}  // namespace

int main(int argc, char** argv) {
  bool own_format = false;
  for (int i = 1; i < argc; i++)
    own_format = own_format || std::string(argv[i]).starts_with("--benchmark_format");
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  SiteReporter reporter;
  if (own_format)
    benchmark::RunSpecifiedBenchmarks();
  else
    benchmark::RunSpecifiedBenchmarks(&reporter);
}
