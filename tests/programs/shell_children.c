// SPDX-License-Identifier: MIT
// system, popen and posix_spawn from a traced program.
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "traced.h"

extern char** environ;

int main(void) {
  int good = 0;
  for (int i = 0; i < 5; ++i) {
    good += WEXITSTATUS(system("exit 4")) == 4;
    char line[64] = "";
    FILE* pipe = popen("echo from a pipe", "r");
    if (fgets(line, sizeof line, pipe)) good += strcmp(line, "from a pipe\n") == 0;
    pclose(pipe);
    pid_t pid;
    char* arguments[] = {"true", 0};
    int status = -1;
    if (posix_spawnp(&pid, "true", 0, 0, arguments, environ) == 0) waitpid(pid, &status, 0);
    good += status == 0 && traced(i) == i + 1;
  }
  printf("shell_children: %d of 15\n", good);
  return 0;
}
