// SPDX-License-Identifier: MIT
//
// Functions of the program itself that are called at hits: tracers of its own
// (register_ftrace_function) and subscriptions to events.
//
//   hit ── enter ── callback_call_* ── the program's function ── leave
//           |          |  its vector registers are kept: it is compiled as any other code
//           |          '- none at a static event, which is a call itself; those of arguments at a
//           |             function's entry; all of them elsewhere
//           '- no: this thread is in a callback already (counted), it is off, or this is a forked
//              child
//
// A callback that calls what it is attached to is not called again; other consumers of that hit go
// on. Whoever takes a callback away waits until no thread is in it: `entered` and `left` are
// counted by each CPU for itself (probe/hit_counter.h), `off` is looked at in between, and
// membarrier() stands for the fences that the hit does not have.
#pragma once

#include <cstdint>

#include "fetch/fetch_abi.h"

namespace patchbay {

// Vector registers that are the program's while the callback runs.
enum class LiveVectors : uint8_t { kNone, kArguments, kAll };

// Never freed, used again. All but the counters is written while no thread is in it.
struct HitCallback {
  uint64_t function;  // of the program
  uint64_t argument;  // its ftrace_ops, or its subscription
  uint32_t off;       // atomic; 1: not called any more
  LiveVectors vectors;
  uint8_t reserved[3];
  uint64_t *entered, *left;  // counters of probe/hit_counter.h
  uint64_t missed;           // atomic; hits of a thread that was in a callback
};

// What a tracer's callback is given as its ftrace_regs.
struct CallbackRegisters {
  const FetchRegisters* registers;  // arg[], and the instruction
  const uint64_t* stack;            // where the return address stands
  uint64_t ip, parent_ip;
};

// What a subscription is given.
struct CallbackRecord {
  const void* record;  // with the common header; as long as the callback runs
  uint32_t size;
  uint32_t tid;
};

// At a function's entry: function(ip, parent_ip, argument, CallbackRegisters*).
void callback_at_entry(HitCallback* callback, const CallbackRegisters& registers);
// With the record of an event: function(CallbackRecord*, argument).
void callback_with_record(HitCallback* callback, const CallbackRecord& record);

extern "C" {
// Calls function(a, b, c, d) and leaves the vector registers as they were.
void callback_call_arguments(uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t function);
void callback_call_all(uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t function);

// What the processor has: 1, xgetbv tells which vector registers are in use. Else the registers of
// arguments are kept as all are.
extern uint8_t pb_callback_xinuse __attribute__((visibility("hidden")));
// Of the area for all registers: xsave's components, its size, and whether xsavec is there. Size 0:
// only xmm registers exist.
extern uint32_t pb_callback_components __attribute__((visibility("hidden")));
extern uint32_t pb_callback_area __attribute__((visibility("hidden")));
extern uint8_t pb_callback_xsavec __attribute__((visibility("hidden")));
// 1: this is the process that the callbacks are of, not a forked child.
extern uint8_t pb_callbacks_alive __attribute__((visibility("hidden")));
}

}  // namespace patchbay
