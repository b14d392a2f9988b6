// SPDX-License-Identifier: MIT
// Children that do what not every child does: they close everything and change their root, want to
// be alone, leave by a raw system call, come from several threads or a signal handler.
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "traced.h"

static int calls(int count) {
  int sum = 0;
  for (int i = 0; i < count; ++i) sum += traced(i) - i;
  return sum;
}

static int end_of(pid_t pid) {
  int status;
  return waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void *fork_some(void *good) {
  for (int i = 0; i < 20; ++i) {
    pid_t pid = fork();
    if (pid == 0) _exit(calls(50));
    if (end_of(pid) == 50) ++*(int *)good;
  }
  return 0;
}

static volatile int from_handler = -1;
static void fork_here(int sig) {
  (void)sig;
  pid_t pid = fork();
  if (pid == 0) _exit(calls(60));
  from_handler = end_of(pid);
}

int main(void) {
  pid_t pid = fork();
  if (pid == 0) {
    for (int fd = 0; fd < 100; ++fd) close(fd);
    int failed = chroot("/proc") && geteuid() == 0;
    if (setgid(12345) && geteuid() == 0) failed = 1;
    _exit(failed ? 99 : calls(10));
  }
  const int closed = end_of(pid);
  pid = fork();
  if (pid == 0) _exit(unshare(CLONE_NEWUSER) * 0 + calls(20));
  const int alone = end_of(pid);
  // What it may do in a process of one thread.
  pid = fork();
  if (pid == 0) _exit(unshare(CLONE_SIGHAND | CLONE_VM) ? 1 : calls(30));
  const int single = end_of(pid);
  pid = fork();
  if (pid == 0) {
    calls(10);
    syscall(SYS_exit, 40);
  }
  const int raw = end_of(pid);
  int good[4] = {0};
  pthread_t threads[4];
  for (int i = 0; i < 4; ++i) pthread_create(&threads[i], 0, fork_some, &good[i]);
  for (int i = 0; i < 4; ++i) pthread_join(threads[i], 0);
  signal(SIGUSR1, fork_here);
  raise(SIGUSR1);
  printf("fork_strange: %d %d %d %d, %d of 80, %d\n", closed, alone, single, raw,
         good[0] + good[1] + good[2] + good[3], from_handler);
  return 0;
}
