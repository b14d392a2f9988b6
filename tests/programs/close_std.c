// SPDX-License-Identifier: MIT
// Closes standard input and output and opens files that take their numbers.
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "traced.h"

int main(void) {
  close(0);
  close(1);
  traced(1);
  int a = open("/dev/null", O_RDONLY);
  int b = open("/dev/null", O_WRONLY);
  for (int i = 0; i < 1000; ++i) traced(i);
  fprintf(stderr, "close_std: %d %d\n", a, b);
  return 0;
}
