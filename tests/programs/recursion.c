// SPDX-License-Identifier: MIT
// Ten thousand frames of one traced function, ten times.
// event: deeper(int n)
#include <stdio.h>

__attribute__((noinline)) int deeper(int n) {
  if (n == 0) return 0;
  int below = deeper(n - 1);
  __asm__ volatile("" : "+r"(below)::"memory");
  return below + 1;
}

int main(void) {
  int sum = 0;
  for (int i = 0; i < 10; ++i) sum += deeper(10000);
  printf("recursion: %d\n", sum);
  return 0;
}
