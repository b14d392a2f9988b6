// SPDX-License-Identifier: MIT
// probe/callbacks/asm_offsets.h: what a callback is called with.
#include "hot/asm_offset.h"
#include "probe/callbacks/callback_hot.h"

namespace patchbay {

[[gnu::used]] static void callbacks() {
  ASM_OFFSET(CALLBACK_FUNCTION, HitCallback, function);
  ASM_OFFSET(CALLBACK_ARGUMENT, HitCallback, argument);
  ASM_OFFSET(CALLBACK_OFF, HitCallback, off);
  ASM_OFFSET(CALLBACK_VECTORS, HitCallback, vectors);
  ASM_CONSTANT(VECTORS_UNTOUCHED, LiveVectors::kUntouched);
  static_assert(offsetof(CallbackSlot, running) == 0 && offsetof(CallbackRecord, record) == 0);
  ASM_OFFSET(CALLBACK_RECORD_SIZE, CallbackRecord, size);
  ASM_OFFSET(CALLBACK_RECORD_TID, CallbackRecord, tid);
  ASM_CONSTANT(CALLBACK_FRAME, kCallbackFrame);
  ASM_OFFSET(CALLBACK_REGISTERS, CallbackRegisters, registers);
  ASM_OFFSET(CALLBACK_STACK, CallbackRegisters, stack);
  ASM_OFFSET(CALLBACK_IP, CallbackRegisters, ip);
  ASM_OFFSET(CALLBACK_PARENT_IP, CallbackRegisters, parent_ip);
  ASM_CONSTANT(CALLBACK_REGISTERS_SIZE, sizeof(CallbackRegisters));
}

}  // namespace patchbay
