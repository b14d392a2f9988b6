// SPDX-License-Identifier: MIT
//
// Commands of set_ftrace_filter (spec: ftrace.md 7.2): what a function's call does in an instance.
//
//   schedule:traceoff:3     do_fault:snapshot     f:enable_event:sys:ev:2     !f:traceoff:0
//
// Each is a hidden ops with a HitAction, so that it has its own functions and multiplexes with all
// other consumers; they survive `>` on the filter file.
#pragma once

#include <memory>
#include <string>

#include "tracer/ftrace_ops.h"

namespace patchbay {

class FunctionCommands {
 public:
  FunctionCommands(Registry& registry, FtraceOpsTable& ops);
  ~FunctionCommands();

  // Adds or removes (line.remove). EINVAL: no such command, a bad count, no such event, no function
  // matches, or the same is there already. ENODEV: removal of what is not there.
  Status write(TraceArray& array, const FilterLine& line);
  // "func:traceoff:unlimited" … lines, the newest command first.
  std::string show(const TraceArray& array);
  void clear(TraceArray& array);  // the instance goes
  // An event goes, or an instance was resized: programs and rings that actions name.
  void event_gone(const LiveEvent* event);

  // The control thread: does what traced threads have asked for (snapshot, dump). Where `dump`
  // prints to: the program's stderr.
  void run_asked();
  bool any_asked() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace patchbay
