// SPDX-License-Identifier: MIT
//
//   set_graph_function, set_graph_notrace ── DynFtrace.graph ── ProbeSites::mark: CallSite.graph
//   max_graph_depth, tracing_thresh, sleep-time, graph-time ──> pb_graph_settings
//
// A function's marks go to its CallSite at once if it has one, else when some ops joins it
// (FtraceOpsTable). A set is said to be there (has_roots) after its marks are set, and no longer
// before they are taken away: in between a little too much is recorded, never too little.
#include "tracer/graph_control.h"

#include <cerrno>

#include "probe/returns/graph_hot.h"
#include "registry/settings.h"
#include "ring_buffer/tick_rate.h"

namespace patchbay {

namespace {

constexpr std::string_view kLocation[] = {"set_graph_function", "set_graph_notrace"};
constexpr std::string_view kEmpty[] = {"#### all functions enabled ####\n",
                                       "#### no functions disabled ####\n"};
constexpr uint32_t kMark[] = {kGraphRoot, kGraphNotrace};

template <typename Word>
void store(Word* word, Word value) {
  __atomic_store_n(word, value, __ATOMIC_RELEASE);
}

}  // namespace

struct GraphControl::Impl {
  Impl(Registry& r, FtraceOpsTable& o, ProbeSites& s) : registry(r), ops(o), sites(s) {}

  Registry& registry;
  FtraceOpsTable& ops;
  ProbeSites& sites;
  FtraceHash sets[2];

  FtraceHash& of(Set which) { return sets[size_t(which)]; }
  void mark(DynFtrace* function, uint32_t bit, bool on);
  void apply(Set which, FtraceHash hash);
  void say_what_is_set();
  Status apply_line(const FilterLine& line, FtraceHash* hash);
};

GraphControl::GraphControl(Registry& registry, FtraceOpsTable& ops, ProbeSites& sites)
    : impl_(new Impl(registry, ops, sites)) {}
GraphControl::~GraphControl() = default;

void GraphControl::Impl::mark(DynFtrace* function, uint32_t bit, bool on) {
  function->graph = on ? function->graph | bit : function->graph & ~bit;
  sites.mark(function->place, function->graph, function->profile);
}

void GraphControl::Impl::say_what_is_set() {
  store(&pb_graph_settings.has_roots, uint8_t(!sets[0].empty()));
  store(&pb_graph_settings.has_notrace, uint8_t(!sets[1].empty()));
}

void GraphControl::Impl::apply(Set which, FtraceHash hash) {
  FtraceHash& set = of(which);
  std::swap(set, hash);
  for (DynFtrace* function : set.functions)
    if (!hash.functions.contains(function)) mark(function, kMark[size_t(which)], true);
  say_what_is_set();
  for (DynFtrace* function : hash.functions)
    if (!set.functions.contains(function)) mark(function, kMark[size_t(which)], false);
}

FtraceHash GraphControl::open(Set which, bool truncate) {
  impl_->ops.refresh();
  return truncate ? FtraceHash{} : impl_->of(which);
}

// As the kernel's: no commands, no modules, no numbers; what is taken away must be there.
Status GraphControl::Impl::apply_line(const FilterLine& line, FtraceHash* hash) {
  if (line.has_module || !line.command.empty())
    return user_error(EINVAL, "Only functions can be named here, no module and no command.");
  if (line.is_index) return user_error(EINVAL, "Functions cannot be named by number here.");
  const size_t before = hash->functions.size();
  PB_TRY(apply_filter_line(ops.table(), line, hash));
  if (line.remove && hash->functions.size() == before)
    return user_error(EINVAL, "None of these functions is in the list.");
  return {};
}

Status GraphControl::write_line(Set which, std::string_view text, FtraceHash* written) {
  Result<FilterLine> line = parse_filter_line(text);
  Status status = line.ok() ? impl_->apply_line(*line, written) : Status(line.error());
  if (!status.ok())
    impl_->registry.top().errors.add(kLocation[size_t(which)], status.error().message(), text,
                                     text.starts_with('!') ? 1 : 0);
  return status;
}

void GraphControl::close(Set which, FtraceHash written) {
  std::erase_if(written.functions, [](const DynFtrace* function) { return function->gone; });
  impl_->apply(which, std::move(written));
  impl_->ops.table().drop_caches();
}

std::string GraphControl::show(Set which) const {
  const FtraceHash& hash = impl_->of(which);
  if (hash.empty()) return std::string(kEmpty[size_t(which)]);
  return list_functions(impl_->ops.table(), hash);
}

uint32_t GraphControl::max_depth() const { return pb_graph_settings.max_depth; }
void GraphControl::set_max_depth(uint32_t depth) { store(&pb_graph_settings.max_depth, depth); }

// The options are each instance's own, but what they say holds for all, as in the kernel.
void GraphControl::settings_changed() {
  Registry& registry = impl_->registry;
  const TickRate rate = tick_rate(*registry.top().buffer);
  GraphSettings& settings = pb_graph_settings;
  bool sleep_time = registry.top().options[TraceOption::kSleepTime];
  for (const TraceArray* array : registry.arrays())
    sleep_time = sleep_time && array->options[TraceOption::kSleepTime];
  store(&settings.monotonic, uint8_t(!rate.is_tsc));
  store(&settings.ticks_per_ns, uint64_t(4294967296.0 / rate.ns_per_tick));
  store(&settings.thresh_ticks, rate.to_ticks(registry.settings().tracing_thresh() * 1000));
  store(&settings.has_thresh, uint8_t(settings.thresh_ticks != 0));
  store(&settings.without_sleep, uint8_t(!sleep_time));
  store(&settings.without_children, uint8_t(!registry.top().options[TraceOption::kGraphTime]));
}

void GraphControl::refresh() {
  for (Set which : {Set::kFunctions, Set::kNotrace}) {
    FtraceHash hash = impl_->of(which);
    std::vector<DynFtrace*> went;
    for (DynFtrace* function : hash.functions)
      if (function->gone) went.push_back(function);
    hash.forget(went);
    FunctionTable& table = impl_->ops.table();
    if (!hash.gone.empty()) apply_module_lines(table, table.known(), &hash);
    impl_->apply(which, std::move(hash));
  }
}

bool GraphControl::wants_objects() const {
  return !impl_->sets[0].empty() || !impl_->sets[1].empty();
}

}  // namespace patchbay
