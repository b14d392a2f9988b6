// SPDX-License-Identifier: MIT
// Calls a function for as long as it lives: steady [MICROSECONDS [CALLS]] makes CALLS calls, sleeps
// that long, and so on. The argument counts the calls, so that a reader sees which are missing.
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

volatile long sum;

__attribute__((noinline)) void work(long n, const char* name) { sum += n + name[0]; }

int main(int argc, char** argv) {
  long pause_us = argc > 1 ? atol(argv[1]) : 1000;
  long calls = argc > 2 ? atol(argv[2]) : 1;
  for (long n = 0;;) {
    for (long i = 0; i < calls; i++) work(n++, "steady");
    if (pause_us > 0) usleep((useconds_t)pause_us);
  }
}
