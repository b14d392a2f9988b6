// SPDX-License-Identifier: MIT
//
// Functions of the program itself that are called at hits: tracers of its own
// (register_ftrace_function) and subscriptions to events.
//
//   hit ── enter ── callback_call_* ── the program's function ── leave
//           |          |  vector registers are kept: it is compiled as any other code
//           |          '- none at a static event, which is a call itself; quicker at a function's
//           |             entry, where the x87 stack is empty (callback_call.S)
//           '- no: this thread is in a callback already (counted), it is off, or this is a forked
//              child
//
// A callback that calls what it is attached to is not called again; other consumers of that hit go
// on. Whoever takes a callback away waits until no thread is in it. Each thread says in a slot of
// its own which callback it is in, then looks at `off`; who has set `off` looks at the slots, and
// membarrier() in between stands for the fences that the hit does not have.
//
// Budget (docs/invariants.md): one subscriber of a static event 0.7 x floor.
#pragma once

#include <cstdint>

#include "fetch/fetch_abi.h"
#include "ring_buffer/ring_set.h"

namespace patchbay {

// Vector registers that are the program's while the callback runs: none in a call of its own; or it
// has said that the callback leaves them alone.
enum class LiveVectors : uint8_t { kNone, kAtEntry, kAll, kUntouched };

// Never freed, but used again for the same function and argument.
struct HitCallback {
  uint64_t function;  // of the program
  uint64_t argument;  // its ftrace_ops, or its subscription
  uint32_t off;       // atomic; 1: not called any more
  LiveVectors vectors;
  uint8_t reserved[3];
  uint64_t missed;  // atomic; hits of a thread that was in a callback, or has no slot
};

// Of one thread, from its first callback to its end.
struct alignas(64) CallbackSlot {
  const HitCallback* running;  // atomic; null: none
  uint32_t tid;                // atomic; 0: free
};
inline constexpr uint32_t kCallbackSlots = 16384;  // threads beyond have no callbacks, counted

// What a tracer's callback is given as its ftrace_regs.
struct CallbackRegisters {
  const FetchRegisters* registers;  // arg[] alone
  const uint64_t* stack;            // where the return address stands
  uint64_t ip, parent_ip;
};

// What a subscription is given.
struct CallbackRecord {
  const void* record;  // with the common header; as long as the callback runs
  uint32_t size;
  uint32_t tid;
};

inline constexpr int kCallbackFrame = 296;

// A free slot for the thread; null: there is none, or this is a forked child.
CallbackSlot* callback_take_slot(ProbeThread* thread);

inline void callback_leave(CallbackSlot* slot) {
  __atomic_store_n(&slot->running, nullptr, __ATOMIC_RELEASE);
}

// The slot of the thread, which callback_leave() has to be called with; null: not to be called.
inline CallbackSlot* callback_enter(HitCallback* callback) {
  CallbackSlot* slot = pb_thread.callback_slot;
  if (__builtin_expect(!slot, 0)) slot = callback_take_slot(&pb_thread);
  if (__builtin_expect(!slot || slot->running, 0)) {
    __atomic_fetch_add(&callback->missed, 1, __ATOMIC_RELAXED);
    return nullptr;
  }
  __atomic_store_n(&slot->running, callback, __ATOMIC_RELAXED);
  __atomic_signal_fence(__ATOMIC_SEQ_CST);  // the processor's: fence_everywhere() of switch_off()
  if (__builtin_expect(!__atomic_load_n(&callback->off, __ATOMIC_ACQUIRE), 1)) return slot;
  callback_leave(slot);
  return nullptr;
}

// At a function's entry: function(ip, parent_ip, argument, CallbackRegisters*).
void callback_at_entry(HitCallback* callback, const CallbackRegisters& registers);
// With the record of an event: function(CallbackRecord*, argument). `at_entry`: of a function,
// where only the registers of arguments are live.
void callback_with_record(HitCallback* callback, const CallbackRecord& record, bool at_entry);
// The same where the hit is a call of the program's (LiveVectors::kNone).
inline void callback_from_call(HitCallback* callback, const CallbackRecord& record) {
  CallbackSlot* slot = callback_enter(callback);
  if (__builtin_expect(!slot, 0)) return;
  reinterpret_cast<void (*)(const CallbackRecord*, uint64_t)>(callback->function)(
      &record, callback->argument);
  callback_leave(slot);
}

// The thread ends: its slot is free for another one.
void callback_thread_ends();

extern "C" {
// kCallbackSlots of them; the first `used` ones may be taken.
extern CallbackSlot* pb_callback_slots __attribute__((visibility("hidden")));
extern uint32_t pb_callback_slots_used __attribute__((visibility("hidden")));

// Calls function(a, b, c, d) and leaves the vector registers as they were.
void callback_call_entry(uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t function);
void callback_call_all(uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t function);
// Calls rax for generated code, whose frame at a function's entry has kCallbackFrame bytes
// (codegen/callback_code.h). It is there for unwinders: the way on leads past that code.
void callback_from_code();

// What the processor has: 1, xgetbv tells which vector registers are in use.
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
