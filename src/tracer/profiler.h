// SPDX-License-Identifier: MIT
//
// The function profiler: function_profile_enabled and trace_stat/functionN (docs/files.md).
// A function tracer of its own, "trace_profile" of the top instance, whose consumer counts calls
// and times of each function on each CPU (probe/returns/graph_hot.h: ProfileTable).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tracer/ftrace_ops.h"
#include "tracer/profile_image.h"

namespace patchbay {

class Profiler {
 public:
  Profiler(Registry& registry, FtraceOpsTable& ops);
  ~Profiler();

  bool enabled() const;
  // On: the counts begin at 0. Its functions are what they were the last time, or those of `filter`
  // and not of `notrace`.
  struct Functions {
    FtraceHash filter, notrace;
  };
  Status set_enabled(bool on, std::optional<Functions> functions = std::nullopt);
  Functions functions() const;  // also while it is off

  struct Row {
    const DynFtrace* function;
    uint64_t hits;
    uint64_t total_ns;
    double variance_us2;
  };
  // By time, descending; tracing_thresh hides functions that took less on average. `cpu` ==
  // nr_cpus: hits that no CPU's table took.
  std::vector<Row> rows(uint32_t cpu) const;
  void forget_rows();                    // it is off, and nobody asks any more
  std::string show(uint32_t cpu) const;  // trace_stat/functionN
  // Of all CPUs, with names as long as they are.
  std::vector<ProfiledFunction> all() const;
  std::string show_all() const;  // debug/profile: "HITS TIME_NS NAME FILE@0xOFFSET"

 private:
  std::vector<Row> rows_of(uint32_t first_cpu, uint32_t last_cpu) const;

  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace patchbay
