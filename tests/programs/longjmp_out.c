// SPDX-License-Identifier: MIT
// longjmp out of a call below a traced function, many times.
// event: traced(int n)
// event: jumper(int n)
#include <setjmp.h>
#include <stdio.h>

#include "traced.h"

static jmp_buf back;

__attribute__((noinline)) int jumper(int n) {
  if (traced(n) % 3 == 0) longjmp(back, n + 1);
  return n;
}

int main(void) {
  volatile int jumped = 0, returned = 0;
  for (volatile int i = 0; i < 999; ++i) {
    if (setjmp(back) == 0) {
      jumper(i);
      ++returned;
    } else {
      ++jumped;
    }
  }
  printf("longjmp_out: %d jumped, %d returned\n", jumped, returned);
  return 0;
}
