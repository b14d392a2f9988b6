// SPDX-License-Identifier: MIT
//
// The multiplexer: any number of function tracers at once over one call site, each with its own set
// of functions (Jiri Olsa's RFC of 2011, made dynamic; the kernel's ftrace_ops).
//
//   ops "trace"          filter, notrace ─┐   which functions?      ProbeSites: one SiteProgram for
//   ops "trace_profile"  filter, notrace ─┼─> FunctionTable ──────> each distinct set of consumers,
//   ops "x:trace" …      filter, notrace ─┘   join / leave / update shared by all that have it
//
// A site whose last consumer leaves gets its original bytes back; a consumer that does not want a
// function costs nothing there. Function events and probes are consumers of the same sites.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "registry/live_event.h"
#include "registry/registry.h"
#include "registry/sites/probe_sites.h"
#include "registry/trace_array.h"
#include "tracer/ftrace_hash.h"
#include "tracer/function_table.h"

namespace patchbay {

// One function tracer.
struct FtraceOps {
  uint32_t id = 0;   // unique among all that ever were
  std::string name;  // unique in its instance: "trace", "trace_profile", "trace_stack"
  TraceArray* array = nullptr;
  bool on_return = false;  // its consumer stands at returns (function_graph, the profiler)
  // Called before it joins functions; may be empty.
  std::function<void(std::span<DynFtrace* const>)> joining;
  // Not in function_tracers: commands have filters of their own.
  bool hidden = false;
  // A callback that the program itself has registered: in function_tracers, but set_ftrace_filter
  // is about it only when it was chosen there.
  bool of_program = false;
  bool none_if_empty = false;  // an empty filter means no function: of commands
  bool own_filter = false;     // a filter with a file of its own (stack_trace_filter): never shared
  FtraceHash filter, notrace;
  LiveEvent live;                     // live.is_tracer; programs: as for any event
  std::vector<DynFtrace*> functions;  // that it has joined, in the table's order
  bool registered = false;
  bool in_doubt = false;  // there was no memory to register it: something of it may be left
};

class FtraceOpsTable : public EventSource {
 public:
  FtraceOpsTable(Registry& registry, Patcher& patcher, ProbeSites& sites, FunctionTable& table);
  ~FtraceOpsTable() override;

  FunctionTable& table();

  // Registers: the ops traces from now on what its hashes say; it becomes the default of its
  // instance (unless hidden or of the program). The filters of an ops of this name that was
  // registered before are gone, unless the caller has put them back into `filter` and `notrace`.
  // Functions that cannot be patched are passed over (debug/refused_functions says why).
  Status add(FtraceOps* ops);
  void remove(FtraceOps* ops);  // its sites are restored, unless others want them

  // New hashes: one transaction for what changes. On failure all is as before. Where filters are
  // shared, of all tracers of the instance, a transaction each.
  Status set_hashes(FtraceOps* ops, FtraceHash filter, FtraceHash notrace);

  // The hashes of an ops follow the objects that come and go while it is registered. These two:
  // also while it is not, as long as its owner keeps it.
  void follow(FtraceOps* ops);
  void unfollow(FtraceOps* ops);

  // Registered ops of an instance, in the order of registration, without hidden ones and those of
  // the program.
  std::vector<FtraceOps*> of(const TraceArray& array) const;
  std::vector<FtraceOps*> listed(const TraceArray& array) const;  // with those of the program
  // Whose filters set_ftrace_filter is for; null: none is registered.
  FtraceOps* default_of(const TraceArray& array) const;
  Status set_default(TraceArray& array, std::string_view name);  // EINVAL

  // The filters of `ops`, registered or not, are those of every tracer of the instance, also of
  // tracers that come later: what is set for one is set for all, as in the kernel. Ends with
  // set_default() and forget(). Each keeps the filters that it has until they are set.
  void share_filters(FtraceOps* ops);
  bool shares_filters(const TraceArray& array) const;
  void forget(const TraceArray& array);  // the instance goes

  bool any_registered() const;
  // Functions of objects that come may be wanted: something is registered, or kept with a filter.
  bool wants_objects() const;
  // The tracers of this function now, for enabled_functions; hidden ones too.
  std::vector<const FtraceOps*> users(const DynFtrace& function) const;

  // False: an ops is registered, or the program keeps one with a filter.
  bool can_forget_all();
  // Then the table of functions, and the filters that name some, may go.
  void forget_all();
  // Objects came or went: the table, all hashes, and what is patched follow.
  void refresh();

  // EventSource: an ops' program was made, exchanged or taken away by the registry.
  Status update(std::span<LiveEvent* const> changed) override;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace patchbay
