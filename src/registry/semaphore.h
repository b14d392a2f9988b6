// SPDX-License-Identifier: MIT
// The word that a program asks before it prepares what a tracepoint shows: a tracer that listens
// counts it up. (Semaphore of a USDT probe, reference counter of a uprobe.)
#pragma once

#include <cstdint>

namespace patchbay {

// `change` is 1 or -1. Nothing happens where the word's object is gone.
void count_semaphore(uint64_t address, int change);

}  // namespace patchbay
