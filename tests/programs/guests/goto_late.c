// SPDX-License-Identifier: MIT
// A computed goto whose first label stands behind more than five bytes: the function has its jump.
// event: ops_late(x64 code, int n)
#include <stdio.h>

__attribute__((noinline)) long ops_late(const unsigned char* code, int n) {
  static const void* const to[] = {&&add, &&sub, &&end};
  static volatile long base = 0x1122334455667788;
  unsigned long sum = (unsigned long)base;
add:
  sum += (unsigned long)n, n--;
  goto* to[*code++ % 3];
sub:
  sum -= 3, n++;
  goto* to[*code++ % 3];
end:
  return (long)sum;
}

int main(void) {
  unsigned long sum = 0;
  for (int i = 0; i < 5000; i++) {
    unsigned char code[] = {0, 1, 2, 0, 0, 1, 2, 2};
    code[i % 7] = (unsigned char)(i % 3);
    sum += (unsigned long)ops_late(code, i & 7);
  }
  printf("sum %lu\ncalls ops_late 5000\n", sum);
  return 0;
}
