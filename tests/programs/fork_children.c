// SPDX-License-Identifier: MIT
// Children of fork call the traced function; each must do it right and end well. The first process
// ends last: what a recording has does not depend on who was faster.
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "traced.h"

int main(void) {
  int good = 0, alive[2];  // a pipe that has writers as long as there are others
  if (pipe(alive)) return 1;
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
  char none;
  close(alive[1]);
  if (read(alive[0], &none, 1) != 0) return 1;
  printf("fork_children: %d of 8\n", good);
  return 0;
}
