// SPDX-License-Identifier: MIT
//
// What it costs a program to record a synthetic event of its own (patchbay/trace_events.h), as CPU
// time and as a ratio to the floor of the same run (bench/floor.h). The event is the kernel
// document's: seven values, two of them texts; all at once, from an array, and piece by piece.
//
//   synth_event [--benchmark_filter=REGEX] [--benchmark_format=json] …
#include <benchmark/benchmark.h>
#include <patchbay/kernel.h>
#include <patchbay/patchbay.h>

#include <string>

#include "floor.h"

namespace {

synth_field_desc g_fields[] = {
    {"pid_t", "next_pid_field"},
    {"char[16]", "next_comm_field"},
    {"u64", "ts_ns"},
    {"u64", "ts_ms"},
    {"unsigned int", "cpu"},
    {"char[64]", "my_string_field"},
    {"int", "my_int_field"},
};
synth_field_desc g_numbers[] = {{"u64", "a"}, {"int", "b"}};
synth_field_desc g_dynamic[] = {{"u64", "a"}, {"char[]", "text"}};

trace_event_file* file_of(const char* event) {
  trace_event_file* file = trace_get_event_file(nullptr, "synthetic", event);
  if (!IS_ERR(file)) return file;
  std::fprintf(stderr, "no event %s: %ld\n", event, PTR_ERR(file));
  std::exit(1);
}

template <typename Use>
void traced(benchmark::State& state, const char* event, const char* filter, bool on, Use use) {
  const std::string directory = "events/synthetic/" + std::string(event);
  trace_event_file* file = file_of(event);
  if (filter) must((directory + "/filter").c_str(), filter);
  if (on) must((directory + "/enable").c_str(), "1");
  uint64_t i = 0;
  for (auto _ : state) {
    if (use(file, i++)) std::abort();
    benchmark::ClobberMemory();
  }
  must((directory + "/enable").c_str(), "0");
  if (filter) must((directory + "/filter").c_str(), "0");
  trace_put_event_file(file);
}

int seven(trace_event_file* file, uint64_t i) {
  return synth_event_trace(file, 7, i, (u64) "clackers", u64{1000000}, u64{1000}, u64{1},
                           (u64) "Thneed", u64{999});
}
int seven_of_array(trace_event_file* file, uint64_t i) {
  const u64 values[] = {i, (u64) "tiddlywinks", 1000000, 1000, 1, (u64) "thneed", 398};
  return synth_event_trace_array(file, values, 7);
}
int seven_pieces(trace_event_file* file, uint64_t i) {
  synth_event_trace_state state;
  int error = synth_event_trace_start(file, &state);
  error |= synth_event_add_next_val(i, &state);
  error |= synth_event_add_next_val((u64) "slinky", &state);
  error |= synth_event_add_next_val(1000000, &state);
  error |= synth_event_add_next_val(1000, &state);
  error |= synth_event_add_next_val(1, &state);
  error |= synth_event_add_next_val((u64) "thneed_2.01", &state);
  error |= synth_event_add_next_val(395, &state);
  return error | synth_event_trace_end(&state);
}
int seven_by_name(trace_event_file* file, uint64_t i) {
  synth_event_trace_state state;
  int error = synth_event_trace_start(file, &state);
  error |= synth_event_add_val("next_pid_field", i, &state);
  error |= synth_event_add_val("next_comm_field", (u64) "silly putty", &state);
  error |= synth_event_add_val("ts_ns", 1000000, &state);
  error |= synth_event_add_val("ts_ms", 1000, &state);
  error |= synth_event_add_val("cpu", 1, &state);
  error |= synth_event_add_val("my_string_field", (u64) "thneed_9", &state);
  error |= synth_event_add_val("my_int_field", 3999, &state);
  return error | synth_event_trace_end(&state);
}
int two(trace_event_file* file, uint64_t i) { return synth_event_trace(file, 2, i, u64{7}); }
int text(trace_event_file* file, uint64_t i) {
  return synth_event_trace(file, 2, i, (u64) "as long as it happens to be");
}

#define SYNTHETIC(name, event, filter, on, use)                                 \
  void name(benchmark::State& state) { traced(state, event, filter, on, use); } \
  BENCHMARK(name)->MinTime(0.5)

SYNTHETIC(seven_values, "schedtest", nullptr, true, seven);
SYNTHETIC(seven_values_array, "schedtest", nullptr, true, seven_of_array);
SYNTHETIC(seven_values_piecewise, "schedtest", nullptr, true, seven_pieces);
SYNTHETIC(seven_values_by_name, "schedtest", nullptr, true, seven_by_name);
SYNTHETIC(seven_values_filter_rejected, "schedtest", "ts_ms == 1", true, seven);
SYNTHETIC(seven_values_off, "schedtest", nullptr, false, seven);
SYNTHETIC(two_numbers, "numbers", nullptr, true, two);
SYNTHETIC(dynamic_text, "dynamic", nullptr, true, text);

}  // namespace

int main(int argc, char** argv) {
  bool own_format = false;
  for (int i = 1; i < argc; i++)
    own_format = own_format || std::string(argv[i]).starts_with("--benchmark_format");
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  if (synth_event_create("schedtest", g_fields, ARRAY_SIZE(g_fields), THIS_MODULE) ||
      synth_event_create("numbers", g_numbers, ARRAY_SIZE(g_numbers), THIS_MODULE) ||
      synth_event_create("dynamic", g_dynamic, ARRAY_SIZE(g_dynamic), THIS_MODULE))
    return 1;
  RatioReporter reporter;
  if (own_format)
    benchmark::RunSpecifiedBenchmarks();
  else
    benchmark::RunSpecifiedBenchmarks(&reporter);
}
