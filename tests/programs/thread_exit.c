// SPDX-License-Identifier: MIT
// Threads end by pthread_exit below a traced function; destructors of thread data call it too.
#include <pthread.h>
#include <stdio.h>

#include "traced.h"

static pthread_key_t key;
static volatile int destroyed;

__attribute__((noinline)) static void leave(int n) {
  if (traced(n) > 0) pthread_exit(0);
}
static void destroy(void* value) {
  if (traced((int)(long)value) > 0) __atomic_add_fetch(&destroyed, 1, __ATOMIC_SEQ_CST);
}
static void* run(void* argument) {
  pthread_setspecific(key, argument);
  for (int i = 0; i < 100; ++i) traced(i);
  leave(1);
  return (void*)1;
}

int main(void) {
  pthread_key_create(&key, destroy);
  for (long i = 1; i <= 50; ++i) {
    pthread_t thread;
    pthread_create(&thread, 0, run, (void*)i);
    pthread_join(thread, 0);
  }
  printf("thread_exit: %d destroyed\n", destroyed);
  return 0;
}
