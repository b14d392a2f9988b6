// SPDX-License-Identifier: MIT
//
// Which code a place or a return gets.
#include "codegen/probe_compile.h"

#include <array>

#include "codegen/code_frame.h"
#include "codegen/code_template.h"
#include "filter/filter_jit.h"
#include "probe/hit_counter.h"
#include "probe/returns/graph_hot.h"
#include "probe/triggers/trigger_hot.h"

namespace patchbay {
namespace {

constexpr uint32_t kMaxFastRecord = abi::kMaxSmallData;
constexpr int kMaxFastFields = 12;

bool can_be_tested(const FilterProgram* filter, const FetchProgram& fetch) {
  return filter && !filter_register_tests(*filter, fetch).empty();
}

// Where it comes to nothing, counting is all that may be left to do.
bool may_be_tested(const SiteEvent& event) {
  return event.fetch && !event.event->from_record && (!event.counts || pb_rseq_offset);
}

bool has_no_switch(const EventProgram& event) { return !event.has_soft && !event.triggers; }

// Nothing is asked for that generated code cannot do: lists of threads, other sources, stacks.
bool is_simple(const SiteEvent& event) {
  const EventProgram& program = *event.event;
  return pb_rseq_offset && event.fetch && program.kind == ConsumerKind::kRecord && !program.stack &&
         !program.from_record && !program.pids && !program.notrace_pids &&
         program.rings->clock == abi::kClockTsc;
}

bool is_scalar(const FetchProgram& fetch) {
  if (!fetch.scalar_only || fixed_record_size(fetch) > kMaxFastRecord) return false;
  int fields = 0;
  for (int i = 0; i < fetch.nr_insns; i++) {
    const FetchInsn& insn = fetch.insn[i];
    fields += insn.op == FetchOp::kStore;
    if (insn.op == FetchOp::kReg && insn.index >= kFlagsRegister) return false;
  }
  return fields <= kMaxFastFields;
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
  }
  if (const ProbeCounts* counts = code.event.counts)
    set(CodeValue::kHits, reinterpret_cast<uint64_t>(counts->hits));
  return values;
}

}  // namespace

bool has_fast_path(const SiteEvent& event) {
  if (!is_simple(event) || !is_scalar(*event.fetch)) return false;
  const RecordHead head = event.fetch->head;
  if (head != RecordHead::kFunction && head != RecordHead::kProbe) return false;
  const EventProgram& program = *event.event;
  if (program.triggers && !has_register_gate(event)) return false;
  return !program.filter || can_be_tested(program.filter, *event.fetch);
}

bool has_register_filter(const SiteEvent& event) {
  if (!may_be_tested(event) || (event.event->triggers && !has_register_gate(event))) return false;
  return can_be_tested(event.event->filter, *event.fetch);
}

bool has_register_gate(const SiteEvent& event) {
  const TriggerProgram* triggers = event.event->triggers;
  return triggers && may_be_tested(event) && can_be_tested(triggers->gate, *event.fetch);
}

bool is_fast_call(const SiteEvent& event) {
  return is_simple(event) && has_no_switch(*event.event) &&
         event.fetch->head == RecordHead::kCall && event.fetch->nr_insns == 0 &&
         !event.event->filter && !event.counts && !event.ip && !event.event->merges_repeats &&
         event.event->rings->clock == abi::kClockTsc;
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
  if (!is_simple(event) || !is_scalar(*event.fetch) || event.event->filter) return false;
  if (event.fetch->head != RecordHead::kReturn || !has_no_switch(*event.event)) return false;
  return !event.counts || !event.counts->max_active;
}

ProbeCode probe_code(const CallSite* site, const SiteProgram* program,
                     const SiteProgram* return_program, bool flags_live, bool inside) {
  ProbeCode code{};
  code.site = site;
  code.flags_live = flags_live;
  code.inside = inside;
  code.hooks_return = return_program != nullptr;
  code.site_has_events = program != nullptr;
  if (!program) return code;
  for (uint32_t i = 0; i < program->nr_events; i++) {
    const FetchProgram* fetch = program->event[i].fetch;
    if (!fetch) continue;
    code.uses_xmm |= fetch->uses_xmm;
    code.inside |= fetch->uses_reg;
  }
  code.shared = !code.inside && !code.flags_live && !code.uses_xmm;
  if (program->nr_events != 1) return code;
  ProbeCode better = code;
  better.shared = false;
  better.event = program->event[0];
  better.fast = has_fast_path(better.event);
  better.filtered = has_register_filter(better.event);
  better.gated = has_register_gate(better.event);
  const bool may_be_off = better.event.event->has_soft && may_be_tested(better.event);
  better.soft = may_be_off && (better.gated || !better.event.event->triggers);
  const bool special = better.fast || better.filtered || better.gated || better.soft;
  const bool fits = special && find_template(better);
  return fits ? better : code;
}

uint16_t probe_stack_shape(const ProbeCode& code) {
  const CodeTemplate* made = find_template(code);
  return made ? made->stack_shape : 0;
}

size_t emit_probe(const ProbeCode& code, uint8_t* out, size_t capacity, uint64_t address) {
  const CodeTemplate* made = find_template(code);
  if (!made || made->code.bytes.size() > capacity) return 0;
  made->code.place(out, address, values_of(code).data());
  return made->code.bytes.size();
}

}  // namespace patchbay
