// SPDX-License-Identifier: MIT
// Chains of tail calls: all of them return at one return address, to one caller.
// probe: ret_first ret_second ret_third ret_even ret_odd
#include <stdio.h>

#include "return_program.h"

// Not inlined, and tail calls at -O2.
#define TAIL __attribute__((noinline))
extern "C" {
TAIL long ret_third(long n) {
  __asm__ volatile("");
  return n * 2;
}
TAIL long ret_second(long n) {
  __asm__ volatile("");
  return ret_third(n + 1);
}
TAIL long ret_first(long n) {
  __asm__ volatile("");
  return ret_second(n + 1);
}
long ret_odd(long n);
long ret_even(long n);
}
// Each other's tail calls, written down so that no compiler makes a loop of them.
__asm__(R"(
.text
.p2align 4
.globl ret_even
.type ret_even, @function
ret_even:
  test %rdi, %rdi
  je 1f
  sub $1, %rdi
  jmp ret_odd
1: mov $1, %eax
  ret
.size ret_even, . - ret_even
.p2align 4
.globl ret_odd
.type ret_odd, @function
ret_odd:
  test %rdi, %rdi
  je 1f
  sub $1, %rdi
  jmp ret_even
1: xor %eax, %eax
  ret
.size ret_odd, . - ret_odd
)");

int main() {
  gate();
  long sum = 0;
  for (long i = 0; i < 1000; i++) sum += ret_first(i);
  long even = ret_even(500) + ret_even(50000);
  printf("calls ret_first 1000\ncalls ret_second 1000\ncalls ret_third 1000\n");
  printf("calls ret_even %d\ncalls ret_odd %d\n", 251 + 25001, 250 + 25000);
  printf("sum %ld even %ld\n", sum, even);
  gate();
}
