// SPDX-License-Identifier: MIT
// Indirect jumps back to a function's entry, which is its first label: only a table says so. Each
// pass would look like a call. A function that hands itself on, and ends in a jump through a
// pointer, is called each time.
// event: run(x64 code, long n)
// event: step(int n)
// refused: run loops back
#include <stdio.h>

__attribute__((noinline)) long run(const unsigned char* code, long n) {
  static const void* const to[] = {&&more, &&twice, &&less, &&end};
more:
  n++;
  goto* to[*code++];
twice:
  n *= 2;
  goto* to[*code++];
less:
  n -= 3;
  goto* to[*code++];
end:
  return n;
}

typedef int step_function(int n);
static int last(int n) { return n; }
static step_function* volatile behind;
int step(int n);
static step_function* const steps[] = {last, step, last};
__attribute__((noinline)) int step(int n) {
  behind = n > 1 ? steps[1] : last;
  __asm__ volatile("" ::"r"(step));
  return behind(n - 1);
}

int main(void) {
  long sum = 0;
  for (int i = 0; i < 5000; i++) {
    unsigned char code[] = {0, 1, 2, 0, 0, 1, 2, 3};
    code[i % 7] = (unsigned char)(i % 3);
    sum += run(code, i & 7);
  }
  for (int i = 0; i < 1000; i++) sum += steps[1](i % 4);  // 1, 1, 2, 3 calls
  printf("sum %ld\ncalls run 5000\ncalls step 1750\n", sum);
  return 0;
}
