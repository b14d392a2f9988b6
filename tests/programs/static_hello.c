// SPDX-License-Identifier: MIT
// A static program: nothing can be preloaded into it, and the tool says so (bad_input.sh).
#include <stdio.h>

#include "traced.h"

int main(void) {
  printf("static_hello: %d\n", traced(1));
  return 0;
}
