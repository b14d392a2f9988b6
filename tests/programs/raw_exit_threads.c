// SPDX-License-Identifier: MIT
// The first thread leaves by the system call exit, and later the last other one as well.
#include <pthread.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "traced.h"

static void* run(void* unused) {
  (void)unused;
  usleep(400000);  // the first one is gone for a while
  for (int i = 0; i < 1000; i++) traced(i);
  printf("raw_exit_threads: the last one leaves\n");
  fflush(stdout);
  syscall(SYS_exit, 4);
  return 0;
}

int main(void) {
  pthread_t thread;
  pthread_create(&thread, 0, run, 0);
  traced(1);
  syscall(SYS_exit, 4);
}
