// SPDX-License-Identifier: MIT
#pragma once

#include "hot/thread_block.h"

namespace patchbay {

// The calling thread's block; it takes one if it has none yet. Null: there is none left, or no
// memory for more. Async-signal-safe, no lock, no malloc. For slow ways, not for hits: a thread's
// first call may look at many blocks.
ThreadBlock* thread_block();

}  // namespace patchbay
