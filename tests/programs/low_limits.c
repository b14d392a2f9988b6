// SPDX-License-Identifier: MIT
// A program with hardly any descriptors left, and no children to wait for.
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "traced.h"

int main(void) {
  struct rlimit few = {8, 8};
  setrlimit(RLIMIT_NOFILE, &few);
  int opened = 0;
  while (open("/dev/null", O_RDONLY) >= 0) ++opened;
  for (int i = 0; i < 1000; ++i) traced(i);
  int none = wait(0) == -1 && errno == ECHILD;
  printf("low_limits: %d opened, no children %d\n", opened, none);
  return 0;
}
