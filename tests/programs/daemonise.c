// SPDX-License-Identifier: MIT
// Becomes a daemon the old way: two forks, a session, every descriptor closed, 0 to 2 opened again.
// The answer comes back through shared memory.
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "traced.h"

static volatile int* answer;

static void be_a_daemon(void) {
  setsid();
  if (fork() != 0) _exit(0);
  if (chdir("/") != 0) _exit(1);
  for (int fd = 0; fd < 1024; ++fd) close(fd);
  int right = open("/dev/null", O_RDWR) == 0;
  right += dup(0) == 1;
  right += dup(0) == 2;
  right += open("/dev/null", O_RDONLY) == 3;
  for (int k = 0; k < 1000; ++k) traced(k);
  answer[1] = right;
  answer[0] = 1;
  _exit(0);
}

int main(void) {
  answer = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  traced(0);
  pid_t pid = fork();
  if (pid == 0) be_a_daemon();
  waitpid(pid, 0, 0);
  for (int i = 0; i < 5000 && !answer[0]; ++i) usleep(1000);
  printf("daemonise: done %d, %d descriptors as expected\n", answer[0], answer[1]);
  return 0;
}
