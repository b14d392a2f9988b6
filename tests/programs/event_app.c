// SPDX-License-Identifier: MIT
// Static events in the program and in a plug-in that comes and goes while threads use both.
//   event_app LOADS THREADS CALLS [PAUSE_MS [HOLD]]
// Each thread runs CALLS rounds per load of the plug-in: app_work and shared_event here,
// plugin_call and shared_event there. Prints how often. HOLD: reads a line first, and before it
// ends.
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "event_app.h"

static long calls, done_app, done_plugin;
static int loads, threads;
static void (*plugin_call)(int, long);
static pthread_barrier_t loaded, used;

// Called through by all threads, so that one site is hit by them all.
static __attribute__((noinline)) void work(int thread, long n) {
  static const int three[3] = {1, 2, 3};
  const long squares[2] = {n * n, n * n * n};
  PB_TRACE(app_work, thread, n, "worker", three, squares, (size_t)(n & 1) + 1);
  PB_TRACE(shared_event, 0, n);
}

static void* run(void* argument) {
  const int thread = (int)(long)argument;
  for (int load = 0; load < loads; ++load) {
    for (long n = 0; n < calls / 2; ++n) work(thread, n);  // also while the plug-in comes and goes
    pthread_barrier_wait(&loaded);
    for (long n = 0; n < calls; ++n) {
      work(thread, n);
      plugin_call(thread, n);
    }
    __atomic_add_fetch(&done_app, calls + calls / 2, __ATOMIC_RELAXED);
    __atomic_add_fetch(&done_plugin, calls, __ATOMIC_RELAXED);
    pthread_barrier_wait(&used);
  }
  return 0;
}

static void wait_for_line(void) {
  char line[16];
  if (!fgets(line, sizeof line, stdin)) exit(3);
}

int main(int argc, char** argv) {
  loads = argc > 1 ? atoi(argv[1]) : 2;
  threads = argc > 2 ? atoi(argv[2]) : 2;
  calls = argc > 3 ? atol(argv[3]) : 10;
  const long pause_ms = argc > 4 ? atol(argv[4]) : 0;
  char path[4096] = "";
  if (readlink("/proc/self/exe", path, sizeof path - 32) < 0) return 1;
  strcpy(strrchr(path, '/'), "/event_plugin_so.so");
  if (argc > 5) wait_for_line();
  pthread_t* all = calloc((size_t)threads, sizeof *all);
  pthread_barrier_init(&loaded, 0, (unsigned)threads + 1);
  pthread_barrier_init(&used, 0, (unsigned)threads + 1);
  for (long t = 0; t < threads; ++t) pthread_create(&all[t], 0, run, (void*)t);
  for (int load = 0; load < loads; ++load) {
    void* handle = dlopen(path, RTLD_NOW);
    if (!handle) return fprintf(stderr, "%s\n", dlerror()), 1;
    plugin_call = (void (*)(int, long))dlsym(handle, "plugin_call");
    const struct timespec pause = {pause_ms / 1000, pause_ms % 1000 * 1000000};
    if (pause_ms) nanosleep(&pause, 0);
    pthread_barrier_wait(&loaded);
    pthread_barrier_wait(&used);
    dlclose(handle);
  }
  for (int t = 0; t < threads; ++t) pthread_join(all[t], 0);
  for (unsigned long flags = 0; flags < 4; ++flags) PB_TRACE(app_flags, flags);
  PB_TRACE(differing_event, 7);
  if (PB_TRACE_ENABLED(app_end)) PB_TRACE(app_end);
  printf("app %ld plugin %ld\n", done_app, done_plugin);
  fflush(stdout);
  if (argc > 5) wait_for_line();
  return 0;
}
