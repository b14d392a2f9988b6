// SPDX-License-Identifier: MIT
// Waits inside hooked functions, so that somebody can look at the stack, and take the probes away.
// probe: ret_outer ret_middle ret_waits
#include "return_program.h"

extern "C" {
KEEP int ret_waits(int n) {
  gate();
  return n + 1;
}
KEEP int ret_middle(int n) { return ret_waits(n) * 2; }
KEEP int ret_outer(int n) { return ret_middle(n) + 3; }
}

int main() {
  gate();
  printf("result %d\n", ret_outer(10));
  printf("calls ret_outer 2\ncalls ret_middle 2\ncalls ret_waits 2\n");
  printf("result %d\n", ret_outer(20));
  gate();
}
