// SPDX-License-Identifier: MIT
//
// The code of one place or return, as ProbeCode says: what is done in which order. What each step
// is in machine code is the emitter's (arch/emitter.h).
//
//     inside a function: the stack pointer steps over the red zone
//     saved below the stack: reg::kSpent (a function's entry has no red zone of its own to lose,
//                 and signal handlers keep off these 128 bytes); the flags, where they live
//     filters of triggers on registers (filter/filter_jit.h); one matches -> matched
//     of a mirror alone: somebody listens -> matched
//     off in soft mode? -> rejected
//     filter on registers, or on texts that they lead to; no match -> rejected; a fault -> matched
//     a function's caller is a return trampoline (probe/returns/return_hook.h)? -> slow
//     the record (codegen/publish_code.h), or the update of a histogram (hist_code.h), or the calls
//                 of subscribers (callback_code.h); anything unusual -> slow
//   count:                                   ---- a sequence of its own (probe/hit_counter.h) ----
//     hits[cpu] += 1
//     restore, jump to leave
//   slow:
//     restore
//   matched:
//     call probe_entry… with the site; jump to leave
//   rejected:
//     jump to leave if hits are not counted; else the same as count, with two registers saved
//   (data: struct rseq_cs and addresses)
//   leave:
//     where returns are hooked: probe_entry_hook with the site, which comes back to done
//   done:
//     inside a function: the stack pointer steps back
//
// An abort of the first sequence takes the slow path, which has its own bound. A load through a bad
// pointer makes such an abort, too (hot/fault.h). An abort of the second adds with a lock instead.
//
// The code of a return begins behind the trampoline, which has saved all (return_hook.S): the
// record, count, and on to pb_return_done; what is unusual goes on to pb_return_general. The code
// that takes what a whole call keeps begins likewise, behind probe_entry_hook: codegen/call_code.h;
// on to pb_take_done or pb_take_general.
#pragma once

#include "arch/emitter.h"
#include "codegen/probe_compile.h"

namespace patchbay {

// The code of a place, at whichever address it comes to stand. Values are those of CodeValue
// (codegen/code_frame.h). False when it does not fit.
bool generate_probe(const ProbeCode& code, GeneratedCode* made, uint16_t* stack_shape);

}  // namespace patchbay
