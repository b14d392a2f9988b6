// SPDX-License-Identifier: MIT
// Reads of the clock are faults: PR_TSC_SIGSEGV and strict seccomp, by prctl() and by the raw
// system call, in children and in a thread.
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "traced.h"

static int by_prctl(int option, unsigned long value) { return prctl(option, value, 0, 0, 0); }
static int by_system_call(int option, unsigned long value) {
  return (int)syscall(SYS_prctl, option, value, 0, 0, 0);
}

// How a child ends that forbids itself the clock and calls.
static int child(int (*change)(int, unsigned long), int option, unsigned long value, int before) {
  const pid_t pid = fork();
  if (pid == 0) {
    for (int i = 0; i < before; ++i) traced(i);
    if (change(option, value) != 0) _exit(99);
    int good = 0;
    for (int i = 0; i < 100; ++i) good += traced(i) == i + 1;
    syscall(SYS_exit, good);
  }
  int status = 0;
  waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static void* run(void* argument) {
  for (int i = 0; i < 100; ++i) traced(i);
  return argument;
}

int main(void) {
  printf("no_clock: tsc %d", child(by_prctl, PR_SET_TSC, PR_TSC_SIGSEGV, 0));
  printf(" %d", child(by_prctl, PR_SET_TSC, PR_TSC_SIGSEGV, 10));
  printf(" %d", child(by_system_call, PR_SET_TSC, PR_TSC_SIGSEGV, 10));
  printf(", strict %d", child(by_prctl, PR_SET_SECCOMP, SECCOMP_MODE_STRICT, 0));
  printf(" %d", child(by_prctl, PR_SET_SECCOMP, SECCOMP_MODE_STRICT, 10));
  printf(" %d", child(by_system_call, PR_SET_SECCOMP, SECCOMP_MODE_STRICT, 10));
  fflush(stdout);
  by_system_call(PR_SET_TSC, PR_TSC_SIGSEGV);
  pthread_t thread;  // which has this from its creator
  pthread_create(&thread, 0, run, 0);
  pthread_join(thread, 0);
  prctl(PR_SET_TSC, PR_TSC_ENABLE, 0, 0, 0);
  for (int i = 0; i < 100; ++i) traced(i);
  printf(", thread %d\n", traced(41));
  return 0;
}
