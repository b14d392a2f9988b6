// SPDX-License-Identifier: MIT
// Loads, calls and unloads a library again and again, with traced calls between.
#include <dlfcn.h>
#include <libgen.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "traced.h"

int main(void) {
  char path[4096] = "";
  if (readlink("/proc/self/exe", path, sizeof path - 32) < 0) return 1;
  strcpy(strrchr(path, '/'), "/plugin_so.so");
  int sum = 0, loads = 0;
  for (int i = 0; i < 20; ++i) {
    void* handle = dlopen(path, RTLD_NOW);
    if (!handle) continue;
    int (*add)(int, int) = (int (*)(int, int))dlsym(handle, "plugin_add");
    for (int k = 0; k < 100; ++k) sum += traced(add(k, i));
    dlclose(handle);
    ++loads;
  }
  printf("dlopen_close: %d loads, sum %d\n", loads, sum);
  return 0;
}
