// SPDX-License-Identifier: MIT
// Ends in a constructor: main never runs, no destructor runs, nothing is flushed.
#include <unistd.h>

#include "traced.h"

__attribute__((constructor)) static void leave(void) {
  traced(1);
  if (write(1, "exit_early: gone\n", 17) != 17) _exit(1);
  _exit(3);
}

int main(void) { return 0; }
