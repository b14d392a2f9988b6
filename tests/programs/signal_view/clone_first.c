// SPDX-License-Identifier: MIT
// A child of clone() runs on the thread-local storage of the thread that made it, and calls what is
// traced before that thread does. Each has a CPU of its own, where there are two.
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

__attribute__((noinline)) int work(int n) {
  __asm__ volatile("" : "+r"(n));
  return n * 3 + 1;
}
static _Alignas(16) char stack[65536];
static cpu_set_t cpus;

// The first one that there is from `from` on.
static int stays_on(int from) {
  cpu_set_t one;
  int cpu = from;
  while (cpu < CPU_SETSIZE && !CPU_ISSET(cpu, &cpus)) cpu++;
  if (cpu == CPU_SETSIZE) return -1;
  CPU_ZERO(&one);
  CPU_SET(cpu, &one);
  return sched_setaffinity(0, sizeof one, &one) ? -1 : cpu;
}
static int child(void* from) {
  stays_on((int)(long)from);
  for (int i = 0; i < 10; i++) work(1000);
  return 0;
}

static void* parent(void* unused) {
  const int cpu = stays_on(0);
  const int made = clone(child, stack + sizeof stack, CLONE_VM | CLONE_VFORK | SIGCHLD,
                         (void*)(long)(cpu + 1));
  int status = 1;
  waitpid(made, &status, 0);
  for (int i = 0; i < 100; i++) work(i);
  printf("parent %ld %d\n", syscall(SYS_gettid), cpu);
  return status ? 0 : &cpus;
}

int main(void) {
  pthread_t thread;
  void* result = 0;
  sched_getaffinity(0, sizeof cpus, &cpus);
  pthread_create(&thread, 0, parent, 0);
  pthread_join(thread, &result);
  return !result;
}
