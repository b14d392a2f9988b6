// SPDX-License-Identifier: MIT
//
// Which code a place or a return gets.
#include "codegen/probe_compile.h"

#include <array>

#include "abi/ftrace_records.h"
#include "codegen/call_code.h"
#include "codegen/callback_code.h"
#include "codegen/code_frame.h"
#include "codegen/code_template.h"
#include "codegen/hist_code.h"
#include "codegen/record_code.h"
#include "filter/filter_jit.h"
#include "probe/callbacks/callback_hot.h"
#include "probe/hit_counter.h"
#include "probe/returns/graph_hot.h"
#include "probe/triggers/trigger_hot.h"

namespace patchbay {
namespace {

constexpr uint32_t kMaxFastRecord = abi::kMaxSmallData;
constexpr int kMaxFastFields = 12;

bool can_be_tested(const FilterProgram* filter, const FetchProgram& fetch) {
  if (!filter) return false;
  const auto tests = filter_register_tests(*filter, fetch);
  return !tests.empty() && (pb_rseq_offset || !has_text_tests(tests));
}

// Where it comes to nothing, counting is all that may be left to do.
bool may_be_tested(const SiteEvent& event) {
  return event.fetch && !event.event->from_record && (!event.counts || pb_rseq_offset);
}

bool has_no_switch(const EventProgram& event) { return !event.has_soft && !event.triggers; }

bool is_simple(const SiteEvent& event) {
  const EventProgram& program = *event.event;
  return makes_own_record(event) && !program.stack && program.rings->clock == abi::kClockTsc;
}

bool has_few_fields(const FetchProgram& fetch) {
  int fields = 0;
  for (int i = 0; i < fetch.nr_insns; i++) fields += ends_chain(fetch.insn[i].op);
  return fields <= kMaxFastFields;
}

// Of a return: registers alone.
bool is_scalar(const FetchProgram& fetch) {
  if (!fetch.scalar_only || fixed_record_size(fetch) > kMaxFastRecord) return false;
  for (int i = 0; i < fetch.nr_insns; i++)
    if (fetch.insn[i].op == FetchOp::kReg && fetch.insn[i].index >= kFlagsRegister) return false;
  return has_few_fields(fetch);
}

// What the code has left open, for one place.
std::array<uint64_t, size_t(CodeValue::kCount)> values_of(const ProbeCode& code) {
  std::array<uint64_t, size_t(CodeValue::kCount)> values = {};
  const auto set = [&values](CodeValue which, uint64_t value) { values[size_t(which)] = value; };
  set(CodeValue::kSite, reinterpret_cast<uint64_t>(code.site));
  set(CodeValue::kIp, code.event.ip);
  if (const EventProgram* event = code.event.event) {
    set(CodeValue::kId, event->id);
    set(CodeValue::kEvent, reinterpret_cast<uint64_t>(event));
    set(CodeValue::kSoft, reinterpret_cast<uint64_t>(event->soft));
    if (event->triggers)
      set(CodeValue::kListeners, reinterpret_cast<uint64_t>(event->triggers->listeners));
  }
  const TriggerProgram* asked = code.event.event ? code.event.event->triggers : nullptr;
  if (asked && asked->nr_triggers && asked->trigger[0].hist) {
    const HistProgram* hist = asked->trigger[0].hist;
    set(CodeValue::kHist, reinterpret_cast<uint64_t>(hist));
    set(CodeValue::kHistSwitch, reinterpret_cast<uint64_t>(hist->event_switch));
  }
  if (code.calls) {
    const TriggerProgram& triggers = *code.event.event->triggers;
    for (uint32_t i = 0; i < triggers.nr_triggers; i++)
      values[size_t(CodeValue::kCallback) + i] =
          reinterpret_cast<uint64_t>(triggers.trigger[i].callback);
  }
  if (const ProbeCounts* counts = code.event.counts)
    set(CodeValue::kHits, reinterpret_cast<uint64_t>(counts->hits));
  return values;
}

bool has_gate(const SiteEvent& event) {
  return has_register_gate(event) || has_listener_gate(event);
}

}  // namespace

bool has_fast_path(const SiteEvent& event) {
  if (!is_simple(event) || !can_be_compiled(*event.fetch)) return false;
  if (!has_few_fields(*event.fetch)) return false;
  if (!has_entry_head(*event.fetch)) return false;
  const EventProgram& program = *event.event;
  if (program.triggers && !has_gate(event)) return false;
  return !program.filter || can_be_tested(program.filter, *event.fetch);
}

bool has_fast_hist(const SiteEvent& event) {
  if (hist_code(event).keys.empty()) return false;
  return !event.event->triggers->trigger[0].filter || has_register_gate(event);
}

bool has_fast_callbacks(const SiteEvent& event) {
  if (callback_code(event).empty() || !has_few_fields(*event.fetch)) return false;
  return !event.event->triggers->trigger[0].filter || has_register_gate(event);
}

bool has_register_filter(const SiteEvent& event) {
  if (!may_be_tested(event) || (event.event->triggers && !has_gate(event))) return false;
  return can_be_tested(event.event->filter, *event.fetch);
}

bool has_register_gate(const SiteEvent& event) {
  const TriggerProgram* triggers = event.event->triggers;
  return triggers && may_be_tested(event) && can_be_tested(triggers->gate, *event.fetch) &&
         !has_text_tests(filter_register_tests(*triggers->gate, *event.fetch));
}

bool has_listener_gate(const SiteEvent& event) {
  const TriggerProgram* triggers = event.event->triggers;
  return triggers && triggers->listeners && may_be_tested(event);
}

bool is_fast_call(const SiteEvent& event) {
  return is_simple(event) && has_no_switch(*event.event) && event.event->id == abi::kFunctionId &&
         event.fetch->head == RecordHead::kCall && event.fetch->nr_insns == 0 &&
         !event.event->filter && !event.counts && !event.ip && !event.event->merges_repeats &&
         event.event->rings->clock == abi::kClockTsc;
}

bool is_fast_callback(const SiteEvent& event) {
  const EventProgram& program = *event.event;
  if (program.kind != ConsumerKind::kCallback || event.counts || program.pids) return false;
  if (program.notrace_pids || !has_no_switch(program)) return false;
  const LiveVectors vectors = program.callback->vectors;
  return vectors == LiveVectors::kAtEntry || vectors == LiveVectors::kUntouched;
}

namespace {

// function_graph or the profiler, for all threads.
bool is_plain_graph(const SiteEvent& event, ConsumerKind kind) {
  const EventProgram& program = *event.event;
  return pb_rseq_offset && program.kind == kind && !event.counts && !program.pids &&
         !program.notrace_pids && program.rings->clock == abi::kClockTsc;
}

}  // namespace

bool is_fast_graph(const SiteEvent& event) {
  return is_plain_graph(event, ConsumerKind::kGraph) &&
         !(event.event->graph_flags & (kGraphArgs | kGraphRetaddr));
}

bool is_fast_profile(const SiteEvent& event) {
  return is_plain_graph(event, ConsumerKind::kProfile);
}

bool has_fast_return(const SiteEvent& event) {
  if (!is_simple(event) || !has_no_switch(*event.event)) return false;
  if (event.counts && event.counts->max_active) return false;
  if (is_whole_call(event) && has_call_code(event) && has_few_fields(*event.fetch))
    return !event.event->filter || has_call_tests(event);
  return !event.event->filter && event.fetch->head == RecordHead::kReturn &&
         is_scalar(*event.fetch);
}

namespace {

// Whether probe_entry_hook has to be told: it knows of those whose code is kHookCalls by itself.
bool hook_uses_xmm(const SiteProgram& return_program, const ProbeCode& code) {
  const bool is_known = return_program.code == kHookCalls;
  if (is_known && !code.flags_live && !code.inside) return false;
  for (uint32_t i = 0; i < return_program.nr_events; i++) {
    const SiteEvent& event = return_program.event[i];
    if (is_whole_call(event) && event.fetch->at_entry->uses_xmm) return true;
  }
  return false;
}

}  // namespace

ProbeCode probe_code(const CallSite* site, const SiteProgram* program,
                     const SiteProgram* return_program, bool flags_live, bool inside) {
  ProbeCode code{};
  code.site = site;
  code.flags_live = flags_live;
  code.inside = inside;
  code.hooks_return = return_program != nullptr;
  code.site_has_events = program != nullptr;
  for (uint32_t i = 0; program && i < program->nr_events; i++) {
    const FetchProgram* fetch = program->event[i].fetch;
    if (!fetch) continue;
    code.uses_xmm |= fetch->uses_xmm;
    code.inside |= fetch->uses_reg;
  }
  code.hook_uses_xmm = return_program && hook_uses_xmm(*return_program, code);
  if (!program) return code;
  code.shared = !code.inside && !code.flags_live && !code.uses_xmm && !code.hook_uses_xmm;
  if (program->nr_events != 1) return code;
  ProbeCode better = code;
  better.shared = false;
  better.event = program->event[0];
  better.hist = has_fast_hist(better.event);
  better.calls = !code.inside && !code.flags_live && has_fast_callbacks(better.event);
  const bool is_own = better.hist || better.calls;
  better.fast = is_own || has_fast_path(better.event);
  better.filtered = !is_own && has_register_filter(better.event);
  better.mirrored = has_listener_gate(better.event);
  better.gated = !better.mirrored && has_register_gate(better.event);
  const bool may_be_off = better.event.event->has_soft && may_be_tested(better.event);
  const bool has_way = is_own || better.gated || better.mirrored || !better.event.event->triggers;
  better.soft = may_be_off && has_way;
  const auto is_made = [&better] {
    const bool special =
        better.fast || better.filtered || better.gated || better.mirrored || better.soft;
    return special && find_template(better) != nullptr;
  };
  if (is_made()) return better;
  // It may be the fields for which there is no room.
  better.fast = better.hist = better.calls = false;
  better.filtered = has_register_filter(better.event);
  better.soft = may_be_off && (better.gated || better.mirrored || !better.event.event->triggers);
  return is_made() ? better : code;
}

CodeTemplatePtr probe_template(const ProbeCode& code) { return find_template(code); }

uint16_t probe_stack_shape(const CodeTemplate& made) { return made.stack_shape; }

size_t emit_probe(const CodeTemplate& made, const ProbeCode& code, uint8_t* out, size_t capacity,
                  uint64_t address) {
  if (made.code.bytes.size() > capacity) return 0;
  made.code.place(out, address, values_of(code).data());
  return made.code.bytes.size();
}

size_t emit_probe(const ProbeCode& code, uint8_t* out, size_t capacity, uint64_t address) {
  const CodeTemplatePtr made = find_template(code);
  return made ? emit_probe(*made, code, out, capacity, address) : 0;
}

}  // namespace patchbay
