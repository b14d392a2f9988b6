// SPDX-License-Identifier: MIT
#include "hot/rseq.h"

extern "C" {
int64_t pb_rseq_offset = 0;
}
