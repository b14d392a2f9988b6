// SPDX-License-Identifier: MIT
// Sixty-four threads start, call and end, five times over.
#include <pthread.h>
#include <stdio.h>

#include "traced.h"

static void* run(void* argument) {
  long sum = 0;
  for (int i = 0; i < 500; ++i) sum += traced(i + (int)(long)argument);
  return (void*)sum;
}

int main(void) {
  long sum = 0;
  for (int round = 0; round < 5; ++round) {
    pthread_t thread[64];
    for (long t = 0; t < 64; ++t) pthread_create(&thread[t], 0, run, (void*)t);
    for (int t = 0; t < 64; ++t) {
      void* result;
      pthread_join(thread[t], &result);
      sum += (long)result;
    }
  }
  printf("many_threads: %ld\n", sum);
  return 0;
}
