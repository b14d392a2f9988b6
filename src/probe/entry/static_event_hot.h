// SPDX-License-Identifier: MIT
//
// What static_event_entry.S and the code of static_event_code.cc end with: tail calls, so that
// `word`, where the return address into the program stands, is their stack pointer.
#pragma once

#include <cstdint>

#include "probe/probe_abi.h"

namespace patchbay {

struct HitCallback;

extern "C" {
#define PB_HIDDEN __attribute__((visibility("hidden")))
// The general way: whatever the program wants, in any thread.
PB_HIDDEN void static_event_offer(const SiteProgram* program, uint8_t* record, uint32_t size,
                                  const uint64_t* word, uint64_t fp);
// kCalls, kCallsAlways; the header is written.
PB_HIDDEN void static_event_call(const SiteProgram* program, uint8_t* record, uint32_t size,
                                 const uint64_t* word, uint64_t fp);
// The same where nothing stands between the hit and the callback any more. `tid`: what the header
// says. The other one is for a thread that has no slot, or is in a callback already.
PB_HIDDEN void static_event_callback(HitCallback* callback, uint8_t* record, uint32_t size,
                                     uint32_t tid);
PB_HIDDEN void static_event_first_callback(HitCallback* callback, uint8_t* record, uint32_t size,
                                           uint32_t tid);
// patchbay_event.hit of a program that is kCallsAlways.
PB_HIDDEN void static_event_calls(patchbay_event* event, void* record, uint32_t size);
// The header is written and the filter passed; the thread has rseq.
PB_HIDDEN void static_event_publish(const EventProgram* event, uint8_t* record, uint32_t size);
// No function: the header is written, the event's own filter is next. rdi: the SiteProgram, r8: the
// EventProgram, rsi: the record, edx: its size.
PB_HIDDEN void static_event_wanted();
#undef PB_HIDDEN
}

}  // namespace patchbay
