// SPDX-License-Identifier: MIT
//
// current_tracer, as the kernel's tracing_set_tracer(): the old tracer goes first, the buffer is
// cleared, then the new one begins; one that cannot leaves nop.
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <optional>

#include "abi/ftrace_records.h"
#include "fetch/fetch_abi.h"
#include "probe/probe_abi.h"
#include "probe/returns/graph_hot.h"
#include "registry/settings.h"
#include "tracer/tracers_impl.h"

namespace patchbay {

namespace {

constexpr std::pair<std::string_view, Tracer> kTracers[] = {
    {"function_graph", Tracer::kFunctionGraph},
    {"function", Tracer::kFunction},
    {"nop", Tracer::kNop},
};
constexpr uint32_t kMaxGraphRecord =
    sizeof(abi::GraphRetaddrEntryRecord) + abi::kRecordedArgs * sizeof(uint64_t);
constexpr uint32_t kSessions = 32;  // EventProgram.graph_flags has so many bits left

std::optional<Tracer> find_tracer(std::string_view name) {
  for (const auto& [known, tracer] : kTracers)
    if (known == name) return tracer;
  return {};
}

// ftrace:function, with the six integer arguments or without. Never freed: threads run it.
const FetchProgram* make_call_fetch(uint32_t nr_args) {
  auto* fetch = static_cast<FetchProgram*>(
      std::calloc(1, sizeof(FetchProgram) + 2 * nr_args * sizeof(FetchInsn)));
  if (!fetch) return nullptr;
  constexpr uint32_t kHead = record_head_size(RecordHead::kCall);
  fetch->fixed_size = fetch->max_size = kHead + nr_args * 8;
  fetch->nr_insns = uint16_t(2 * nr_args);
  fetch->scalar_only = 1;
  fetch->head = RecordHead::kCall;
  for (uint32_t i = 0; i < nr_args; i++) {
    fetch->insn[2 * i] = {FetchOp::kArg, uint8_t(i), 0, 0, 0, 0};
    fetch->insn[2 * i + 1] = {FetchOp::kStore, 0, 8, 0, kHead + i * 8, 0};
  }
  return fetch;
}

const FetchProgram* call_fetch(bool with_args) {
  static const FetchProgram* const fetch[2] = {make_call_fetch(0),
                                               make_call_fetch(abi::kRecordedArgs)};
  return fetch[with_args];
}

Status describe_function(const TraceOptions& options, FtraceOps* ops) {
  LiveEvent& live = ops->live;
  ops->on_return = false;
  live.call.name = "function";
  live.call.id = abi::kFunctionId;
  live.kind = ConsumerKind::kRecord;
  live.fetch = call_fetch(options[TraceOption::kFuncArgs]);
  if (!live.fetch) return sys_error("make the fetch program of the function tracer", ENOMEM);
  live.max_size = live.fetch->max_size;
  live.stack = options[TraceOption::kFuncStackTrace] ? kFunctionStack : 0;
  live.merges_repeats = options[TraceOption::kFuncNoRepeats];
  live.graph_flags = 0;
  return {};
}

void describe_graph(const TraceOptions& options, uint32_t session, FtraceOps* ops) {
  LiveEvent& live = ops->live;
  ops->on_return = true;
  live.call.name = "function_graph";
  live.call.id = abi::kGraphExitId;
  live.kind = ConsumerKind::kGraph;
  live.fetch = nullptr;
  live.max_size = kMaxGraphRecord;
  live.stack = live.merges_repeats = 0;
  uint32_t flags = session % kSessions << kGraphSessionShift;
  if (options[TraceOption::kFuncgraphRetval]) flags |= kGraphRetval;
  if (options[TraceOption::kFuncgraphArgs]) flags |= kGraphArgs;
  if (options[TraceOption::kFuncgraphRetaddr]) flags |= kGraphRetaddr;
  live.graph_flags = uint8_t(flags);
}

// What the ops' program is to be, by the options of its instance.
Status describe(const TraceArray& array, Tracer tracer, uint32_t session, FtraceOps* ops) {
  ops->live.call.system = "ftrace";
  if (tracer == Tracer::kFunction) return describe_function(array.options, ops);
  describe_graph(array.options, session, ops);
  return {};
}

bool is_consumed(const TraceArray& array) {
  return array.pipe_open || array.raw_readers > 0 ||
         std::find(array.cpu_pipe_open.begin(), array.cpu_pipe_open.end(), true) !=
             array.cpu_pipe_open.end();
}

}  // namespace

std::string_view Tracers::available() { return "function_graph function nop"; }

std::string_view Tracers::tracer_name(const TraceArray& array) const {
  for (const auto& [name, tracer] : kTracers)
    if (tracer == array.tracer) return name;
  return "nop";
}

Status Tracers::set_tracer(TraceArray& array, std::string_view name) {
  PB_TRY(array.buffer->expand());
  const std::optional<Tracer> wanted = find_tracer(name);
  if (!wanted)
    return user_error(
        EINVAL, "There is no tracer '" + std::string(name) + "'; available_tracers lists them.");
  if (*wanted == array.tracer) return {};
  if (is_consumed(array))
    return user_error(EBUSY,
                      "The tracer cannot be changed while trace_pipe, or a raw file, is open.");
  if (array.tracer != Tracer::kNop) impl_->ops.remove(&impl_->of(array).ops);
  array.tracer = Tracer::kNop;
  impl_->registry.settings().clear(array);
  if (*wanted == Tracer::kNop) return {};
  ArrayTracer& tracer = impl_->of(array);
  PB_TRY(describe(array, *wanted, ++tracer.session, &tracer.ops));
  if (*wanted == Tracer::kFunctionGraph) graph().settings_changed();
  PB_TRY(impl_->ops.add(&tracer.ops));
  array.tracer = *wanted;
  return {};
}

Status Tracers::option_changed(TraceArray& array) {
  if (array.tracer == Tracer::kNop) return {};
  ArrayTracer& tracer = impl_->of(array);
  PB_TRY(describe(array, array.tracer, tracer.session, &tracer.ops));
  return impl_->registry.remake_program(array, &tracer.ops.live);
}

}  // namespace patchbay
