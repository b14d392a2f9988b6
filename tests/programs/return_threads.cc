// SPDX-License-Identifier: MIT
// Threads that end inside hooked functions: by pthread_exit, by cancellation at a cancellation
// point and at any instruction. Their destructors run.
// probe: ret_exit ret_wait ret_spin ret_deep ret_fine
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include "return_program.h"

static long destroyed;
struct Guard {
  ~Guard() { __atomic_fetch_add(&destroyed, 1, __ATOMIC_RELAXED); }
};
static volatile long spun;

extern "C" {
KEEP void ret_exit(long n) { pthread_exit((void*)n); }
KEEP void ret_wait(long n) {
  while (n) usleep(1000);
}
KEEP void ret_spin(long n) {
  pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, nullptr);
  while (n) spun = spun + 1;
}
KEEP long ret_fine(long n) { return n + 1; }
KEEP void ret_deep(int depth, void (*then)(long), long n) {
  Guard guard;
  if (depth)
    ret_deep(depth - 1, then, n);
  else
    then(n);
}
}

static void* exits(void* n) {
  Guard guard;
  ret_deep(5, ret_exit, (long)n);
  return nullptr;
}
static void* waits(void*) {
  Guard guard;
  ret_deep(5, ret_wait, 1);
  return nullptr;
}
static void* spins(void*) {
  ret_spin(1);
  return nullptr;
}
static void* fine(void* n) {
  long sum = 0;
  for (int i = 0; i < 100; i++) sum += ret_fine((long)n);
  return (void*)sum;
}

int main() {
  gate();
  long codes = 0, cancelled = 0, sums = 0;
  for (long i = 0; i < 64; i++) {
    pthread_t exiting, waiting, spinning, well;
    void* result;
    pthread_create(&exiting, nullptr, exits, (void*)(i + 1));
    pthread_create(&waiting, nullptr, waits, nullptr);
    pthread_create(&spinning, nullptr, spins, nullptr);
    pthread_create(&well, nullptr, fine, (void*)i);
    usleep(2000);
    pthread_cancel(waiting);
    pthread_cancel(spinning);
    pthread_join(exiting, &result);
    codes += (long)result;
    pthread_join(waiting, &result);
    cancelled += result == PTHREAD_CANCELED;
    pthread_join(spinning, &result);
    cancelled += result == PTHREAD_CANCELED;
    pthread_join(well, &result);
    sums += (long)result;
  }
  printf("calls ret_fine %d\n", 64 * 100);
  printf("codes %ld cancelled %ld sums %ld destroyed %ld\n", codes, cancelled, sums, destroyed);
  gate();
}
