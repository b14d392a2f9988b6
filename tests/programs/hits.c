// SPDX-License-Identifier: MIT
// Hits events of every kind as it is told to, one line of its input after the other, and says
// "done" behind each:
//   NAME FIRST COUNT [THREADS]   in so many threads: n = FIRST … FIRST + COUNT - 1, each of them
//   fork NAME FIRST COUNT        the same in a forked child
// NAME: stat (app:hit), other (app:other), user (USDT hits:user), call (the function called).
#include <patchbay/trace_event.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

PB_TRACE_EVENT(app, hit, PB_FIELDS(PB_FIELD(int, n), PB_STRING(word)));
PB_TRACE_EVENT(app, other, PB_FIELDS(PB_FIELD(int, n)));

// event: called(int n)
__attribute__((noinline)) int called(int n);
__attribute__((noinline)) int called(int n) {
  __asm__ volatile("" : "+r"(n)::"memory");
  return n * 3;
}
__attribute__((noinline)) void hits_stat(int n) { PB_TRACE(hit, n, n % 2 ? "odd" : "even"); }
__attribute__((noinline)) void hits_other(int n) { PB_TRACE(other, n); }
// A USDT probe without a semaphore, its note written by hand.
__attribute__((noinline)) void hits_user(int n) {
  __asm__ volatile(
      "990: nop\n"
      ".pushsection .note.stapsdt,\"\",\"note\"\n"
      ".balign 4\n"
      ".4byte 992f-991f, 994f-993f, 3\n"
      "991: .asciz \"stapsdt\"\n"
      "992: .balign 4\n"
      "993: .8byte 990b, 0, 0\n"
      ".asciz \"hits\"\n"
      ".asciz \"user\"\n"
      ".asciz \"-4@%0\"\n"
      "994: .balign 4\n"
      ".popsection\n"
      :
      : "r"(n));
}

struct work {
  char name[16];
  int first, count, threads;
};

static void hit(const struct work* work) {
  for (int n = work->first; n < work->first + work->count; ++n) {
    if (strcmp(work->name, "stat") == 0) hits_stat(n);
    if (strcmp(work->name, "other") == 0) hits_other(n);
    if (strcmp(work->name, "user") == 0) hits_user(n);
    if (strcmp(work->name, "call") == 0) called(n);
  }
}

static void* run(void* argument) {
  hit(argument);
  return NULL;
}

static void in_threads(struct work* work) {
  pthread_t thread[64];
  if (work->threads > 64) work->threads = 64;
  for (int i = 0; i < work->threads; ++i) pthread_create(&thread[i], NULL, run, work);
  for (int i = 0; i < work->threads; ++i) pthread_join(thread[i], NULL);
}

int main(void) {
  char line[128];
  while (fgets(line, sizeof line, stdin)) {
    struct work work = {"", 0, 1, 0};
    if (sscanf(line, "fork %15s %d %d", work.name, &work.first, &work.count) >= 1) {
      if (fork() == 0) {
        hit(&work);
        _exit(0);
      }
      wait(NULL);
    } else if (sscanf(line, "%15s %d %d %d", work.name, &work.first, &work.count, &work.threads) >=
               1) {
      if (work.threads)
        in_threads(&work);
      else
        hit(&work);
    }
    puts("done");
    fflush(stdout);
  }
  return 0;
}
