// SPDX-License-Identifier: MIT
// Continuations as ruby's callcc has them: copies of a stack, each gone on with more than once,
// also after its functions have returned and others have been called at the same places.
// event: down(long n, long way)
// event: other(long n)
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  jmp_buf at;
  char* copy;
  size_t size;
} Continuation;

static Continuation all[40];
static Continuation* now;
static jmp_buf home;
static char *low, *high;
static long result, returns;
static void (*volatile deeper)(Continuation*);

__attribute__((noinline)) static void enter(Continuation* one) {
  char room[512];
  __asm__ volatile("" ::"r"(room) : "memory");
  if ((char*)__builtin_frame_address(0) > high - one->size - 1024) deeper(one);
  memcpy(high - one->size, one->copy, one->size);
  longjmp(one->at, 1);
}

__attribute__((noinline)) static void capture(void) {  // and go on
  low = (char*)__builtin_frame_address(0) - 512;
  if (setjmp(now->at)) return;
  now->size = (size_t)(high - low);
  now->copy = malloc(now->size);
  memcpy(now->copy, low, now->size);
}

__attribute__((noinline)) long down(long n, long way) {
  volatile long keep = n * 7 + way;
  long r = 0;
  if (!n)
    capture();
  else if (way & 1)
    r = down(n - 1, way >> 1) + 1;
  else
    r = down(n - 1, way >> 1) + 2;
  if (keep != n * 7 + way) puts("stack damaged"), exit(3);
  returns++;
  return r;
}

__attribute__((noinline)) long other(long n) { return n ? other(n - 1) * 2 + 1 : 0; }

__attribute__((noinline)) static void begin(long n) {
  const long r = down(n % 12, n * 2654435761u);
  result = r;
  longjmp(home, 1);
}

int main(void) {
  static long sum, wrong, expected[40];
  char* volatile pad = __builtin_alloca(4096);
  (void)pad;
  high = (char*)__builtin_frame_address(0) - 2048;
  deeper = enter;
  for (volatile int i = 0; i < 40; i = i + 1) {
    now = &all[i];
    if (!setjmp(home)) begin(i);
    expected[i] = result;
  }
  for (volatile int i = 0; i < 400; i = i + 1) {
    now = &all[i * 7 % 40];
    result = -1;
    if (!setjmp(home)) enter(now);
    wrong += result != expected[i * 7 % 40];
    sum += result + other(i % 9);
  }
  printf("sum %ld returns %ld wrong %ld\n", sum, returns, wrong);
  return wrong != 0;
}
