// SPDX-License-Identifier: MIT
//
// The lists of function tracing (docs/files.md, "Files of function tracers"): the functions that
// can be traced, those that are, and their tracers.
//
//   sqlite3_step [libsqlite3.so.0] (2) R         \ttramp: 0x7f… (set of 2) ->trace ->kprobes:p
//   name           module          |   |         |         |                 tracers, in order of
//                                  |   columns R I D O M   |                 registration;
//                                  count of consumers      |                 `%return`: at returns
//                                  the program of the site: the same set of consumers at another
//                                  function has the same program
//
// As in the kernel R says that a consumer gets all registers: probes and function events do.
#include <algorithm>
#include <set>

#include "base/text.h"
#include "registry/pid_lists.h"
#include "tracer/tracers_impl.h"

namespace patchbay {

namespace {

constexpr size_t kPage = 4096;

std::string consumer_name(const ProbeSites::Consumer& one) {
  const LiveEvent& live = *one.live;
  std::string name;
  if (live.is_tracer) {
    const auto* ops = static_cast<const FtraceOps*>(live.data);
    if (!ops->array->is_top()) name = ops->array->name + ":";
    name += ops->name;
  } else {
    name = live.call.system + ":" + live.call.name;
  }
  return one.on_return ? name + "%return" : name;
}

// The program that says best which set of consumers this is.
uint64_t program_of(const CallSite* site) {
  if (!site) return 0;
  const SiteProgram* program = __atomic_load_n(&site->program, __ATOMIC_RELAXED);
  if (!program) program = __atomic_load_n(&site->return_program, __ATOMIC_RELAXED);
  return reinterpret_cast<uint64_t>(program);
}

std::string users_line(const ProbeSites& sites, const DynFtrace& function,
                       const std::vector<ProbeSites::Consumer>& consumers) {
  std::set<const LiveEvent*> distinct;
  bool all_registers = false;
  for (const ProbeSites::Consumer& one : consumers) {
    distinct.insert(one.live);
    all_registers |= !one.live->is_tracer;
  }
  std::string text = FunctionTable::listed_name(function);
  text += " (" + std::to_string(distinct.size()) + ")" + (all_registers ? " R" : "  ");
  text += "         ";  // I D O M: no consumer changes where a call goes
  if (consumers.empty()) return text + "\n";
  const std::string set = consumers.size() == 1 ? consumer_name(consumers.front())
                                                : "set of " + std::to_string(consumers.size());
  text += "\ttramp: " + hex_number(program_of(sites.site(function.place))) + " (" + set + ")";
  for (const ProbeSites::Consumer& one : consumers) text += " ->" + consumer_name(one);
  return text + "\n";
}

}  // namespace

std::string Tracers::available_filter_functions(bool with_addresses) {
  impl_->ops.refresh();
  std::string text;
  for (const DynFtrace* function : impl_->table.functions()) {
    if (with_addresses) text += hex_number(function->place.plan.entry).substr(2) + " ";
    text += FunctionTable::listed_name(*function) + '\n';
  }
  return text;
}

std::string Tracers::enabled_functions() {
  impl_->ops.refresh();
  std::string text;
  for (const DynFtrace* function : impl_->table.functions()) {
    const auto consumers = impl_->sites.consumers(function->place);
    if (!consumers.empty()) text += users_line(impl_->sites, *function, consumers);
  }
  return text;
}

std::string Tracers::touched_functions() {
  impl_->ops.refresh();
  std::string text;
  for (const DynFtrace* function : impl_->table.functions()) {
    if (!function->touched && !impl_->sites.site(function->place)) continue;
    text += users_line(impl_->sites, *function, impl_->sites.consumers(function->place));
  }
  return text;
}

std::string Tracers::function_tracers(const TraceArray& array) const {
  std::string text;
  const FtraceOps* chosen = impl_->ops.default_of(array);
  const bool all = impl_->ops.shares_filters(array);
  for (const FtraceOps* ops : impl_->ops.listed(array)) {
    const bool is_meant = all ? !ops->of_program : ops == chosen;
    text += (is_meant ? "*" : "") + ops->name + "\n";
  }
  return text;
}

Status Tracers::choose_tracer(TraceArray& array, std::string_view name) {
  if (name != "*") return impl_->ops.set_default(array, name);
  impl_->ops.share_filters(&impl_->of(array).ops);
  return {};
}

std::string Tracers::total_info() {
  impl_->ops.refresh();
  const auto functions = impl_->table.functions();
  std::set<const Module*> modules;
  for (const DynFtrace* function : functions) modules.insert(function->module);
  const size_t pages = (functions.size() * sizeof(DynFtrace) + kPage - 1) / kPage;
  return std::to_string(functions.size()) + " pages:" + std::to_string(pages) +
         " groups: " + std::to_string(modules.size()) + "\n";
}

std::string Tracers::show_pids(const TraceArray& array, PidList which) const {
  const bool is_notrace = which == PidList::kFtraceNotrace;
  const auto& pids = is_notrace ? array.ftrace_notrace_pids : array.ftrace_pids;
  std::string text;
  for (uint32_t pid : pids) text += std::to_string(pid) + "\n";
  return text.empty() ? "no pid\n" : text;
}

}  // namespace patchbay
