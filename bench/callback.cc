// SPDX-License-Identifier: MIT
//
// What it costs a hit to call the program itself, as CPU time and as a ratio to the floor of the
// same run (bench/floor.h): subscriptions to events, and callbacks at functions. Goal: one
// subscriber 0.7 x. This program links the agent and traces its own events.
//
//   callback [--benchmark_filter=REGEX] [--benchmark_format=json] …
#include <benchmark/benchmark.h>
#include <patchbay/ftrace.h>
#include <patchbay/patchbay.h>
#include <patchbay/subscribe.h>
#include <patchbay/trace_event.h>

#include <string>
#include <vector>

#include "floor.h"

PB_TRACE_EVENT(bench, two_ints, PB_FIELDS(PB_FIELD(int, a), PB_FIELD(int, b)));

extern "C"
    __attribute__((noinline, used, visibility("default"), patchable_function_entry(5, 0))) void
    bench_sled(int a, int b) {
  __asm__ volatile("" : : "r"(a), "r"(b));
}

namespace {

patchbay_field_place g_field;
uint64_t g_sum;

void on_record(const patchbay_record* record, void*) {
  g_sum += patchbay_field_u64(record, &g_field);
}
__attribute__((target("general-regs-only"))) void on_record_lean(const patchbay_record* record,
                                                                 void*) {
  g_sum +=
      *reinterpret_cast<const uint32_t*>(static_cast<const char*>(record->data) + g_field.offset);
}
void on_call(unsigned long ip, unsigned long, ftrace_ops*, ftrace_regs*) { g_sum += ip; }

// --- subscriptions

void subscribed(benchmark::State& state, const char* system, const char* event, const char* filter,
                int subscribers, bool recorded, void (*use)(int), unsigned flags = 0) {
  std::vector<patchbay_subscription*> all(size_t(subscribers), nullptr);
  const std::string enable = std::string("events/") + system + "/" + event + "/enable";
  if (patchbay_find_field(system, event, "a", &g_field)) std::abort();
  for (auto& one : all)
    if (patchbay_subscribe_with(nullptr, system, event, filter, flags ? on_record_lean : on_record,
                                &one, flags, &one))
      std::abort();
  if (recorded) must(enable.c_str(), "1");
  int i = 0;
  for (auto _ : state) {
    use(i++ & 0xffff);
    benchmark::ClobberMemory();
  }
  must(enable.c_str(), "0");
  for (auto& one : all)
    if (patchbay_unsubscribe(one)) std::abort();
}

void hit_static(int i) { PB_TRACE(two_ints, i, i + 1); }
void hit_function(int i) { bench_sled(i, i + 1); }

void static_one_subscriber(benchmark::State& state) {
  subscribed(state, "bench", "two_ints", nullptr, 1, false, hit_static);
}
void static_filtered_no_match(benchmark::State& state) {
  subscribed(state, "bench", "two_ints", "a < 0", 1, false, hit_static);
}
void static_three_subscribers(benchmark::State& state) {
  subscribed(state, "bench", "two_ints", nullptr, 3, false, hit_static);
}
void static_recorded_one_subscriber(benchmark::State& state) {
  subscribed(state, "bench", "two_ints", nullptr, 1, true, hit_static);
}
void function_event_one_subscriber(benchmark::State& state) {
  subscribed(state, "functions", "bench_sled", nullptr, 1, false, hit_function);
}
void function_event_general_registers(benchmark::State& state) {
  subscribed(state, "functions", "bench_sled", nullptr, 1, false, hit_function,
             PATCHBAY_SUBSCRIBE_GENERAL_REGS);
}

// The part of `any` that keeps registers, and that nothing can leave out while only the processor
// knows which are in use: xgetbv, 16 stores and 16 loads.
void vector_registers(benchmark::State& state) {
  alignas(16) char area[256];
  for (auto _ : state) {
    unsigned in_use, high;
    __asm__ volatile("xgetbv" : "=a"(in_use), "=d"(high) : "c"(1));
    __asm__ volatile(
        ".irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15\n"
        "movaps %%xmm\\n, 16 * \\n(%0)\n"
        ".endr\n"
        ".irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15\n"
        "movaps 16 * \\n(%0), %%xmm\\n\n"
        ".endr\n"
        :
        : "r"(area)
        : "memory");
  }
}

// --- callbacks at functions

__attribute__((target("general-regs-only"))) void on_call_lean(unsigned long ip, unsigned long,
                                                               ftrace_ops*, ftrace_regs*) {
  g_sum += ip;
}

void ftrace_callback(benchmark::State& state, ftrace_func_t function, unsigned long flags) {
  static ftrace_ops ops = {};
  static unsigned char name[] = "bench_sled";
  ops.func = function;
  ops.flags = flags;
  if (ftrace_set_filter(&ops, name, int(sizeof name) - 1, 1)) std::abort();
  if (register_ftrace_function(&ops)) std::abort();
  int i = 0;
  for (auto _ : state) {
    hit_function(i++);
    benchmark::ClobberMemory();
  }
  if (unregister_ftrace_function(&ops)) std::abort();
}

BENCHMARK(static_one_subscriber)->MinTime(0.5);
BENCHMARK(static_filtered_no_match)->MinTime(0.5);
BENCHMARK(static_three_subscribers)->MinTime(0.5);
BENCHMARK(static_recorded_one_subscriber)->MinTime(0.5);
BENCHMARK(function_event_one_subscriber)->MinTime(0.5);
BENCHMARK(function_event_general_registers)->MinTime(0.5);
BENCHMARK_CAPTURE(ftrace_callback, any, on_call, 0)->MinTime(0.5);
BENCHMARK_CAPTURE(ftrace_callback, general_registers, on_call_lean, PATCHBAY_OPS_FL_GENERAL_REGS)
    ->MinTime(0.5);
BENCHMARK(vector_registers)->MinTime(0.5);

}  // namespace

int main(int argc, char** argv) {
  bool own_format = false;
  for (int i = 1; i < argc; i++)
    own_format = own_format || std::string(argv[i]).starts_with("--benchmark_format");
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  must("function_events", "bench_sled(int a, int b)");
  RatioReporter reporter;
  if (own_format)
    benchmark::RunSpecifiedBenchmarks();
  else
    benchmark::RunSpecifiedBenchmarks(&reporter);
}
