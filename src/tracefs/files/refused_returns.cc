// SPDX-License-Identifier: MIT
// debug/refused_returns: the functions that function_graph and the profiler, where they run, are to
// trace and cannot, because their return cannot be hooked; with the reason. A first line says how
// many of how many.
#include "tracefs/files/refused_returns.h"

#include <set>

namespace patchbay::tracefs {

namespace {

void add_wanted(FtraceOpsTable& ops, const TraceArray& array, std::set<DynFtrace*>* wanted) {
  for (const FtraceOps* one : ops.of(array)) {
    if (!one->on_return) continue;
    const auto add = [&](DynFtrace* function) {
      if (!function->gone && !one->notrace.functions.contains(function)) wanted->insert(function);
    };
    if (one->filter.empty())
      for (DynFtrace* function : ops.table().functions()) add(function);
    for (DynFtrace* function : one->filter.functions) add(function);
  }
}

Result<std::string> show(TraceArray& top, const Place& at) {
  FtraceOpsTable& ops = at.tree->context.tracers.ops();
  std::set<DynFtrace*> wanted;
  add_wanted(ops, top, &wanted);
  for (const TraceArray* array : at.registry().arrays()) add_wanted(ops, *array, &wanted);
  std::string lines;
  size_t refused = 0;
  for (DynFtrace* function : ops.table().known()) {
    if (!wanted.contains(function)) continue;
    const SitePlan& plan = ops.table().plan_return(function).plan;
    if (plan.kind != SiteKind::kRefused) continue;
    refused++;
    lines += std::string(function->name) + " [" + function->module->name() + "] " + plan.reason;
    lines += '\n';
  }
  return "# " + std::to_string(refused) + " of " + std::to_string(wanted.size()) +
         " functions have no return probe\n" + lines;
}

}  // namespace

FilePtr make_refused_returns(const Place& place) { return make_text_file(place, show); }

}  // namespace patchbay::tracefs
