// SPDX-License-Identifier: MIT
// THREADS threads call first() and second() in turn, PAIRS times each.
#include <pthread.h>
#include <stdlib.h>

static long pairs;

__attribute__((noinline)) long first(long i) {
  __asm__ volatile("" : "+r"(i));
  return i + 1;
}
__attribute__((noinline)) long second(long i) {
  __asm__ volatile("" : "+r"(i));
  return i + 2;
}

static void* call_both(void* unused) {
  for (long i = 0; i < pairs; i++) second(first(i));
  return unused;
}

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  int count = atoi(argv[1]);
  pairs = atol(argv[2]);
  pthread_t* thread = calloc((size_t)count, sizeof *thread);
  for (int i = 0; i < count; i++) pthread_create(&thread[i], NULL, call_both, NULL);
  for (int i = 0; i < count; i++) pthread_join(thread[i], NULL);
  return 0;
}
