// SPDX-License-Identifier: MIT
//
// Makes and takes away callbacks (probe/callbacks/callback_hot.h). Under the agent's lock, but for
// wait_until_left().
#pragma once

#include <cstdint>

#include "base/result.h"
#include "probe/callbacks/callback_hot.h"

namespace patchbay {

// Null: no memory. The same function with the same argument is given what it had before.
HitCallback* make_callback(uint64_t function, uint64_t argument, LiveVectors vectors);

// What callback_call_all() has to keep on this processor; once is enough.
void look_at_vector_registers();

// From now on no hit calls it. A thread that is in it goes on.
void switch_off(HitCallback* callback);
// Until no thread is in it: then its code and its argument may go. EBUSY: some thread still was
// after `milliseconds`, or it is this one.
Status wait_until_left(const HitCallback* callback, uint32_t milliseconds);

// In a forked child: none is called there any more.
void callbacks_after_fork();

}  // namespace patchbay
