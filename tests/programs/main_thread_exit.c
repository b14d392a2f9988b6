// SPDX-License-Identifier: MIT
// main ends its own thread only. When the program's last thread ends, the process must end, with 0.
#include <pthread.h>
#include <stdio.h>

#include "traced.h"

static void* run(void* unused) {
  (void)unused;
  for (int i = 0; i < 1000; ++i) traced(i);
  printf("main_thread_exit: the other thread is done\n");
  return 0;
}

int main(void) {
  pthread_t thread;
  pthread_create(&thread, 0, run, 0);
  traced(1);
  pthread_exit(0);
}
