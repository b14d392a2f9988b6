// SPDX-License-Identifier: MIT
//
// The stack tracer: stack_max_size, stack_trace, stack_trace_filter (docs/files.md). A
// function tracer "trace_stack" of the top instance that measures how deep each thread's stack is
// at the functions of its filter, and keeps the deepest one seen with its frames
// (stack_hot.h). The kernel's switch is the sysctl kernel.stack_tracer_enabled; here it is
// the file stack_tracer_enabled in the tree's root (and what the shims of the selftests put over
// the sysctl).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "tracer/ftrace_ops.h"

namespace patchbay {

class StackTracer {
 public:
  StackTracer(Registry& registry, FtraceOpsTable& ops);
  ~StackTracer();

  bool enabled() const;
  // What was seen before stays, to be shown and to be exceeded.
  Status set_enabled(bool on);
  uint64_t max_size() const;
  void set_max_size(uint64_t bytes);
  std::string show() const;  // stack_trace

  // stack_trace_filter. A write session works on a copy: open, lines, close. EINVAL: nothing
  // matches, or it is a command.
  FtraceHash open_filter(bool truncate);
  Status write_filter_line(std::string_view line, FtraceHash* written);
  Status close_filter(FtraceHash written);
  std::string show_filter() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace patchbay
