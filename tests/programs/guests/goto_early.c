// SPDX-License-Identifier: MIT
// Indirect jumps into the first five bytes of a function: the first label of a computed goto stands
// behind a two-byte instruction. Only the addresses in read-only data say so.
// event: ops_early(x64 code, int n)
#include <stdio.h>

__attribute__((noinline)) long ops_early(const unsigned char* code, int n) {
  static const void* const to[] = {&&add, &&sub, &&twice, &&end};
  long sum = 0;  // xor %eax, %eax
add:
  sum += n, n--;
  goto* to[*code++];
sub:
  sum -= 3, n++;
  goto* to[*code++];
twice:
  sum *= 2;
  goto* to[*code++];
end:
  return sum;
}

int main(void) {
  long sum = 0;
  for (int i = 0; i < 5000; i++) {
    unsigned char code[] = {0, 1, 2, 0, 0, 1, 2, 3};
    code[i % 7] = (unsigned char)(i % 3);
    sum += ops_early(code, i & 15);
  }
  printf("sum %ld\ncalls ops_early 5000\n", sum);
  return 0;
}
