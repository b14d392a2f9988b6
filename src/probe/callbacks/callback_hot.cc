// SPDX-License-Identifier: MIT
#include "probe/callbacks/callback_hot.h"

#include "base/raw_syscall.h"
#include "ring_buffer/ring_set.h"

namespace patchbay {

extern "C" {
CallbackSlot* pb_callback_slots;
uint32_t pb_callback_slots_used;
uint8_t pb_callback_xinuse;
uint32_t pb_callback_components;
uint32_t pb_callback_area;
uint8_t pb_callback_xsavec;
uint8_t pb_callbacks_alive;
}

__attribute__((noinline, cold)) CallbackSlot* callback_take_slot(ProbeThread* thread) {
  if (!pb_callbacks_alive) return nullptr;
  const auto tid = uint32_t(raw_syscall(SYS_gettid));
  for (uint32_t i = 0; i < kCallbackSlots; i++) {
    CallbackSlot* slot = &pb_callback_slots[i];
    uint32_t nobody = 0;
    if (__atomic_load_n(&slot->tid, __ATOMIC_RELAXED)) continue;
    if (!__atomic_compare_exchange_n(&slot->tid, &nobody, tid, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_RELAXED))
      continue;
    uint32_t used = __atomic_load_n(&pb_callback_slots_used, __ATOMIC_RELAXED);
    while (used <= i && !__atomic_compare_exchange_n(&pb_callback_slots_used, &used, i + 1, false,
                                                     __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
      continue;
    return thread->callback_slot = slot;
  }
  return nullptr;
}

namespace {

using Function = void (*)(uint64_t, uint64_t, uint64_t, uint64_t);

inline void call(const HitCallback* callback, LiveVectors live, uint64_t a, uint64_t b, uint64_t c,
                 uint64_t d) {
  switch (live) {
    case LiveVectors::kNone:
    case LiveVectors::kUntouched:
      return reinterpret_cast<Function>(callback->function)(a, b, c, d);
    case LiveVectors::kAtEntry:
      if (__builtin_expect(pb_callback_xinuse, 1))
        return callback_call_entry(a, b, c, d, callback->function);
      [[fallthrough]];
    case LiveVectors::kAll:
      return callback_call_all(a, b, c, d, callback->function);
  }
}

uint64_t address_of(const void* object) { return reinterpret_cast<uint64_t>(object); }

}  // namespace

void callback_at_entry(HitCallback* callback, const CallbackRegisters& registers) {
  CallbackSlot* slot = callback_enter(callback);
  if (!slot) return;
  call(callback, callback->vectors, registers.ip, registers.parent_ip, callback->argument,
       address_of(&registers));
  callback_leave(slot);
}

void callback_with_record(HitCallback* callback, const CallbackRecord& record, bool at_entry) {
  CallbackSlot* slot = callback_enter(callback);
  if (!slot) return;
  const bool arguments = callback->vectors == LiveVectors::kAll && at_entry;
  call(callback, arguments ? LiveVectors::kAtEntry : callback->vectors, address_of(&record),
       callback->argument, 0, 0);
  callback_leave(slot);
}

void callback_thread_ends() {
  CallbackSlot* slot = pb_thread.callback_slot;
  if (!slot || !pb_callbacks_alive) return;  // a forked child's is its parent's
  pb_thread.callback_slot = nullptr;
  __atomic_store_n(&slot->running, nullptr, __ATOMIC_RELAXED);
  __atomic_store_n(&slot->tid, 0, __ATOMIC_RELEASE);
}

}  // namespace patchbay
