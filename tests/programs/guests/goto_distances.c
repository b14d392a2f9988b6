// SPDX-License-Identifier: MIT
// Computed gotos by distances between labels, of 4, 2 and 1 bytes, as programs write them that want
// no relocations. The first label stands behind a two-byte instruction.
// event: by_ints(x64 code, int n)
// event: by_shorts(x64 code, int n)
// event: by_chars(x64 code, int n)
// event: by_other(x64 code, int n)
#include <stdio.h>

#define OPERATIONS(name, type, base)                                                             \
  __attribute__((noinline)) long name(const unsigned char* code, int n) {                        \
    static const type to[] = {&&add - &&base, &&sub - &&base, &&twice - &&base, &&end - &&base}; \
    long sum = 0;                                                                                \
  add:                                                                                           \
    sum += n, n--;                                                                               \
    goto*(&&base + to[*code++]);                                                                 \
  sub:                                                                                           \
    sum -= 3, n++;                                                                               \
    goto*(&&base + to[*code++]);                                                                 \
  twice:                                                                                         \
    sum *= 2;                                                                                    \
    goto*(&&base + to[*code++]);                                                                 \
  end:                                                                                           \
    return sum;                                                                                  \
  }
OPERATIONS(by_ints, int, add)
OPERATIONS(by_shorts, short, add)
OPERATIONS(by_chars, signed char, add)
OPERATIONS(by_other, int, twice)

int main(void) {
  long sum = 0;
  for (int i = 0; i < 3000; i++) {
    unsigned char code[] = {0, 1, 2, 0, 0, 1, 2, 3};
    code[i % 7] = (unsigned char)(i % 3);
    sum += by_ints(code, i & 15) + by_shorts(code, i & 7) + by_chars(code, i & 3);
    sum += by_other(code, i & 5);
  }
  printf("sum %ld\ncalls by_ints 3000\ncalls by_shorts 3000\n", sum);
  puts("calls by_chars 3000\ncalls by_other 3000");
  return 0;
}
