// SPDX-License-Identifier: MIT
// Calls of several shapes, known counts. Also built with each kind of compiler sled (sleds.sh).
// event: two_numbers(int a, int b)
// event: a_string(string s)
// event: eight_arguments(int a, int b, int c, int d, int e, int f)
// event: floats(double x, float y)
#include <stdio.h>

__attribute__((noinline)) int two_numbers(int a, int b) {
  __asm__ volatile("" : "+r"(a), "+r"(b)::"memory");
  return a * 3 + b;
}
__attribute__((noinline)) int a_string(const char* s) {
  __asm__ volatile("" : "+r"(s)::"memory");
  return s[0];
}
__attribute__((noinline)) int eight_arguments(int a, int b, int c, int d, int e, int f, int g,
                                              int h) {
  __asm__ volatile("" ::: "memory");
  return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h;
}
__attribute__((noinline)) double floats(double x, float y) {
  __asm__ volatile("" ::: "memory");
  return x * 2 + (double)y;
}

int main(void) {
  long sum = 0;
  double real = 0;
  for (int i = 0; i < 1000; ++i) {
    sum += two_numbers(i, i + 1) + eight_arguments(i, 2, 3, 4, 5, 6, 7, i);
    if (i % 10 == 0) sum += a_string("a string of twenty..");
    real += floats(0.5 * i, 1.5f);
  }
  printf("calls: %ld %.1f\n", sum, real);
  return 0;
}
