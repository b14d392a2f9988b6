// SPDX-License-Identifier: MIT
//
// The functions that bench/compare has traced by everybody, called in a loop: work(), two integers,
// and say(), a text of 20 characters and an integer. Prints
//   floor NS   a loop that reads the TSC and stores a 32-byte record in a private ring
//   call NS    CPU time of one call, with whatever is attached to it
// each the least of several rounds, so that a neighbour on the machine disturbs little.
//
//   loop CALLS ROUNDS [say]
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#ifdef PEER_LTTNG
#define LTTNG_UST_TRACEPOINT_DEFINE
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#include "lttng_peer.h"
#endif

__attribute__((noinline)) int work(long a, int b) {
#ifdef PEER_LTTNG
  lttng_ust_tracepoint(patchbay_peer, work, a, b);
#endif
  __asm__ volatile("" : "+r"(a), "+r"(b)::"memory");
  return b;
}

__attribute__((noinline)) int say(const char* text, int n) {
#ifdef PEER_LTTNG
  lttng_ust_tracepoint(patchbay_peer, say, text, n);
#endif
  __asm__ volatile("" : "+r"(text), "+r"(n)::"memory");
  return n;
}

static double now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static uint64_t ring[1 << 15][4];  // 1 MiB

static double floor_round(long calls) {
  double start = now_ns();
  for (long i = 0; i < calls; ++i) {
    uint64_t* record = ring[i & ((1 << 15) - 1)];
    record[0] = __builtin_ia32_rdtsc();
    record[1] = 1;
    record[2] = (uint64_t)i;
    record[3] = 2;
    __asm__ volatile("" ::"r"(record) : "memory");
  }
  return (now_ns() - start) / (double)calls;
}
static double call_round(long calls, int says) {
  double start = now_ns();
  if (says)
    for (long i = 0; i < calls; ++i) say("a text of 20 letters", 2);
  else
    for (long i = 0; i < calls; ++i) work(i, 2);
  return (now_ns() - start) / (double)calls;
}

int main(int argc, char** argv) {
  long calls = argc > 1 ? atol(argv[1]) : 1000000;
  int rounds = argc > 2 ? atoi(argv[2]) : 5;
  double least_floor = 1e18, least_call = 1e18;
  for (int r = 0; r < rounds; ++r) {
    double f = floor_round(1000000), c = call_round(calls, argc > 3);
    if (f < least_floor) least_floor = f;
    if (c < least_call) least_call = c;
  }
  printf("floor %.2f\ncall %.2f\n", least_floor, least_call);
  return 0;
}
