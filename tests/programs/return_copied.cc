// SPDX-License-Identifier: MIT
// Coroutines that share one stack, as ruby's callcc, greenlet and PyPy's continulets have them:
// what one has there is copied away while others run, and back.
// probe: ret_down ret_between
#include <alloca.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "return_program.h"

struct Coroutine {
  jmp_buf at;
  char* copy;
  size_t size;
  long result;
};
static Coroutine all[100];
static jmp_buf home;
static char *low, *high;  // of the shared part of the stack
static Coroutine* now;
static long returns;

static char* low_of(const Coroutine* one) { return high - one->size; }
static void (*volatile deeper)(Coroutine*);
static __attribute__((noinline)) void resume(Coroutine* one) {
  char room[512];
  __asm__ volatile("" : : "r"(room) : "memory");
  // Not in what is overwritten.
  if ((char*)__builtin_frame_address(0) > low_of(one) - 1024) deeper(one);
  memcpy(low_of(one), one->copy, one->size);
  longjmp(one->at, 1);
}
static __attribute__((noinline)) void leave() {  // comes back by resume()
  low = (char*)__builtin_frame_address(0) - 512;
  if (setjmp(now->at)) return;
  now->size = (size_t)(high - low);
  now->copy = (char*)malloc(now->size);
  memcpy(now->copy, low, now->size);
  longjmp(home, 1);
}

extern "C" {
KEEP long ret_down(long depth) {
  volatile long keep = depth * 7;
  long result = 0;
  if (depth)
    result = after_call(ret_down(depth - 1)) + 1;
  else
    leave();
  if (keep != depth * 7) abort();
  returns++;
  return result;
}
KEEP long ret_between(long n) { return n + 1; }
}

static __attribute__((noinline)) void begin(Coroutine* one, long depth) {
  now = one;
  const long result = ret_down(depth);
  now->result = result;
  longjmp(home, 2);
}

int main() {
  gate();
  deeper = resume;
  char* volatile pad = (char*)alloca(4096);
  (void)pad;
  high = (char*)__builtin_frame_address(0) - 2048;  // main() and what it calls from are above
  static int i;
  for (i = 0; i < 100; i++)
    if (!setjmp(home)) begin(&all[i], i % 30);
  static long sum;
  for (i = 0; i < 100; i++) {
    now = &all[i * 37 % 100];
    if (!setjmp(home)) resume(now);
    sum += now->result;
    for (long k = 0; k < 5; k++) sum += ret_between(k) - k - 1;
  }
  printf("calls ret_down %ld\n", returns);
  printf("calls ret_between 500\n");
  printf("sum %ld\n", sum);
  gate();
}
