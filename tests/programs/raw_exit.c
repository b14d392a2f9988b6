// SPDX-License-Identifier: MIT
// The only thread of the program leaves by the system call exit, which libc does not see.
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "traced.h"

int main(void) {
  for (int i = 0; i < 1000; i++) traced(i);
  printf("raw_exit: leaves\n");
  fflush(stdout);
  syscall(SYS_exit, 3);
}
