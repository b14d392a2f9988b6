// SPDX-License-Identifier: MIT
//
// The settings of function_graph that all instances share, as in the kernel: set_graph_function,
// set_graph_notrace, max_graph_depth, tracing_thresh, options sleep-time and graph-time. They
// become pb_graph_settings and a word of each CallSite (probe/returns/graph_hot.h).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "tracer/ftrace_ops.h"

namespace patchbay {

class GraphControl {
 public:
  GraphControl(Registry& registry, FtraceOpsTable& ops, ProbeSites& sites);
  ~GraphControl();

  enum class Set : uint8_t { kFunctions, kNotrace };
  // A write session works on a copy: open, lines, close. EINVAL: nothing matches, or it is a
  // command, a module, a number.
  FtraceHash open(Set which, bool truncate);
  Status write_line(Set which, std::string_view line, FtraceHash* written);
  void close(Set which, FtraceHash written);
  std::string show(Set which) const;

  uint32_t max_depth() const;
  void set_max_depth(uint32_t depth);
  // tracing_thresh or an option has changed.
  void settings_changed();
  void refresh();              // objects came or went
  bool wants_objects() const;  // functions of objects that come may be meant

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace patchbay
