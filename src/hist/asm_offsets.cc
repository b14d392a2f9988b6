// SPDX-License-Identifier: MIT
// hist/asm_offsets.h: tables, and the halves of latency pairs.
#include <cstddef>

#include "hist/hist_pair.h"
#include "hist/hist_table_hot.h"
#include "hot/asm_offset.h"

namespace patchbay {

[[gnu::used]] static void asm_offsets() {
  ASM_OFFSET(HIST_SUMS, HistTable, sums);
  ASM_OFFSET(HIST_ROW_SIZE, HistTable, row_size);
  ASM_OFFSET(HIST_NR_CPUS, HistTable, nr_cpus);
  ASM_OFFSET(HIST_GENERATION, HistTable, generation);
  ASM_OFFSET(HIST_LOCKED_USERS, HistTable, locked_users);
  ASM_CONSTANT(HIST_MULTIPLIER_HIGH, int32_t(kHistMultipliers.of[0] >> 32));
  ASM_CONSTANT(HIST_MULTIPLIER_LOW, int32_t(kHistMultipliers.of[0]));
  ASM_CONSTANT(HIST_HASH_MULTIPLIER_HIGH, int32_t(kHistHashMultiplier >> 32));
  ASM_CONSTANT(HIST_HASH_MULTIPLIER_LOW, int32_t(kHistHashMultiplier));
  ASM_CONSTANT(HIST_TAG_SHIFT, kHistTagShift);
  ASM_CONSTANT(HIST_TAG_MASK, int32_t(kHistTagMask));
  ASM_CONSTANT(HIST_ENTRY_MASK, kHistEntryMask);
  ASM_CONSTANT(HIST_VALID, kHistValid);
  ASM_CONSTANT(HIST_KEY_AT, sizeof(uint64_t));  // behind the claim
  ASM_CONSTANT(HIST_FIRST_SUM, kHistSumsAt * sizeof(uint64_t));
  ASM_OFFSET(VARIABLE_SET, HistVariableWord, set);
  static_assert(offsetof(HistVariableWord, value) == 0);
}

[[gnu::used]] static void pair_halves() {
  ASM_OFFSET(HALF_KEY_AT, HistPairHalf, key_at);
  ASM_OFFSET(HALF_OWN, HistPairHalf, own);
  ASM_OFFSET(HALF_CLOCK, HistPairHalf, clock);
  ASM_OFFSET(HALF_SUMS, HistPairHalf, sums);
  ASM_OFFSET(HALF_ROW_SIZE, HistPairHalf, row_size);
  ASM_OFFSET(HALF_NR_CPUS, HistPairHalf, nr_cpus);
  ASM_OFFSET(HALF_IN_USECS, HistPairHalf, in_usecs);
  ASM_OFFSET(HALF_VARIABLE_AT, HistPairHalf, variable_at);
  ASM_OFFSET(HALF_OTHER, HistPairHalf, other);
  ASM_OFFSET(HALF_OTHER_AT, HistPairHalf, other_at);
  ASM_OFFSET(HALF_MASK, HistPairHalf, mask);
  ASM_OFFSET(HALF_TARGET, HistPairHalf, target);
  ASM_OFFSET(PAIR_SLOTS, HistPairTable, slots);
  ASM_OFFSET(PAIR_ENTRIES, HistPairTable, entries);
  ASM_OFFSET(PAIR_ENTRY_SIZE, HistPairTable, entry_size);
  ASM_OFFSET(PAIR_SLOT_MASK, HistPairTable, slot_mask);
  ASM_OFFSET(PAIR_TABLE, HistPairTable, table);
  ASM_OFFSET(CLOCK_TIME, HistClock, time);
  ASM_OFFSET(CLOCK_MULTIPLY, HistClock, multiply);
  ASM_OFFSET(CLOCK_SHIFT, HistClock, shift);
  static_assert(offsetof(HistClock, ticks) == 0);
  static_assert(offsetof(HistClock, is_monotonic) == offsetof(HistClock, shift) + 4);
}

}  // namespace patchbay
