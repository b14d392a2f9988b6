// SPDX-License-Identifier: MIT
// 64 threads call functions whose return probes somebody switches on and off meanwhile, until the
// second gate opens; without gates for 300 ms.
// probe: ret_sum ret_leaf
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "return_program.h"

extern "C" {
static long leaves;
KEEP long ret_leaf(long n) {
  __atomic_fetch_add(&leaves, 1, __ATOMIC_RELAXED);
  return n + 1;
}
KEEP long ret_sum(long depth) {
  return depth ? after_call(ret_sum(depth - 1)) + ret_leaf(depth) : 0;
}
}

static bool stop;

static void* run(void* argument) {
  const long depth = (long)argument;
  do {
    for (int i = 0; i < 100; i++)
      if (ret_sum(depth) != depth * (depth + 3) / 2) abort();
  } while (!__atomic_load_n(&stop, __ATOMIC_RELAXED));
  return nullptr;
}

int main() {
  gate();
  pthread_t thread[64];
  for (long i = 0; i < 64; i++) pthread_create(&thread[i], nullptr, run, (void*)(i % 20 + 1));
  gate();
  if (!getenv("RETURN_GATE")) usleep(300000);
  __atomic_store_n(&stop, true, __ATOMIC_RELAXED);
  for (pthread_t id : thread) pthread_join(id, nullptr);
  printf("calls ret_leaf %ld\n", leaves);
  printf("all sums agree\n");
  gate();
}
