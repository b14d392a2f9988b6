// SPDX-License-Identifier: MIT
// hot/asm_offsets.h: the restartable sequences of Linux, for hot/rseq.inc.
#include "hot/asm_offset.h"

#include <sys/rseq.h>

[[gnu::used]] static void asm_offsets() {
  ASM_CONSTANT(RSEQ_SIGNATURE, RSEQ_SIG);
  ASM_OFFSET(RSEQ_CPU_ID_START, struct rseq, cpu_id_start);
  ASM_OFFSET(RSEQ_CPU_ID, struct rseq, cpu_id);
  ASM_OFFSET(RSEQ_CS, struct rseq, rseq_cs);
}
