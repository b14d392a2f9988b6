// SPDX-License-Identifier: MIT
// Twenty thousand lines through stdio; the event sits on libc's write below it.
// event: traced(int n)
// event: write(int fd, x64 buf, size_t count)
#include <stdio.h>

#include "traced.h"

int main(void) {
  setvbuf(stdout, 0, _IOLBF, 256);
  for (int i = 0; i < 20000; ++i) printf("line %d of %s: %.3f\n", traced(i), "many", i / 7.0);
  return 0;
}
