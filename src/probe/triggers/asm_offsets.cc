// SPDX-License-Identifier: MIT
// probe/triggers/asm_offsets.h: triggers, synthetic events.
#include <patchbay/trace_events.h>

#include "hot/asm_offset.h"
#include "probe/triggers/synthetic_hot.h"
#include "probe/triggers/trigger_hot.h"

namespace patchbay {

[[gnu::used]] static void triggers() {
  ASM_CONSTANT(PROGRAM_IS_PLAIN, kPlain);
  ASM_CONSTANT(PROGRAM_CALLS, kCalls);
  ASM_CONSTANT(PROGRAM_CALLS_ALWAYS, kCallsAlways);
  ASM_CONSTANT(PROGRAM_MIRRORED, kMirrored);
  static_assert(kGated < kCalls && kCalls < kCallsAlways);  // compared by order
  ASM_OFFSET(TRIGGERS_GATE, TriggerProgram, gate);
  ASM_OFFSET(TRIGGERS_CALLBACK, TriggerProgram, trigger[0].callback);
  ASM_CONSTANT(SYNTHETIC_IN_PLACE, kSyntheticInPlace);
  ASM_OFFSET(HIT_TID, TriggerHit, tid);
}

[[gnu::used]] static void synthetic_events() {
  ASM_OFFSET(FILE_PROGRAM, EventFileHandle, target);
  ASM_OFFSET(FILE_PLAN, EventFileHandle, plan);
  ASM_OFFSET(PLAN_NR_FIELDS, SyntheticPlan, nr_fields);
  ASM_OFFSET(PLAN_FIXED_SIZE, SyntheticPlan, fixed_size);
  ASM_OFFSET(PLAN_NR_TEXTS, SyntheticPlan, nr_texts);
  ASM_OFFSET(PLAN_BYTES, SyntheticPlan, event_bytes);
  ASM_OFFSET(PLAN_FIRST, SyntheticPlan, event_header);
  ASM_OFFSET(PLAN_HEAD, SyntheticPlan, event_header_bytes);
  ASM_OFFSET(PLAN_LAST, SyntheticPlan, event_end);
  ASM_OFFSET(PLAN_MASK, SyntheticPlan, mask);
  ASM_OFFSET(PLAN_RUN_END, SyntheticPlan, run_end);
  ASM_OFFSET(PLAN_TEXT, SyntheticPlan, text);
  ASM_CONSTANT(TEXT_BYTES, kSyntheticTextBytes);
  ASM_OFFSET(STATE_OPEN, synth_event_trace_state, open);
  ASM_OFFSET(STATE_NEXT, synth_event_trace_state, next);
  ASM_OFFSET(STATE_TEXT_END, synth_event_trace_state, text_end);
  ASM_OFFSET(STATE_RECORD, synth_event_trace_state, record);
  ASM_CONSTANT(STATE_BY_NEXT, kStateByNext);
  ASM_OFFSET(FIELD_MASK, SyntheticPlan::Field, mask);
  ASM_OFFSET(FIELD_OFFSET, SyntheticPlan::Field, offset);
  ASM_OFFSET(FIELD_KIND, SyntheticPlan::Field, kind);
  ASM_CONSTANT(FIELD_BYTES, sizeof(SyntheticPlan::Field));
  ASM_CONSTANT(KIND_NUMBER, SyntheticKind::kNumber);
}

}  // namespace patchbay
