// SPDX-License-Identifier: MIT
// fork inside a hooked function returns in both processes; a vfork child calls hooked functions on
// its parent's stack, then is replaced or ends.
// probe: ret_fork ret_vfork ret_exec ret_leaf
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "return_program.h"

extern "C" {
KEEP int ret_leaf(int n) { return n + 1; }
KEEP pid_t ret_fork(int n) {
  pid_t pid = fork();
  if (pid == 0 && ret_leaf(n) != n + 1) abort();
  return pid;
}
KEEP void ret_exec(const char* path, int n) {
  ret_leaf(n);
  char* arguments[] = {(char*)path, nullptr};
  execv(path, arguments);
  _exit(9);
}
KEEP int ret_vfork(const char* path, int n) {
  pid_t pid = vfork();
  if (pid == 0) {
    if (path) ret_exec(path, n);
    _exit(ret_leaf(n));
  }
  int status = 0;
  waitpid(pid, &status, 0);
  return WEXITSTATUS(status);
}
}

int main() {
  gate();
  int sum = 0;
  for (int i = 0; i < 20; i++) {
    pid_t pid = ret_fork(i);
    if (pid == 0) _exit(ret_leaf(i) == i + 1 ? i : 99);
    int status = 0;
    waitpid(pid, &status, 0);
    sum += WEXITSTATUS(status);
    sum += 100 * ret_vfork("/bin/false", i);
    sum += 1000 * ret_vfork(nullptr, i);
    sum += 10000 * ret_leaf(i);
  }
  printf("calls ret_vfork 40\n");
  printf("sum %d\n", sum);
  gate();
}
