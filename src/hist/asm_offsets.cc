// SPDX-License-Identifier: MIT
// hist/asm_offsets.h: what hist_add.S knows of a table.
#include "hist/hist_table_hot.h"
#include "hot/asm_offset.h"

namespace patchbay {

[[gnu::used]] static void asm_offsets() {
  ASM_OFFSET(HIST_SUMS, HistTable, sums);
  ASM_OFFSET(HIST_ROW_SIZE, HistTable, row_size);
  ASM_OFFSET(HIST_NR_CPUS, HistTable, nr_cpus);
  ASM_OFFSET(HIST_GENERATION, HistTable, generation);
  ASM_OFFSET(HIST_LOCKED_USERS, HistTable, locked_users);
}

}  // namespace patchbay
