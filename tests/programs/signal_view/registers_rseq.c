// SPDX-License-Identifier: MIT
// A program that has told libc to register no area for restartable sequences, because it registers
// its own: in some threads before they call anything that is traced, in others after that. Each
// registration has to be taken, and to work. With an argument it first waits for a line.
// build: cc -O2 registers_rseq.c -lpthread
// events: work(int n)
#define _GNU_SOURCE
#include <errno.h>
#include <linux/rseq.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { kSignature = 0x53053053, kSize = 32 };
static __thread _Alignas(32) volatile struct rseq area;

__attribute__((noinline)) int work(int n) {
  __asm__ volatile("" : "+r"(n));
  return n * 3 + 1;
}
static int calls(void) {
  int sum = 0;
  for (int i = 0; i < 1000; i++) sum += work(i);
  return sum == 1499500;
}
static int registers(void) {
  area.cpu_id = (uint32_t)-1;
  if (syscall(SYS_rseq, &area, kSize, 0, kSignature)) return 0;
  usleep(1000);
  if (area.cpu_id == (uint32_t)-1) return 0;  // the kernel does not write there
  return syscall(SYS_rseq, &area, kSize, 0, kSignature) == -1 && errno == EBUSY;
}
static int unregisters(void) {
  return !syscall(SYS_rseq, &area, kSize, RSEQ_FLAG_UNREGISTER, kSignature);
}
static void* thread(void* argument) {
  const long kind = (long)argument;
  long good = 1;
  if (kind & 1) good &= registers();
  good &= calls();
  if (!(kind & 1)) good &= registers();
  good &= calls() && unregisters() && calls();
  if (kind & 2) good &= registers() && calls();
  return (void*)good;
}

int main(int argc, char** argv) {
  char line[16];
  const char* tunables = getenv("GLIBC_TUNABLES");
  if (!tunables || !strstr(tunables, "rseq=0")) {
    setenv("GLIBC_TUNABLES", "glibc.pthread.rseq=0", 1);
    return execv("/proc/self/exe", argv), 8;
  }
  if (argc > 1 && !fgets(line, sizeof line, stdin)) return 9;
  int good = 0;
  for (long i = 0; i < 64; i++) {
    pthread_t made;
    void* result = 0;
    pthread_create(&made, 0, thread, (void*)i), pthread_join(made, &result);
    good += result != 0;
  }
  printf("threads: %d of 64\n", good);
  good = calls() && registers() && calls();
  printf("main: %d\n", good);
  fflush(stdout);
  const pid_t child = fork();
  if (child == 0) _exit(!(calls() && unregisters() && calls() && registers()));
  int status = 1;
  waitpid(child, &status, 0);
  printf("a child: %d\n", status == 0);
  return 0;
}
