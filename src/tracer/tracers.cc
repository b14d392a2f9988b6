// SPDX-License-Identifier: MIT
#include "tracer/tracers.h"

#include <algorithm>

#include "registry/object_log.h"
#include "tracer/tracers_impl.h"

namespace patchbay {

namespace {

template <typename Part, typename... Arguments>
Part& made(std::unique_ptr<Part>& part, Arguments&... arguments) {
  if (!part) part = std::make_unique<Part>(arguments...);
  return *part;
}

}  // namespace

Tracers::Impl::Impl(Registry& r, Patcher& p, ProbeSites& s)
    : registry(r), patcher(p), sites(s), table(r.symbols(), p), ops(r, p, s, table) {}
Tracers::Impl::~Impl() = default;

Tracers::Tracers(Registry& registry, Patcher& patcher, ProbeSites& sites)
    : impl_(new Impl(registry, patcher, sites)) {
  Registry::TracerHooks hooks;
  hooks.array_goes = [this](TraceArray& array) { remove_array(array); };
  hooks.event_goes = [this](const LiveEvent* event) {
    if (impl_->commands) impl_->commands->event_gone(event);
  };
  hooks.option_set = [this](TraceArray& array, TraceOption option) -> Status {
    if (option == TraceOption::kSleepTime || option == TraceOption::kGraphTime)
      graph().settings_changed();
    const bool is_stack =
        option == TraceOption::kStackTrace || option == TraceOption::kUserStackTrace;
    return is_stack || option >= TraceOption::kFuncStackTrace ? option_changed(array) : Status();
  };
  registry.set_tracer_hooks(std::move(hooks));
}

Tracers::~Tracers() { impl_->registry.set_tracer_hooks({}); }

FunctionTable& Tracers::table() { return impl_->table; }
FtraceOpsTable& Tracers::ops() { return impl_->ops; }

FunctionCommands& Tracers::commands() { return made(impl_->commands, impl_->registry, impl_->ops); }
GraphControl& Tracers::graph() {
  return made(impl_->graph, impl_->registry, impl_->ops, impl_->sites);
}
Profiler& Tracers::profiler() { return made(impl_->profiler, impl_->registry, impl_->ops); }
StackTracer& Tracers::stack_tracer() {
  return made(impl_->stack_tracer, impl_->registry, impl_->ops);
}

ArrayTracer& Tracers::Impl::of(TraceArray& array) {
  std::unique_ptr<ArrayTracer>& tracer = arrays[&array];
  if (tracer) return *tracer;
  tracer = std::make_unique<ArrayTracer>();
  tracer->ops.name = "trace";
  tracer->ops.array = &array;
  ops.follow(&tracer->ops);
  return *tracer;
}

const ArrayTracer* Tracers::Impl::find(const TraceArray& array) const {
  auto found = arrays.find(&array);
  return found == arrays.end() ? nullptr : found->second.get();
}

bool Tracers::is_tracing() const { return impl_->ops.any_registered(); }

bool Tracers::wants_objects() const {
  return impl_->ops.wants_objects() || (impl_->graph && impl_->graph->wants_objects());
}

void Tracers::refresh() {
  if (!impl_->table.is_made()) return;  // nobody has asked
  // An object may be gone before the recording ends: its functions keep their names.
  if (is_tracing()) (void)impl_->registry.objects().describe();
  impl_->ops.refresh();
  if (impl_->graph) impl_->graph->refresh();
}

void Tracers::forget_all() {
  Impl& impl = *impl_;
  const bool is_named = (impl.commands && impl.commands->any()) ||
                        (impl.graph && impl.graph->wants_objects()) ||
                        (impl.profiler && impl.profiler->enabled());
  if (is_named || !impl.ops.can_forget_all()) return;
  if (impl.profiler) impl.profiler->forget_rows();
  impl.ops.forget_all();
}

void Tracers::remove_array(TraceArray& array) {
  if (impl_->commands) impl_->commands->clear(array);
  auto found = impl_->arrays.find(&array);
  if (found == impl_->arrays.end()) return;
  FtraceOps* ops = &found->second->ops;
  impl_->ops.remove(ops);
  impl_->ops.unfollow(ops);
  impl_->ops.forget(array);
  array.tracer = Tracer::kNop;
  impl_->arrays.erase(found);  // what threads may be late with are programs, which are not its own
}

}  // namespace patchbay
