// SPDX-License-Identifier: MIT
//
// What a stack costs: 10 frames by the unwinder of the probe path, beside glibc's backtrace(),
// which reads the same .eh_frame at run time; and what the tables of this process take.
#include <benchmark/benchmark.h>
#include <execinfo.h>

#include <cstdint>

#include "probe/records/unwind_tables.h"

using namespace patchbay;

namespace {

constexpr uint32_t kFrames = 10;

UnwindTables& tables() {
  static auto* symbols = make_self_symbol_table().release();
  static auto* made = new UnwindTables(*symbols);
  made->want();
  return *made;
}

__attribute__((noinline)) void measure(benchmark::State& state, bool ours) {
  StackStart start = {};
  __asm__ volatile("lea 0(%%rip), %0\n\tmov %%rsp, %1\n\tmov %%rbp, %2"
                   : "=&r"(start.ip), "=&r"(start.sp), "=&r"(start.fp));
  uint64_t ip[kFrames];
  void* pointers[kFrames];
  StackHow how = {};
  uint32_t frames = 0;
  for (auto _ : state)
    frames = ours ? unwind(start, {ip, nullptr, nullptr, kFrames}, &how)
                  : uint32_t(backtrace(pointers, kFrames));
  state.counters["frames"] = frames;
  state.counters["by_frame_pointer"] = how.by_frame_pointer;
}

__attribute__((noinline)) void nested(int depth, benchmark::State& state, bool ours) {
  volatile char local[48];
  local[0] = 1;
  depth > 0 ? nested(depth - 1, state, ours) : measure(state, ours);
  local[1] = local[0];
}

void stack_of_10(benchmark::State& state) {
  tables();
  nested(20, state, true);
}
void glibc_backtrace(benchmark::State& state) { nested(20, state, false); }

// Made anew each time.
void make_tables(benchmark::State& state) {
  auto symbols = make_self_symbol_table();
  symbols->refresh();
  uint64_t rows = 0, bytes = 0, text = 0;
  for (auto _ : state) {
    rows = bytes = text = 0;
    for (Module* module : symbols->modules()) {
      const UnwindTable table = module->unwind_table();
      rows += table.rows.size();
      bytes += table.bytes();
      text += table.last - table.first;
    }
  }
  const double megabytes = double(text) / 1e6;
  state.counters["text_MB"] = megabytes;
  state.counters["bytes_per_row"] = double(bytes) / double(rows);
  state.counters["KB_per_MB"] = double(bytes) / 1e3 / megabytes;
  state.counters["s_per_GB"] =
      benchmark::Counter(megabytes * 1e-3, benchmark::Counter::kIsIterationInvariantRate |
                                               benchmark::Counter::kInvert);
}

BENCHMARK(stack_of_10);
BENCHMARK(glibc_backtrace);
BENCHMARK(make_tables)->Unit(benchmark::kMillisecond);

}  // namespace
