// SPDX-License-Identifier: MIT
//
// The lines of the tracer function_graph (docs/files.md, "Text of tracers"; the kernel's
// kernel/trace/trace_functions_graph.c decides each blank):
//
//    8.770403 |   0)     sh-135     |  ...1. | + 82.366 us   |        getname_flags();
//    abstime      cpu    proc          latency  mark, duration        two blanks a level
//
// What a line looks like depends on the lines before it on the same CPU: another thread gives a
// ruled block first, an exit whose entry was not seen says of what function it is, and other events
// are comments at the depth of the call that they happened in.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "event/trace_options.h"
#include "output/tracer_text.h"

namespace patchbay {

// Everything of a line that is not in the record.
struct GraphLine {
  uint32_t ring = 0, cpu = 0;
  int32_t pid = 0;
  uint64_t time = 0;  // shown
  uint8_t flags = 0, preempt = 0;
};

class GraphText {
 public:
  using CommOf = std::function<std::string_view(int32_t pid)>;
  GraphText(const TraceOptions& options, uint32_t nr_cpus, CommOf comm_of, TextContext* context);

  static void put_header(std::string* out, const TraceOptions& options);
  // With their newlines. `exit`: of a call without others inside, shown in one line; null: none.
  // `duration_ns`: of the exit.
  void append_entry(std::string* out, const GraphLine& line, const GraphEvent& entry,
                    const GraphEvent* exit, uint64_t duration_ns);
  void append_exit(std::string* out, const GraphLine& line, const GraphEvent& exit,
                   uint64_t duration_ns);
  // /* text */
  void append_comment(std::string* out, const GraphLine& line, std::string_view text);

 private:
  static constexpr int32_t kDepths = 50;
  struct Cpu {
    int32_t last_pid = -1;
    int32_t depth = 0;
    std::array<uint64_t, kDepths> entered{};
  };
  bool has(TraceOption option) const { return options_[option]; }
  Cpu& cpu_of(uint32_t ring);
  void put_start(std::string* out, const GraphLine& line);
  void put_switch(std::string* out, const GraphLine& line);
  void put_cpu_column(std::string* out, uint32_t cpu) const;
  void put_task_column(std::string* out, int32_t pid) const;
  void put_duration(std::string* out, uint64_t ns) const;
  void put_no_duration(std::string* out) const;
  void put_call(std::string* out, const GraphEvent& entry) const;
  void put_caller(std::string* out, const GraphEvent& entry) const;
  bool has_retval(const GraphEvent& exit) const;  // and it may be a result
  void put_retval(std::string* out, const GraphEvent& exit) const;
  void put_retval(std::string* out, uint64_t retval) const;
  const std::string& name_of(uint64_t func) const;

  const TraceOptions& options_;
  const int cpu_width_;
  CommOf comm_of_;
  TextContext* context_;
  std::vector<Cpu> cpus_;
};

// "  1.503 us    ", "1059.386 us ": at most seven digits.
void put_graph_duration(std::string* out, uint64_t ns);
inline constexpr size_t kGraphDurationSize = 32;  // at most
char* write_graph_duration(char* at, uint64_t ns);

}  // namespace patchbay
