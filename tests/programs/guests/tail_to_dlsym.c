// SPDX-License-Identifier: MIT
// Functions that end in a jump to one that looks at its return address: dlsym() goes by its
// caller's place in the order of libraries, who() is of this program.
// build: -O2 -rdynamic -ldl
// skip: calls a refusal is a note there
// refused: next_of looks at its return address
// refused: through looks at its return address
// refused: asks looks at its return address
// refused: asks_twice looks at its return address
// event: next_of(string name)
// event: through(string name)
// event: asks(int n)
// event: asks_twice(int n)
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

// What dlsym(RTLD_NEXT) finds from here is libc's, not this one.
__attribute__((visibility("default"))) int toascii(int c) { return -2000 - c; }

__attribute__((noinline)) void* next_of(const char* name) { return dlsym(RTLD_NEXT, name); }
__attribute__((noinline)) void* through(const char* name) {
  __asm__ volatile("");
  return next_of(name);
}
__attribute__((noinline)) const char* who(int n) {
  Dl_info info;
  return n && dladdr(__builtin_return_address(0), &info) && info.dli_sname ? info.dli_sname : "?";
}
__attribute__((noinline)) const char* asks(int n) { return who(n + 1); }
__attribute__((noinline)) const char* asks_twice(int n) { return asks(n + 1); }

int main(void) {
  int bad = 0;
  for (int i = 0; i < 100; i++) {
    int (*found)(int) = (int (*)(int))through("toascii");
    bad += !found || found(65) != 65;
    found = (int (*)(int))next_of("toascii");
    bad += !found || found(65) != 65;
    bad += strcmp(asks(i), "main") != 0;
    bad += strcmp(asks_twice(i), "main") != 0;
  }
  printf("bad %d\n", bad);
  return bad != 0;
}
