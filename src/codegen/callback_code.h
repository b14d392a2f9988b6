// SPDX-License-Identifier: MIT
//
// Subscriptions to a function's event as code, where they are all that is asked of it and nobody
// records it: what pass_triggered() and callback_with_record() do (probe/triggers/trigger_hot.h,
// probe/callbacks/callback_hot.h), with everything constant folded in. The record is built on the
// stack, in a frame of its own, because a handler that hits the same function has another one:
//
//     rsp + kCallbackFrame   the program's stack pointer
//                            128 bytes as CodeFrame has them: what is spent, what texts spill
//                            the record
//                            registers that only the callback spends, and the thread's slot
//     rsp                    CallbackRecord, which the callback is given; a multiple of 16
//
//     a slot for the thread; none -> unusual     ---- sequence ----
//     2 KiB of stack are there (probe/stack_touch.h)
//     the record (codegen/record_code.h)         ---- end ----
//     for each callback: already in one? count it; enter; off? else call it; leave
//
// Half of a latency pair is called in the same way, but that no thread is in it, so that it has no
// slot: a handler that hits the function meanwhile is counted too.
//
// A load that faults, also that of the stack, leaves the sequence, and so does whoever is
// interrupted in it. Nothing is done by then: what goes the general way is done there as a whole.
#pragma once

#include <cstdint>
#include <vector>

#include "codegen/code_frame.h"

namespace patchbay {

struct HitCallback;

// The callbacks that are the only triggers of an event that nobody records. Empty where there can
// be no code: there are other triggers, or threads that do not count; several have filters; fields
// cannot be compiled. A null alone: half of a latency pair (hist/hist_pair.h) is the only trigger.
std::vector<const HitCallback*> callback_code(const SiteEvent& event);

// All that the code depends on beside the fetch program: equal words, equal code.
std::vector<uint64_t> callback_code_words(const std::vector<const HitCallback*>& callbacks);

// Emits the record and the calls, each through its one of `calls`, which lead to
// callback_from_code(). reg::kSpent are saved. The code goes on behind it, with the stack pointer
// as it was. The caller puts the abort of the sequence, which may fault, in front of
// emit_no_callbacks().
void emit_callbacks(const CodeFrame& frame, const std::vector<const HitCallback*>& callbacks,
                    const Sequence& sequence, const CallOut* calls, const Label& unusual);
// Where the code goes on at `unusual`: the stack pointer comes back.
void emit_no_callbacks(Emitter& out, const Label& unusual);

}  // namespace patchbay
