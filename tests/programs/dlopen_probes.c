// SPDX-License-Identifier: MIT
// For usdt_later.sh: loads the library ARGV[1], which says nothing to anybody, runs its probe every
// millisecond until a line comes in, loads it again, runs the probe ten times more, and prints how
// often that was. `steady` is a function that may be recorded meanwhile.
#include <dlfcn.h>
#include <poll.h>
#include <stdio.h>
#include <unistd.h>

__attribute__((noinline)) long steady(long n) {
  __asm__ volatile("" : "+r"(n)::"memory");
  return n;
}

static int line_waits(void) {
  struct pollfd polled = {0, POLLIN, 0};
  return poll(&polled, 1, 1) > 0;
}

int main(int argc, char** argv) {
  char byte;
  if (argc < 2 || read(0, &byte, 1) != 1) return 2;  // held until somebody says go
  void* library = dlopen(argv[1], RTLD_NOW);
  if (!library) return 2;
  void (*plugged)(long) = (void (*)(long))dlsym(library, "plugged");
  long n = 0;
  for (; !line_waits(); n++) {
    plugged(n);
    steady(n);
  }
  if (dlclose(library)) return 2;
  library = dlopen(argv[1], RTLD_NOW);
  if (!library) return 2;
  plugged = (void (*)(long))dlsym(library, "plugged");
  for (int i = 0; i < 10; i++) plugged(n++);
  printf("%ld\n", n);
  return dlclose(library) ? 2 : 0;
}
