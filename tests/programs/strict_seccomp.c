// SPDX-License-Identifier: MIT
// After this prctl() the thread has the system calls read, write, exit and sigreturn: it leaves by
// exit.
#include <linux/seccomp.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "traced.h"

int main(void) {
  for (int i = 0; i < 1000; i++) traced(i);
  static const char text[] = "strict_seccomp: leaves\n";
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) != 0) return 1;
  if (write(STDOUT_FILENO, text, sizeof text - 1) < 0) syscall(SYS_exit, 2);
  syscall(SYS_exit, 7);
}
