// SPDX-License-Identifier: MIT
// Children of fork call the traced function; each must do it right and end well.
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "traced.h"

int main(void) {
  int good = 0;
  for (int i = 0; i < 8; ++i) {
    pid_t pid = fork();
    if (pid == 0) {
      int sum = 0;
      for (int k = 0; k < 1000; ++k) sum += traced(k);
      if (i % 2 == 0 && fork() == 0) _exit(traced(1));  // a grandchild nobody waits for
      _exit(sum == 500500 ? 7 : 1);
    }
    traced(i);
    int status;
    if (waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 7) ++good;
  }
  printf("fork_children: %d of 8\n", good);
  return 0;
}
