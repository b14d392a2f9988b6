// SPDX-License-Identifier: MIT
//
// What the sources of Tracers share. tracers.cc: its parts, objects and instances that come and go;
// tracers_current.cc: current_tracer and options; tracers_filter.cc: set_ftrace_filter and
// set_ftrace_notrace; tracers_lists.cc: the lists.
#pragma once

#include <memory>
#include <unordered_map>

#include "tracer/function_commands.h"
#include "tracer/graph_control.h"
#include "tracer/profiler.h"
#include "tracer/stack_tracer.h"
#include "tracer/tracers.h"

namespace patchbay {

// The ops "trace" of an instance: there from its first filter or tracer on, until the instance
// goes; registered while its current_tracer is function or function_graph.
struct ArrayTracer {
  FtraceOps ops;
  uint32_t session = 0;  // how often a tracer was started
};

struct Tracers::Impl {
  Impl(Registry& r, Patcher& p, ProbeSites& s);
  ~Impl();

  Registry& registry;
  Patcher& patcher;
  ProbeSites& sites;
  FunctionTable table;
  FtraceOpsTable ops;
  // Made when they are first asked for.
  std::unique_ptr<FunctionCommands> commands;
  std::unique_ptr<GraphControl> graph;
  std::unique_ptr<Profiler> profiler;
  bool profiler_took_filter = false;  // it was started alone
  std::unique_ptr<StackTracer> stack_tracer;
  std::unordered_map<const TraceArray*, std::unique_ptr<ArrayTracer>> arrays;

  // Made at the first call; not registered.
  ArrayTracer& of(TraceArray& array);
  const ArrayTracer* find(const TraceArray& array) const;  // null: not made yet
};

}  // namespace patchbay
