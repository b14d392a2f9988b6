// SPDX-License-Identifier: MIT
// Exceptions by a frame with a personality routine of its own, by tail calls, from a signal handler
// and from destructors; and a thread that is cancelled in the middle.
// build: -O2 -pthread -fnon-call-exceptions
// event: thrower(long n)
// event: tail(long n)
// event: again(long n)
// event: waits(long n)
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>
#include <unwind.h>

static int destroyed;
static volatile bool waiting;
struct Guard {
  ~Guard() { destroyed++; }
};
#define KEEP extern "C" __attribute__((noinline))
KEEP long thrower(long n) {
  if (n % 3 == 0) throw n;
  return n + 1;
}
extern "C" __attribute__((noinline)) long tail(long n) { return thrower(n + 1); }
KEEP long again(long n) {
  Guard guard;
  try {
    return tail(n) + thrower(n);
  } catch (long& thrown) {
    if (n % 2) throw;
    throw int(thrown);
  }
}
KEEP long waits(long n) {
  Guard guard;
  waiting = true;
  for (;;) pause();
  return n;
}
static void on_signal(int) { throw 5L; }
KEEP long reads(volatile long* p) { return *p; }

static void* run(void*) {
  Guard guard;
  waits(3);
  return nullptr;
}

int main() {
  struct sigaction action = {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_NODEFER;
  sigaction(SIGSEGV, &action, nullptr);
  long sum = 0;
  for (long i = 0; i < 300; i++) {
    try {
      sum += again(i);
    } catch (long n) {
      sum -= n;
    } catch (int n) {
      sum += 2 * n;
    }
#ifndef __clang__
    try {
      sum += reads(i % 50 ? &sum : nullptr);
    } catch (long n) {
      sum += n;
    }
#endif
    sum %= 1000003;
  }
  pthread_t thread;
  void* ended;
  pthread_create(&thread, nullptr, run, nullptr);
  while (!waiting) usleep(1000);
  pthread_cancel(thread);
  pthread_join(thread, &ended);
  printf("sum %ld destroyed %d cancelled %d\n", sum, destroyed, ended == PTHREAD_CANCELED);
}
