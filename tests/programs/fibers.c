// SPDX-License-Identifier: MIT
// Traced calls on stacks that the program switches itself.
#include <stdio.h>
#include <ucontext.h>

#include "traced.h"

static ucontext_t home, fiber[2];
static char stacks[2][65536];
static volatile long sum;

static void run(int which) {
  for (int i = 0; i < 100; ++i) {
    sum += traced(i * (which + 1));
    swapcontext(&fiber[which], &home);
  }
}

int main(void) {
  for (int f = 0; f < 2; ++f) {
    getcontext(&fiber[f]);
    fiber[f].uc_stack.ss_sp = stacks[f];
    fiber[f].uc_stack.ss_size = sizeof stacks[f];
    fiber[f].uc_link = &home;
    makecontext(&fiber[f], (void (*)(void))run, 1, f);
  }
  for (int i = 0; i < 200; ++i) swapcontext(&home, &fiber[i % 2]);
  printf("fibers: %ld\n", sum);
  return 0;
}
