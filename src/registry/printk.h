// SPDX-License-Identifier: MIT
//
// What the program's own threads write into instances with: trace_printk() and its kin
// (probe/records/printk_hot.h). Registry::printk() hands it out. Under the agent's lock.
#pragma once

#include "base/result.h"
#include "registry/registry.h"

namespace patchbay {

class Printk {
 public:
  explicit Printk(Registry::Impl& core) : core_(core) {}

  // It follows the instance's rings and its options stacktrace and userstacktrace; *soft is its
  // option trace_printk. Never freed, always the same, with dead rings when the instance is gone.
  EventProgram* program(TraceArray& array);
  // From now on memory is there for what is written into this instance, and for the formats; and
  // for where trace_printk() goes.
  Status start(TraceArray& array);
  bool started() const { return started_; }
  // Where trace_printk() goes: the instance with the option trace_printk_dest.
  TraceArray& dest();

  // --- an option of the instance was set
  void set_on(TraceArray& array, bool on);  // trace_printk
  void set_stacks(TraceArray& array);       // stacktrace, userstacktrace

  void retire(TraceArray& array);  // The instance goes.

 private:
  Registry::Impl& core_;
  bool started_ = false;
};

}  // namespace patchbay
