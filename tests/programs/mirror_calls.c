// SPDX-License-Identifier: MIT
// Does what each line of its input says, then prints "done":
//   run THREADS CALLS    each thread calls mirrored_work() so often
//   fork CALLS           a child calls it
//   step THREADS CALLS   each thread makes static events, mirrored:step
// event: mirrored_work(int n, string text)
#include <patchbay/trace_event.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

PB_TRACE_EVENT(mirrored, step,
               PB_FIELDS(PB_FIELD(int, n), PB_FIELD(double, half), PB_ARRAY(char, name, 8),
                         PB_ARRAY(int, three, 3), PB_STRING(text)));

__attribute__((noinline)) int mirrored_work(int n, const char* text) {
  __asm__ volatile("" : : "r"(text) : "memory");
  return n * 2;
}

static void make_step(int n, const char* text) {
  const int three[3] = {n, n + 1, n + 2};
  PB_TRACE(step, n, n / 2.0, text, three, text);
}

static int calls;
static int is_step;

static void* run(void* unused) {
  char text[32];
  for (int n = 0; n < calls; n++) {
    snprintf(text, sizeof text, "text %d", n % 5);
    if (is_step)
      make_step(n, text);
    else
      mirrored_work(n, text);
  }
  return unused;
}

static void run_threads(int count) {
  pthread_t threads[64];
  for (int i = 0; i < count; i++)
    if (pthread_create(&threads[i], NULL, run, NULL)) exit(2);
  for (int i = 0; i < count; i++) pthread_join(threads[i], NULL);
}

int main(void) {
  char line[64];
  while (fgets(line, sizeof line, stdin)) {
    int threads = 0;
    is_step = sscanf(line, "step %d %d", &threads, &calls) == 2;
    if (is_step || sscanf(line, "run %d %d", &threads, &calls) == 2) {
      if (threads > 64) return 1;
      run_threads(threads);
    } else if (sscanf(line, "fork %d", &calls) == 1) {
      const pid_t child = fork();
      if (child == 0) {
        run(NULL);
        _exit(0);
      }
      if (waitpid(child, NULL, 0) != child) return 3;
    }
    puts("done");
    fflush(stdout);
  }
  return 0;
}
