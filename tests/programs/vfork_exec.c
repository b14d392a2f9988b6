// SPDX-License-Identifier: MIT
// A vfork child has its parent's memory and thread pointer; it calls the traced function and execs.
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "traced.h"

int main(void) {
  volatile int good = 0;
  volatile int in_child = 0;
  for (volatile int i = 0; i < 10; ++i) {
    pid_t pid = vfork();
    if (pid == 0) {
      in_child += traced(i) == i + 1;
      execl("/bin/true", "true", (char*)0);
      _exit(1);
    }
    int status;
    waitpid(pid, &status, 0);
    good += status == 0 && traced(i) == i + 1;
  }
  printf("vfork_exec: %d of 10, %d in the child\n", good, in_child);
  return 0;
}
