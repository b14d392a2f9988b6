// SPDX-License-Identifier: MIT
// Functions that end in a jump to one that looks at its return address: dlsym() goes by its
// caller's place in the order of libraries, who() is of this program.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>

#define KEEP __attribute__((noinline))

// What dlsym(RTLD_NEXT) finds from here is libc's, not this one.
__attribute__((visibility("default"))) int toascii(int c) { return -2000 - c; }

KEEP void* ret_next(const char* name) { return dlsym(RTLD_NEXT, name); }
KEEP void* ret_through(const char* name) {
  __asm__ volatile("");
  return ret_next(name);
}
KEEP const char* who(void) {
  __asm__ volatile("");
  return __builtin_return_address(0);
}
KEEP const char* ret_asks(void) {
  __asm__ volatile("");
  return who();
}
KEEP const char* ret_asks_twice(void) {
  __asm__ volatile("nop");
  return ret_asks();
}
KEEP int ret_plain(int n) {
  __asm__ volatile("");
  return n + 1;
}

int main(void) {
  int bad = 0;
  for (int i = 0; i < 100; i++) {
    int (*found)(int) = (int (*)(int))(i % 2 ? ret_next("toascii") : ret_through("toascii"));
    bad += !found || found(65) != 65;
    bad += (uintptr_t)ret_asks() - (uintptr_t)main > 4096;
    bad += (uintptr_t)ret_asks_twice() - (uintptr_t)main > 4096;
    bad += ret_plain(i) != i + 1;
  }
  printf("bad %d\n", bad);
  return bad != 0;
}
