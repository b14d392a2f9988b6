// SPDX-License-Identifier: MIT
// What bench/attach measures: N threads that wait.
//   idle_threads N
// It takes lines, and waits without them; the end of its input ends it.
//   watch     a thread begins that looks at the clock all the time
//   gap       it ends; prints the longest time in ns for which it did not run
//   cost      prints the picoseconds of a call of tick(), the least of many series
//   patched   when the first byte of tick() changes, prints the time in ns and calls tick()
#include <sys/resource.h>

#include "attach_case.h"

static _Atomic int over;

__attribute__((noinline)) void tick(long n);
void tick(long n) { __asm__ volatile("" ::"r"(n) : "memory"); }

static long long now_ns(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static void* watch(void* longest) {
  setpriority(PRIO_PROCESS, 0, -10);  // as far as this user may: others' turns are no stops
  long long last = now_ns();
  while (!atomic_load_explicit(&over, memory_order_relaxed)) {
    long long now = now_ns();
    if (now - last > *(long long*)longest) *(long long*)longest = now - last;
    last = now;
  }
  return 0;
}

static void say_patched(void) {
  static unsigned char plain;
  volatile unsigned char* text = (volatile unsigned char*)(void*)tick;
  if (!plain) plain = *text;
  while (*text == plain) usleep(50);
  tick(1);
  printf("%lld\n", now_ns());
}

static void say_cost(void) {
  enum { kSeries = 50, kCalls = 20000 };
  long long least = -1;
  for (int i = 0; i < kSeries; i++) {
    long long since = now_ns();
    for (int k = 0; k < kCalls; k++) tick(k);
    long long took = now_ns() - since;
    if (least < 0 || took < least) least = took;
  }
  printf("%lld\n", least * 1000 / kCalls);
}

static int ends[2];
static void* wait_for_end(void* unused) {
  (void)unused;
  char byte;
  return read(ends[0], &byte, 1) < 0 ? &ends : 0;
}

int main(int argc, char** argv) {
  int count = argc > 1 ? atoi(argv[1]) : 10;
  pthread_t watcher, *threads = calloc((size_t)count + 1, sizeof *threads);
  long long longest = 0;
  char line[64];
  if (pipe(ends) != 0) return 1;
  for (int i = 0; i < count; i++)
    if (pthread_create(&threads[i], 0, wait_for_end, 0) != 0) return 1;
  setvbuf(stdout, 0, _IOLBF, BUFSIZ);
  ready();
  while (fgets(line, sizeof line, stdin)) {
    if (strcmp(line, "patched\n") == 0) say_patched();
    if (strcmp(line, "cost\n") == 0) say_cost();
    if (strcmp(line, "watch\n") == 0) {
      longest = 0;
      atomic_store(&over, 0);
      if (pthread_create(&watcher, 0, watch, &longest) != 0) return 1;
      printf("0\n");
    }
    if (strcmp(line, "gap\n") == 0) {
      atomic_store(&over, 1);
      pthread_join(watcher, 0);
      printf("%lld\n", longest);
    }
  }
  close(ends[1]);
  for (int i = 0; i < count; i++) pthread_join(threads[i], 0);
  free(threads);
  return 0;
}
