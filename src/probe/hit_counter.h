// SPDX-License-Identifier: MIT
//
// Exact counters without a locked instruction. A counter is one word in each row of a table; a CPU
// adds to its own row, in a restartable sequence whose last instruction is the addition. The last
// row is for threads without rseq and for sequences that were aborted, which add with a lock.
//
//     row of CPU 0     | counter 0 | counter 1 | …          kHitRowSize bytes a row
//     row of CPU 1     | counter 0 | counter 1 | …
//     …
//     row nr_cpus      | counter 0 | counter 1 | …          locked
//
// The table is shared with forked children, as the rings are.
#pragma once

#include <cstdint>

namespace patchbay {

inline constexpr uint64_t kHitRowSize = uint64_t{512} << 10;

// Control side. A counter at 0, or null when there is no memory (or 65536 are in use). Never given
// back.
uint64_t* new_hit_counter();
uint64_t read_hit_counter(const uint64_t* counter);

extern "C" {
// Traced thread: counter += 1.
void count_hit(uint64_t* counter);

// Bytes from a counter to its word in the locked row; 0 before the first counter was made.
extern uint64_t pb_locked_row __attribute__((visibility("hidden")));
}

}  // namespace patchbay
