// SPDX-License-Identifier: MIT
//
// Commands of set_ftrace_filter (docs/files.md): what a function's call does in an instance.
//
//   schedule:traceoff:3     do_fault:snapshot     f:enable_event:sys:ev:2     !f:traceoff:0
//
// As in the kernel a command with a count and the same without one are two, and all functions of
// one of them share a hidden ops, so that they multiplex with all other consumers:
//
//   (instance, command, with a count?) ── FtraceOps ── HitAction ── ActionTable
//                                                                    function -> HitAction
//
// Each function counts for itself, but for enable_event and disable_event, where the functions of
// one line count together. Commands survive `>` on the filter file.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "tracer/ftrace_ops.h"

namespace patchbay {

class FunctionCommands {
 public:
  FunctionCommands(Registry& registry, FtraceOpsTable& ops);
  ~FunctionCommands();

  // Adds or removes (line.remove). EINVAL: no such command, a bad count, no such event, no function
  // matches, or all that match have the command already. ERANGE: a count beyond 64 bits. ENODEV:
  // removal of what no function has.
  Status write(TraceArray& array, const FilterLine& line);
  // "func:traceoff:unlimited" … lines, the newest command first.
  std::string show(const TraceArray& array);
  bool any() const;
  void clear(TraceArray& array);  // the instance goes
  void event_gone(const LiveEvent* event);

  // What traced threads have asked for (snapshot, dump).
  void run_asked();
  // dump prints this, of the top instance; it is given the CPU, or nothing for all. The text
  // consumes what it shows.
  void set_dump_text(std::function<std::string(std::optional<uint32_t>)> text);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// The triggers of events ask the control thread as commands do: `by` more of them may ask from now
// on (or fewer).
void expect_questions(int by);
// The answer: a snapshot. Where the spare buffer was freed meanwhile it says so in the buffer and
// switches recording off, as the kernel does.
void take_asked_snapshot(Registry& registry, TraceArray& array);
// A count as the kernel reads it: any base by its prefix. EINVAL, ERANGE.
Result<int64_t> parse_action_count(std::string_view text);

// For the control thread, without a lock. While actions_may_ask() is true it sleeps in
// wait_for_actions(), at most so long, and calls run_asked() when that was true.
bool actions_may_ask();
bool wait_for_actions(int milliseconds);

}  // namespace patchbay
