// SPDX-License-Identifier: MIT
//
// A plug-in is loaded and unloaded while threads are in the callbacks that it has registered and
// never takes away. Prints what is not as it should be, and "ok".
//
//   api_callback_unload LOADS
#include <dlfcn.h>
#include <patchbay/trace_event.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

PB_TRACE_EVENT(unload, tick, PB_FIELDS(PB_FIELD(long, n)));

static volatile int stop;

__attribute__((noinline, noclone)) void program_work(long n) { __asm__ volatile("" ::"r"(n)); }

static void* run(void* unused) {
  for (long n = 0; !stop; n++) {
    program_work(n);
    PB_TRACE(tick, n);
  }
  return unused;
}

static int load_and_unload(const char* path) {
  void* handle = dlopen(path, RTLD_NOW);
  if (!handle) {
    puts(dlerror());
    return 1;
  }
  const int answers = *(int*)dlsym(handle, "plugin_answers");
  volatile long* calls = (long*)dlsym(handle, "plugin_calls");
  volatile long* records = (long*)dlsym(handle, "plugin_records");
  for (int i = 0; i < 5000 && !(*calls > 100 && *records > 100); i++) usleep(1000);
  if (answers || *calls <= 100 || *records <= 100) {
    printf("answers %d, %ld calls, %ld records\n", answers, *calls, *records);
    return 1;
  }
  dlclose(handle);
  if (dlopen(path, RTLD_NOW | RTLD_NOLOAD)) {
    puts("the plug-in is still there");
    return 1;
  }
  usleep(2000);
  return 0;
}

int main(int argc, char** argv) {
  char path[4096] = "";
  const int loads = argc > 1 ? atoi(argv[1]) : 10;
  if (readlink("/proc/self/exe", path, sizeof path - 32) < 0) return 1;
  strcpy(strrchr(path, '/'), "/callback_plugin_so.so");
  pthread_t threads[4];
  for (int i = 0; i < 4; i++) pthread_create(&threads[i], NULL, run, NULL);
  int failures = 0;
  for (int load = 0; load < loads && !failures; load++) failures += load_and_unload(path);
  stop = 1;
  for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
  if (!failures) puts("ok");
  return failures;
}
