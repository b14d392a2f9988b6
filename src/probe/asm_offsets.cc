// SPDX-License-Identifier: MIT
// probe/asm_offsets.h: sites and their programs, the frames of hits, returns, graphs, synthetic
// events.
#include <patchbay/static_event_abi.h>
#include <patchbay/trace_events.h>

#include "abi/ftrace_records.h"
#include "hot/asm_offset.h"
#include "probe/callback_hot.h"
#include "probe/graph_hot.h"
#include "probe/hit_counter.h"
#include "probe/probe_abi.h"
#include "probe/return_callers.h"
#include "probe/return_hook.h"
#include "probe/stack_touch.h"
#include "probe/synthetic_hot.h"
#include "probe/trigger_hot.h"

namespace patchbay {

// Of a record with the event's first word.
constexpr size_t in_ring(size_t record) { return record + 4; }

[[gnu::used]] static void sites_and_programs() {
  ASM_OFFSET(SITE_RETURN_PROGRAM, CallSite, return_program);
  ASM_OFFSET(SITE_FUNCTION, CallSite, function);
  ASM_OFFSET(SITE_GRAPH, CallSite, graph);
  ASM_OFFSET(SITE_PROFILE, CallSite, profile);
  static_assert(offsetof(CallSite, program) == 0);
  ASM_OFFSET(PROGRAM_PLAIN, SiteProgram, plain);
  ASM_OFFSET(PROGRAM_CODE, SiteProgram, code);
  ASM_OFFSET(PROGRAM_RETURN_CODE, SiteProgram, return_code);
  ASM_OFFSET(PROGRAM_EVENTS, SiteProgram, event[0].event);
  static_assert(offsetof(SiteProgram, nr_events) == 0);
  ASM_CONSTANT(PROGRAM_IS_PLAIN, kPlain);
  ASM_CONSTANT(PROGRAM_CALLS, kCalls);
  ASM_CONSTANT(PROGRAM_CALLS_ALWAYS, kCallsAlways);
  static_assert(kGated < kCalls && kCalls < kCallsAlways);  // compared by order
  ASM_CONSTANT(ENTRY_CALLS, kEntryCalls);
  ASM_CONSTANT(HOOK_PLAIN, kHookPlain);
  ASM_CONSTANT(HOOK_GRAPH, kHookGraph);
  static_assert(kHookPlain < kHookGraph && kHookGraph < kHookProfile);
  ASM_CONSTANT(SYNTHETIC_IN_PLACE, kSyntheticInPlace);
  ASM_CONSTANT(SITE_EVENT_SIZE, sizeof(SiteEvent));
  static_assert(offsetof(EventProgram, rings) == 0);
  ASM_OFFSET(EVENT_FILTER, EventProgram, filter);
  ASM_OFFSET(EVENT_ID, EventProgram, id);
  ASM_OFFSET(EVENT_SOFT, EventProgram, soft);
  ASM_OFFSET(EVENT_TRIGGERS, EventProgram, triggers);
  static_assert(offsetof(FilterProgram, code) == 0);
  ASM_OFFSET(TRIGGERS_GATE, TriggerProgram, gate);
  ASM_OFFSET(TRIGGERS_CALLBACK, TriggerProgram, trigger[0].callback);
  ASM_SHIFT(HIT_ROW_SHIFT, kHitRowSize);
}

[[gnu::used]] static void static_events() {
  ASM_OFFSET(STATIC_EVENT_PROGRAM, patchbay_event, program);
  ASM_OFFSET(CALLBACK_FUNCTION, HitCallback, function);
  ASM_OFFSET(CALLBACK_ARGUMENT, HitCallback, argument);
  ASM_OFFSET(CALLBACK_OFF, HitCallback, off);
  static_assert(offsetof(CallbackSlot, running) == 0 && offsetof(CallbackRecord, record) == 0);
  ASM_OFFSET(CALLBACK_RECORD_SIZE, CallbackRecord, size);
  ASM_OFFSET(CALLBACK_RECORD_TID, CallbackRecord, tid);
}

[[gnu::used]] static void frames() {
  ASM_OFFSET(FRAME_XMM, ProbeFrame, registers.xmm);
  ASM_OFFSET(FRAME_REG, ProbeFrame, registers.reg);
  ASM_OFFSET(FRAME_ARG, ProbeFrame, registers.arg);
  ASM_OFFSET(FRAME_R10, ProbeFrame, r10);
  ASM_OFFSET(FRAME_R11, ProbeFrame, r11);
  ASM_OFFSET(FRAME_SITE, ProbeFrame, site);
  ASM_OFFSET(FRAME_WANTED, ProbeFrame, wanted);
  ASM_OFFSET(FRAME_STUB_RETURN, ProbeFrame, stub_return);
  ASM_CONSTANT(RETURN_FRAME_SIZE, sizeof(ReturnFrame));
  ASM_CONSTANT(TOUCH_BELOW, StackTouch::kBelow);
  ASM_CONSTANT(TOUCH_FRAME, StackTouch::kFrame);
  ASM_CONSTANT(TOUCH_FRAME_RDI, StackTouch::kFrameRdi);
  ASM_CONSTANT(TOUCH_DEPTH, kStackTouchDepth);
}

[[gnu::used]] static void returns() {
  ASM_CONSTANT(RETURN_SLOTS, kReturnSlots);
  ASM_CONSTANT(RETURN_SPARES, kReturnSpares);
  ASM_CONSTANT(RETURN_CALL_SIZE, kReturnCallSize);
  ASM_CONSTANT(RETURN_PAGES, kReturnPages);
  ASM_CONSTANT(RETURN_PAGE_SHIFT, kReturnPageLog);
  ASM_CONSTANT(RETURN_CODE_SIZE, kReturnCodeSize);
  ASM_SHIFT(RETURN_CODE_SHIFT, kReturnCodeUnit);
  static_assert(kReturnGraph == 1 && kReturnProfile == 2 && kReturnGenerated == 3);  // in order
  ASM_SHIFT(TRAMPOLINE_SHIFT, kReturnTrampolineSize);
  ASM_OFFSET(RETURN_THREAD_AT, ReturnThread, at);
  ASM_OFFSET(RETURN_THREAD_NEXT, ReturnThread, next);
  ASM_OFFSET(RETURN_THREAD_SPARE, ReturnThread, spare);

  ASM_SHIFT(SLOT_SHIFT, sizeof(ReturnSlot));
  ASM_OFFSET(SLOT_STATE, ReturnSlot, state);
  static_assert(offsetof(ReturnSlot, state) == 0);
  ASM_CONSTANT(SLOT_OWNED, kSlotOwned);
  ASM_CONSTANT(SLOT_SPARE_TAG, kSlotSpare);
  static_assert(kSlotGenerationShift == 48);
  ASM_OFFSET(SLOT_RETURN_ADDRESS, ReturnSlot, return_address);
  ASM_OFFSET(SLOT_PROGRAM, ReturnSlot, program);
  ASM_OFFSET(SLOT_SITE, ReturnSlot, site);
  ASM_OFFSET(SLOT_WANTED, ReturnSlot, wanted);
  ASM_OFFSET(SLOT_ARG, ReturnSlot, arg);
  ASM_OFFSET(SLOT_CHAIN_LENGTH, ReturnSlot, chain_length);
  ASM_OFFSET(SLOT_LIMITED, ReturnSlot, limited);
  ASM_OFFSET(SLOT_HOME, ReturnSlot, home);
  ASM_OFFSET(SLOT_GENERATION, ReturnSlot, generation);
  ASM_OFFSET(SLOT_CALL_TIME, ReturnSlot, graph.call_time);
  ASM_OFFSET(SLOT_CHILD_TIME, ReturnSlot, graph.child_time);
  ASM_OFFSET(SLOT_CPU_TIME, ReturnSlot, graph.cpu_time);
  ASM_OFFSET(SLOT_PARENT, ReturnSlot, graph.parent);  // with depth and flags in the upper half
  ASM_OFFSET(SLOT_DEPTH, ReturnSlot, graph.depth);
  ASM_OFFSET(SLOT_GRAPH_FLAGS, ReturnSlot, graph.flags);
  ASM_OFFSET(SLOT_SESSION, ReturnSlot, graph.session);
}

[[gnu::used]] static void graphs() {
  ASM_OFFSET(GRAPH_THRESH, GraphSettings, thresh_ticks);
  ASM_OFFSET(GRAPH_MAX_DEPTH, GraphSettings, max_depth);
  // One load of four bytes that are 0 in the usual case; without_children is 0 for the profiler.
  ASM_OFFSET(GRAPH_ROOTS_NOTRACE_SLEEP, GraphSettings, has_roots);
  constexpr size_t first = offsetof(GraphSettings, has_roots);
  static_assert(offsetof(GraphSettings, has_notrace) == first + 1);
  static_assert(offsetof(GraphSettings, without_sleep) == first + 2);
  static_assert(offsetof(GraphSettings, without_children) == first + 3 && first % 4 == 0);
  ASM_OFFSET(GRAPH_WITHOUT_CHILDREN, GraphSettings, without_children);
  ASM_OFFSET(GRAPH_MONOTONIC, GraphSettings, monotonic);
  static_assert(offsetof(GraphThread, current) == 0);
  ASM_OFFSET(GRAPH_LEFT, GraphThread, left);
  ASM_OFFSET(GRAPH_LOST, GraphThread, lost);
  ASM_CONSTANT(GRAPH_INSIDE, kGraphInside);
  ASM_CONSTANT(GRAPH_NOTRACED, kGraphNotraced);
  ASM_SHIFT(GRAPH_COUNTS_BIT, kGraphCounts);
  ASM_CONSTANT(GRAPH_ENTERED, kGraphFollowed | kGraphCounts | kGraphEntered);
  ASM_CONSTANT(GRAPH_PROFILED, kGraphFollowed | kGraphProfiled);
  ASM_CONSTANT(GRAPH_ROOT, kGraphRoot);
  static_assert(uint32_t{kGraphRoot} == uint32_t{kGraphInside});  // a root is inside: the same bit
  ASM_CONSTANT(GRAPH_FAR_BYTES, kGraphFarBytes);
  ASM_CONSTANT(FUNCTION_RECORD, in_ring(sizeof(abi::FunctionRecord)));
  static_assert(sizeof(abi::FunctionRecord) == sizeof(abi::GraphEntryRecord));
  ASM_CONSTANT(GRAPH_ENTRY_ID, abi::kGraphEntryId);
  ASM_CONSTANT(GRAPH_EXIT_ID, abi::kGraphExitId);
  ASM_CONSTANT(GRAPH_EXIT_RECORD, in_ring(sizeof(abi::GraphExitRecord)));

  static_assert(offsetof(ProfileTable, counts) == 0 && offsetof(ProfileCount, hits) == 0);
  ASM_OFFSET(PROFILE_COUNTS, ProfileTable, counts);
  ASM_OFFSET(PROFILE_FUNCTIONS, ProfileTable, functions);
  ASM_OFFSET(PROFILE_NR_CPUS, ProfileTable, nr_cpus);
  ASM_OFFSET(PROFILE_SESSION, ProfileTable, session);
  ASM_SHIFT(PROFILE_COUNT_SHIFT, sizeof(ProfileCount));
  ASM_OFFSET(PROFILE_SUMS, ProfileCount, sum);
  ASM_CONSTANT(PROFILE_SUM_SIZE, sizeof ProfileCount{}.sum[0]);
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
