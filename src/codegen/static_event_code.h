// SPDX-License-Identifier: MIT
//
// Machine code for the hits of one static event: static_event_entry.S with what is known at this
// time folded in, which is nearly all of it. It decides whether there is anything to do; what is to
// be done, others do.
#pragma once

#include "filter/filter_code.h"
#include "probe/probe_abi.h"

namespace patchbay {

using StaticEventHit = void (*)(patchbay_event* event, void* record, uint32_t size);

// For patchbay_event.hit while the event has this program, which the code is for: it does not look
// at patchbay_event.program. Empty where static_event_hit() is as good, or there is no memory.
FilterCode static_event_code(const SiteProgram& program);

}  // namespace patchbay
