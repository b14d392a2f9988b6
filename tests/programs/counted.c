// SPDX-License-Identifier: MIT
// Calls a function so many times at a steady pace: counted RATE CALLS waits for a byte on its
// standard input, makes CALLS calls at RATE a second, prints "calls N", and waits to be killed.
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

volatile long sum;

__attribute__((noinline)) void work(long n, const char* name) { sum += n + name[0]; }

static double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

int main(int argc, char** argv) {
  char byte;
  if (argc < 3 || read(0, &byte, 1) != 1) return 1;
  long rate = atol(argv[1]), calls = atol(argv[2]);
  double start = seconds();
  for (long n = 0; n < calls; usleep(200)) {
    long due = (long)((seconds() - start) * (double)rate);
    for (; n < due && n < calls; n++) work(n, "counted");
  }
  printf("calls %ld\n", calls);
  fflush(stdout);
  pause();
}
