// SPDX-License-Identifier: MIT
//
// The root of the virtual tree. Each entry is made by one source in files/, named after the file; a
// file whose feature does not exist is absent. An instance's directory has the same makers with
// another TraceArray.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "registry/events/function_events.h"
#include "registry/events/synthetic_events.h"
#include "registry/probes/probe_events.h"
#include "registry/registry.h"
#include "registry/sites/probe_sites.h"
#include "symbol/symbol.h"
#include "tracefs/tree.h"
#include "tracer/tracers.h"
#include "trigger/event_triggers.h"

namespace patchbay::tracefs {

// What the files act on. The objects outlive the tree.
struct TreeContext {
  Registry& registry;
  FunctionEvents& functions;
  ProbeEvents& probes;
  SyntheticEvents& synthetic;
  const ProbeSites& sites;
  SymbolTable& symbols;
  Tracers& tracers;
  EventTriggers& triggers;
  // debug/status, absent while this is empty: `key: value` lines about the agent itself.
  std::function<std::string()> status;
  // Finds the events of objects that were loaded without telling (USDT probes); may be empty.
  // Called before a file lists events.
  std::function<void()> look_for_events;
  // More lines of debug/call_sites, of what stands at no site of `sites`; may be empty.
  std::function<std::string()> more_call_sites;
  // More lines of debug/counters; may be empty.
  std::function<std::string()> more_counters = {};
};

// The tree keeps a reference to `context`. It outlives every file that it gave out.
std::unique_ptr<Directory> make_root(const TreeContext& context);

}  // namespace patchbay::tracefs
