// SPDX-License-Identifier: MIT
//
// What the benchmarks that trace themselves have in common: the floor that their ratios are to (a
// loop that reads the TSC and stores a 32-byte record in a private ring; docs/invariants.md), a
// table of these ratios, and a write to the program's own tree that has to succeed.
#pragma once

#include <benchmark/benchmark.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "patchbay/patchbay.h"

namespace {

[[maybe_unused]] void must(const char* path, const std::string& text) {
  int error = patchbay_write(path, text.c_str());
  if (error == 0) return;
  std::fprintf(stderr, "%s: write %s '%s': error %d\n", program_invocation_short_name, path,
               text.c_str(), -error);
  std::exit(1);
}

alignas(64) uint8_t g_ring[1 << 16];

void floor_loop(benchmark::State& state) {
  size_t position = 0;
  int i = 0;
  for (auto _ : state) {
    auto* record = reinterpret_cast<uint64_t*>(g_ring + position);
    record[0] = __builtin_ia32_rdtsc();
    record[1] = uint64_t(i++);
    record[2] = uint64_t(i);
    record[3] = 7;
    position = (position + 32) & (sizeof g_ring - 1);
    benchmark::ClobberMemory();
  }
}
BENCHMARK(floor_loop)->Name("floor")->MinTime(0.5);

// The usual console table, then the ratios.
class RatioReporter : public benchmark::ConsoleReporter {
 public:
  void ReportRuns(const std::vector<Run>& runs) override {
    ConsoleReporter::ReportRuns(runs);
    for (const Run& run : runs)
      if (!run.error_occurred)
        results_.emplace_back(run.benchmark_name(), run.GetAdjustedCPUTime());
  }
  void Finalize() override {
    const double floor = of("floor");
    if (floor == 0) return;
    GetOutputStream() << "\nratio to the floor (" << floor << " ns of CPU time)\n";
    for (const auto& [name, ns] : results_) put(name, ns, ns / floor);
    put_more();
  }

 protected:
  virtual void put_more() {}
  double of(const char* prefix) const {
    for (const auto& [name, ns] : results_)
      if (name.starts_with(prefix)) return ns;
    return 0;
  }
  void put(const std::string& name, double ns, double ratio) {
    char line[160];
    std::snprintf(line, sizeof line, "  %-44s %8.2f ns  %6.2f x\n", name.c_str(), ns, ratio);
    GetOutputStream() << line;
  }

 private:
  std::vector<std::pair<std::string, double>> results_;
};

}  // namespace
