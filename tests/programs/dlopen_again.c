// SPDX-License-Identifier: MIT
// Loads the library beside it again and again, calls its function for half a second each time, and
// unloads it. Prints how often the function was called. A second thread keeps it from being alone.
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void* wait_for_ever(void* argument) {
  for (;;) pause();
  return argument;
}

int main(void) {
  char path[4096] = "";
  pthread_t thread;
  long calls = 0, sum = 0;
  if (readlink("/proc/self/exe", path, sizeof path - 32) < 0) return 1;
  strcpy(strrchr(path, '/'), "/plugin_so.so");
  pthread_create(&thread, NULL, wait_for_ever, NULL);
  for (int load = 0; load < 4; ++load) {
    void* handle = dlopen(path, RTLD_NOW);
    if (!handle) return 2;
    int (*add)(int, int) = (int (*)(int, int))dlsym(handle, "plugin_add");
    for (int i = 0; i < 500; ++i, ++calls) {
      sum += add(i, load);
      usleep(1000);
    }
    dlclose(handle);
    usleep(200000);
  }
  printf("%ld calls, sum %ld\n", calls, sum);
  return 0;
}
