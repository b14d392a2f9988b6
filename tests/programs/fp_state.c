// SPDX-License-Identifier: MIT
// Rounding mode, MXCSR, x87 control word, errno and floating-point arguments are what they would be
// without a tracer, also when a probe runs into a fault.
// event: traced(int n)
// event: with_floats(double a, float b, int n)
// event: with_string(string s)
#include <errno.h>
#include <fenv.h>
#include <locale.h>
#include <stdint.h>
#include <stdio.h>
#include <xmmintrin.h>

#include "traced.h"

__attribute__((noinline)) double with_floats(double a, float b, int n) {
  __asm__ volatile("" ::: "memory");
  return a * (double)b + n;
}
__attribute__((noinline)) int with_string(const char* s) {
  __asm__ volatile("" ::: "memory");
  return errno + (s != 0);
}

static uint16_t x87_control(void) {
  uint16_t word;
  __asm__ volatile("fnstcw %0" : "=m"(word));
  return word;
}

int main(void) {
  int wrong = 0;
  fesetround(FE_UPWARD);
  unsigned mxcsr = _mm_getcsr() & ~0x3fU;
  uint16_t control = x87_control();
  long double kept = 1.0L / 3;
  for (int i = 0; i < 1000; ++i) {
    errno = i;
    traced(i);
    wrong += errno != i;
    wrong += with_string((const char*)8) != i + 1;  // not a string: a fault inside the probe
    wrong += errno != i;
    wrong += with_floats(0.5, 4.0f, i) != 2.0 + i;
    wrong += fegetround() != FE_UPWARD;
    wrong += (_mm_getcsr() & ~0x3fU) != mxcsr || x87_control() != control;
  }
  wrong += kept != 1.0L / 3;
  printf("fp_state: %d wrong, locale %s\n", wrong, setlocale(LC_ALL, 0));
  return 0;
}
