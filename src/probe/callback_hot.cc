// SPDX-License-Identifier: MIT
#include "probe/callback_hot.h"

#include "probe/hit_counter.h"
#include "ring_buffer/ring_set.h"

namespace patchbay {

extern "C" {
uint8_t pb_callback_xinuse;
uint32_t pb_callback_components;
uint32_t pb_callback_area;
uint8_t pb_callback_xsavec;
uint8_t pb_callbacks_alive;
}

namespace {

void leave(ProbeThread* thread, HitCallback* callback) {
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  count_hit(callback->left);
  thread->callback = nullptr;
}

// True: leave() has to follow.
inline bool enter(ProbeThread* thread, HitCallback* callback) {
  if (__builtin_expect(!pb_callbacks_alive, 0)) return false;
  if (__builtin_expect(thread->callback != nullptr, 0)) {
    __atomic_fetch_add(&callback->missed, 1, __ATOMIC_RELAXED);
    return false;
  }
  thread->callback = callback;
  count_hit(callback->entered);
  __atomic_signal_fence(__ATOMIC_SEQ_CST);  // the processor's: membarrier() of take_away()
  if (__builtin_expect(!__atomic_load_n(&callback->off, __ATOMIC_ACQUIRE), 1)) return true;
  leave(thread, callback);
  return false;
}

using Function = void (*)(uint64_t, uint64_t, uint64_t, uint64_t);

inline void call(HitCallback* callback, uint64_t a, uint64_t b, uint64_t c, uint64_t d) {
  switch (callback->vectors) {
    case LiveVectors::kNone:
      return reinterpret_cast<Function>(callback->function)(a, b, c, d);
    case LiveVectors::kArguments:
      if (__builtin_expect(pb_callback_xinuse, 1))
        return callback_call_arguments(a, b, c, d, callback->function);
      [[fallthrough]];
    case LiveVectors::kAll:
      return callback_call_all(a, b, c, d, callback->function);
  }
}

uint64_t address_of(const void* object) { return reinterpret_cast<uint64_t>(object); }

}  // namespace

void callback_at_entry(HitCallback* callback, const CallbackRegisters& registers) {
  ProbeThread* thread = &pb_thread;
  if (!enter(thread, callback)) return;
  call(callback, registers.ip, registers.parent_ip, callback->argument, address_of(&registers));
  leave(thread, callback);
}

void callback_with_record(HitCallback* callback, const CallbackRecord& record) {
  ProbeThread* thread = &pb_thread;
  if (!enter(thread, callback)) return;
  call(callback, address_of(&record), callback->argument, 0, 0);
  leave(thread, callback);
}

}  // namespace patchbay
