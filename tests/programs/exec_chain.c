// SPDX-License-Identifier: MIT
// A process that is one program after the other: it calls a function N times, then executes itself
// with N + 1, until N is LAST. Then it ends with status 7. It prints what it has called.
//
//   exec_chain N LAST [WAY]
//     exec     by execv(); the usual way
//     thread   by a second thread, while a third one calls it as well
//     missing  tries programs that are not there before, and calls the function once for each
//     child    leaves a forked child behind, which calls it N times when its parent is the next
//              program; the last one waits for them all
//     stay     LAST calls it without end
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "traced.h"

static char number[16], *last = "3", *way = "exec";
static volatile int total, is_ready;

__attribute__((noinline)) int chain_call(int n);
__attribute__((noinline)) int chain_call(int n) {
  total++;
  __asm__ volatile("" : "+r"(n)::"memory");
  return n;
}

static void execute(void) {
  char* words[] = {"exec_chain", number, last, way, NULL};
  printf("%d calls\n", total);
  fflush(stdout);
  execv("/proc/self/exe", words);
  perror("exec_chain");
  _exit(1);
}

static void* execute_in_thread(void* unused) {
  while (!is_ready) usleep(100);
  execute();
  return unused;
}

static void* call_in_thread(void* unused) {
  for (int i = 0; i < 10; i++) chain_call(1000 + i);
  is_ready = 1;
  pause();
  return unused;
}

static void by_thread(void) {
  pthread_t caller, other;
  pthread_create(&caller, NULL, call_in_thread, NULL);
  pthread_create(&other, NULL, execute_in_thread, NULL);
  pthread_join(other, NULL);
}

static void try_missing(void) {
  char* words[] = {"nothing", NULL};
  execv("/nonexistent/program", words);
  chain_call(errno);
  execv("/etc/passwd", words);  // may not be executed
  chain_call(errno);
  execv("/", words);
  chain_call(errno);
}

// The pipe is closed by the exec of its parent.
static void leave_child(int n) {
  int ends[2];
  char byte;
  if (pipe2(ends, O_CLOEXEC) != 0) exit(1);
  if (fork() != 0) return;
  close(ends[1]);
  while (read(ends[0], &byte, 1) < 0 && errno == EINTR) {
  }
  total = 0;
  for (int i = 0; i < n; i++) chain_call(2000 + i);
  printf("%d calls\n", total);
  fflush(stdout);
  _exit(0);
}

int main(int argc, char** argv) {
  const int n = argc > 1 ? atoi(argv[1]) : 1;
  if (argc > 2) last = argv[2];
  if (argc > 3) way = argv[3];
  traced(n);
  for (int i = 0; i < n; i++) chain_call(i);
  snprintf(number, sizeof number, "%d", n + 1);
  if (n < atoi(last) && strcmp(way, "missing") == 0) try_missing();
  if (n < atoi(last) && strcmp(way, "child") == 0) leave_child(n);
  if (n < atoi(last) && strcmp(way, "thread") == 0) by_thread();
  if (n < atoi(last)) execute();
  while (wait(NULL) > 0) {
  }
  printf("%d calls\n", total);
  fflush(stdout);
  while (strcmp(way, "stay") == 0) {
    chain_call(n);
    usleep(1000);
  }
  return 7;
}
