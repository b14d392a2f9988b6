// SPDX-License-Identifier: MIT
// The numbers of new descriptors are the lowest free ones, as if nobody else were there.
#include <fcntl.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "traced.h"

int main(void) {
  int pair[2], pipes[2];
  int a = open("/dev/null", O_RDONLY);
  traced(a);
  int b = dup(a);
  int s = socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
  int p = pipe(pipes);
  traced(b);
  FILE* file = fopen("/proc/self/stat", "r");
  int f = fileno(file);
  traced(f);
  printf("fd_numbers: %d %d %d %d %d %d %d, %d %d\n", a, b, pair[0], pair[1], pipes[0], pipes[1], f,
         s, p);
  return 0;
}
