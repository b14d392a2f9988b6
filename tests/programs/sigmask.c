// SPDX-License-Identifier: MIT
// Blocks every signal, calls the traced function, and looks at its mask.
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "traced.h"

static int count_blocked(void) {
  sigset_t now;
  sigemptyset(&now);
  pthread_sigmask(SIG_SETMASK, 0, &now);
  int blocked = 0;
  for (int s = 1; s < 32; ++s) blocked += s != SIGKILL && s != SIGSTOP && sigismember(&now, s) == 1;
  return blocked;
}

static void* in_thread(void* unused) {
  (void)unused;
  for (int i = 0; i < 100; ++i) traced(i);
  return (void*)(long)count_blocked();
}

int main(void) {
  sigset_t all, before;
  sigfillset(&all);
  int at_start = count_blocked();
  sigprocmask(SIG_BLOCK, &all, &before);
  for (int i = 0; i < 100; ++i) traced(i);
  int blocked = count_blocked();
  pthread_t thread;
  void* inherited;
  pthread_create(&thread, 0, in_thread, 0);
  pthread_join(thread, &inherited);
  sigset_t pending;
  sigpending(&pending);
  sigprocmask(SIG_SETMASK, &before, 0);
  printf("sigmask: %d at start, %d blocked, %d in a thread, %d after, pending trap %d\n", at_start,
         blocked, (int)(long)inherited, count_blocked(), sigismember(&pending, SIGTRAP));
  return 0;
}
