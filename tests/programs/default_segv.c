// SPDX-License-Identifier: MIT
// Dies of its own fault: the shell must see the signal, 139, as without a tracer.
#include <stdio.h>
#include <sys/prctl.h>

#include "traced.h"

int main(void) {
  prctl(PR_SET_DUMPABLE, 0);
  printf("default_segv: %d\n", traced(1));
  fflush(stdout);
  volatile long address = 16;
  *(volatile int*)address = traced(2);
  return 0;
}
