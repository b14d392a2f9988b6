// SPDX-License-Identifier: MIT
// Aborts after some calls. The shell sees status 134; what was recorded is kept.
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>

#include "traced.h"

int main(void) {
  prctl(PR_SET_DUMPABLE, 0);  // no core file
  for (int i = 0; i < 1000; ++i) traced(i);
  printf("abort_late: 1000\n");
  fflush(stdout);
  abort();
}
