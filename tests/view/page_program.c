// SPDX-License-Identifier: MIT
//
// What tests/scripts/view.sh records: calls that it counts itself, on three threads, with texts of
// every kind among the arguments, and names that a page must not believe.
//
//   page_program [ROUNDS]     prints "NAME CALLS" for each function
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define CALL __attribute__((noinline, noclone, used))

static unsigned long steps, works, rounds, evils;

CALL int page_step(int i, const char* text) {
  __atomic_fetch_add(&steps, 1, __ATOMIC_RELAXED);
  __asm__ volatile("" : : "r"(text) : "memory");
  return i * 2;
}
// view.sh gives it a name that is markup.
CALL int page_evil(const char* text) {
  __atomic_fetch_add(&evils, 1, __ATOMIC_RELAXED);
  __asm__ volatile("" : : "r"(text) : "memory");
  return 7;
}
CALL int page_never(int a) { return a + 1; }  // a recording of it is empty
CALL long page_work(int n, long big) {
  __atomic_fetch_add(&works, 1, __ATOMIC_RELAXED);
  static const char* const kTexts[] = {"plain", "the needle",
                                       "</script><script>document.title='evil'", "\x01\x1b[31m\n",
                                       "\xff\xfe broken"};
  long sum = big;
  for (int i = 0; i < n; ++i) sum += page_step(i, kTexts[i % 5]);
  return sum;
}
CALL void page_round(int number) {
  __atomic_fetch_add(&rounds, 1, __ATOMIC_RELAXED);
  page_work(10, 0x7fffffffffffff01 + number);
  page_evil("<img src=x onerror=\"document.title='evil'\">");
  __asm__ volatile("" : : : "memory");
}

struct Job {
  const char* name;
  int count;
};

static void* run(void* argument) {
  const struct Job* job = argument;
  if (job->name) pthread_setname_np(pthread_self(), job->name);
  for (int i = 0; i < job->count; ++i) page_round(i);
  return NULL;
}

int main(int argc, char** argv) {
  const int count = argc > 1 ? atoi(argv[1]) : 20;
  struct Job jobs[] = {{"<b>bold</b>", count}, {"worker\x01\xff", count}, {NULL, count}};
  pthread_t threads[2];
  for (int i = 0; i < 2; ++i) pthread_create(&threads[i], NULL, run, &jobs[i]);
  run(&jobs[2]);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  printf("page_step %lu\npage_work %lu\npage_round %lu\nevil %lu\n", steps, works, rounds, evils);
  return 0;
}
