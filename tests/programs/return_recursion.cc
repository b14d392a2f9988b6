// SPDX-License-Identifier: MIT
// Recursion to a depth of 10,000, three times.
// probe: ret_recurse
#include <stdio.h>

#include "return_program.h"

extern "C" KEEP long ret_recurse(long depth) {
  return depth ? after_call(ret_recurse(depth - 1)) + depth : 0;
}

int main() {
  gate();
  long sum = 0;
  for (int i = 0; i < 3; i++) sum += ret_recurse(10000);
  printf("calls ret_recurse %d\n", 3 * 10001);
  printf("sum %ld\n", sum);
  gate();
}
