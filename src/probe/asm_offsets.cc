// SPDX-License-Identifier: MIT
// probe/asm_offsets.h: sites and their programs, the frames of hits.
#include <patchbay/static_event_abi.h>

#include "hot/asm_offset.h"
#include "probe/hit_counter.h"
#include "probe/probe_abi.h"
#include "probe/stack_touch.h"

namespace patchbay {

[[gnu::used]] static void sites_and_programs() {
  ASM_OFFSET(SITE_RETURN_PROGRAM, CallSite, return_program);
  ASM_OFFSET(SITE_FUNCTION, CallSite, function);
  ASM_OFFSET(SITE_GRAPH, CallSite, graph);
  ASM_OFFSET(SITE_PROFILE, CallSite, profile);
  static_assert(offsetof(CallSite, program) == 0);
  ASM_OFFSET(PROGRAM_PLAIN, SiteProgram, plain);
  ASM_OFFSET(PROGRAM_CODE, SiteProgram, code);
  ASM_OFFSET(PROGRAM_RETURN_CODE, SiteProgram, return_code);
  ASM_OFFSET(PROGRAM_TAKE_CODE, SiteProgram, take_code);
  ASM_OFFSET(PROGRAM_EVENTS, SiteProgram, event[0].event);
  ASM_OFFSET(PROGRAM_IP, SiteProgram, event[0].ip);
  static_assert(offsetof(SiteProgram, nr_events) == 0);
  ASM_CONSTANT(ENTRY_CALLS, kEntryCalls);
  ASM_CONSTANT(ENTRY_CALLBACK, kEntryCallback);
  ASM_CONSTANT(HOOK_PLAIN, kHookPlain);
  ASM_CONSTANT(HOOK_CALLS, kHookCalls);
  ASM_CONSTANT(HOOK_GRAPH, kHookGraph);
  static_assert(kHookPlain < kHookCalls && kHookCalls < kHookGraph && kHookGraph < kHookProfile);
  ASM_CONSTANT(SITE_EVENT_SIZE, sizeof(SiteEvent));
  ASM_SHIFT(SITE_EVENT_SHIFT, sizeof(SiteEvent));
  static_assert(offsetof(EventProgram, rings) == 0);
  ASM_OFFSET(EVENT_FILTER, EventProgram, filter);
  ASM_OFFSET(EVENT_ID, EventProgram, id);
  ASM_OFFSET(EVENT_SOFT, EventProgram, soft);
  ASM_OFFSET(EVENT_TRIGGERS, EventProgram, triggers);
  ASM_OFFSET(EVENT_CALLBACK, EventProgram, callback);
  static_assert(offsetof(FilterProgram, code) == 0);
  ASM_SHIFT(HIT_ROW_SHIFT, kHitRowSize);
}

[[gnu::used]] static void static_events() {
  ASM_OFFSET(STATIC_EVENT_PROGRAM, patchbay_event, program);
}

[[gnu::used]] static void frames() {
  ASM_OFFSET(FRAME_XMM, ProbeFrame, registers.xmm);
  ASM_OFFSET(FRAME_REG, ProbeFrame, registers.reg);
  ASM_OFFSET(FRAME_ARG, ProbeFrame, registers.arg);
  ASM_OFFSET(FRAME_R10, ProbeFrame, r10);
  ASM_OFFSET(FRAME_R11, ProbeFrame, r11);
  ASM_OFFSET(FRAME_RAX, ProbeFrame, rax);
  ASM_OFFSET(FRAME_SITE, ProbeFrame, site);
  ASM_OFFSET(FRAME_WANTED, ProbeFrame, wanted);
  ASM_OFFSET(FRAME_STUB_RETURN, ProbeFrame, stub_return);
  ASM_CONSTANT(TOUCH_BELOW, StackTouch::kBelow);
  ASM_CONSTANT(TOUCH_FRAME, StackTouch::kFrame);
  ASM_CONSTANT(TOUCH_FRAME_RDI, StackTouch::kFrameRdi);
  ASM_CONSTANT(TOUCH_DEPTH, kStackTouchDepth);
}

}  // namespace patchbay
