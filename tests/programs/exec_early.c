// SPDX-License-Identifier: MIT
// Executes another image of itself from a constructor, before main.
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "traced.h"

__attribute__((constructor)) static void again(void) {
  traced(1);
  if (getenv("EXEC_EARLY")) return;
  setenv("EXEC_EARLY", "1", 1);
  execl("/proc/self/exe", "exec_early", (char*)0);
  _exit(1);
}

int main(void) {
  printf("exec_early: %d\n", traced(41));
  return 0;
}
