// SPDX-License-Identifier: MIT
// probe/callbacks/asm_offsets.h: what a callback is called with.
#include "hot/asm_offset.h"
#include "probe/callbacks/callback_hot.h"

namespace patchbay {

[[gnu::used]] static void callbacks() {
  ASM_OFFSET(CALLBACK_FUNCTION, HitCallback, function);
  ASM_OFFSET(CALLBACK_ARGUMENT, HitCallback, argument);
  ASM_OFFSET(CALLBACK_OFF, HitCallback, off);
  static_assert(offsetof(CallbackSlot, running) == 0 && offsetof(CallbackRecord, record) == 0);
  ASM_OFFSET(CALLBACK_RECORD_SIZE, CallbackRecord, size);
  ASM_OFFSET(CALLBACK_RECORD_TID, CallbackRecord, tid);
  ASM_CONSTANT(CALLBACK_FRAME, kCallbackFrame);
}

}  // namespace patchbay
