// SPDX-License-Identifier: MIT
// Calls what it is told to, one line of its input after the other, and says "done" behind each
// (one call of alpha comes first):
//   NAME [COUNT [THREADS]]    calls of alpha, beta, gamma_one in so many threads, each COUNT times
//   fork NAME                 a call in a forked child
//   linger                    a forked child that waits
//   wake NAME                 its call, and its end: "done STATUS"
// event: alpha(int n)
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define FUNCTION(name)                        \
  __attribute__((noinline)) int name(int n);  \
  __attribute__((noinline)) int name(int n) { \
    __asm__ volatile("" : "+r"(n)::"memory"); \
    return n * 3 + (int)sizeof(#name);        \
  }
FUNCTION(alpha)
FUNCTION(beta)
FUNCTION(gamma_one)

struct work {
  int (*function)(int);
  int count;
  pthread_barrier_t* start;
};

static int (*function_of(const char* name))(int) {
  return strcmp(name, "beta") == 0 ? beta : strcmp(name, "gamma_one") == 0 ? gamma_one : alpha;
}

static void* run(void* argument) {
  struct work* work = argument;
  pthread_barrier_wait(work->start);
  for (int i = 0; i < work->count; ++i) work->function(i);
  return NULL;
}

static void in_threads(int (*function)(int), int count, int threads) {
  pthread_t thread[64];
  pthread_barrier_t start;
  struct work work = {function, count, &start};
  if (threads > 64) threads = 64;
  pthread_barrier_init(&start, NULL, (unsigned)threads);
  for (int i = 0; i < threads; ++i) pthread_create(&thread[i], NULL, run, &work);
  for (int i = 0; i < threads; ++i) pthread_join(thread[i], NULL);
  pthread_barrier_destroy(&start);
}

static pid_t lingering;
static int to_child[2];

static void linger(void) {
  char name[64] = "";
  if (pipe(to_child) != 0) return;
  lingering = fork();
  if (lingering != 0) return;
  if (read(to_child[0], name, sizeof name - 1) > 0) function_of(name)(0);
  _exit(0);
}
static int wake(const char* name) {
  int status = -1;
  if (write(to_child[1], name, strlen(name)) > 0) waitpid(lingering, &status, 0);
  return status;
}

int main(void) {
  char line[128], name[64];
  alpha(0);
  while (fgets(line, sizeof line, stdin)) {
    int count = 1, threads = 0;
    if (sscanf(line, "fork %63s", name) == 1) {
      if (fork() == 0) {
        function_of(name)(0);
        _exit(0);
      }
      wait(NULL);
    } else if (strcmp(line, "linger\n") == 0) {
      linger();
    } else if (sscanf(line, "wake %63s", name) == 1) {
      printf("done %d\n", wake(name));
      fflush(stdout);
      continue;
    } else if (sscanf(line, "%63s %d %d", name, &count, &threads) >= 1) {
      if (threads > 0)
        in_threads(function_of(name), count, threads);
      else
        for (int i = 0; i < count; ++i) function_of(name)(i);
    }
    puts("done");
    fflush(stdout);
  }
  return 0;
}
