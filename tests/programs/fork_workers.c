// SPDX-License-Identifier: MIT
// A server whose four workers are there before anybody asks for anything. For each line "call N"
// of its input every worker calls work(0) … work(N - 1), and the server answers when all have. The
// last worker is a child of the one before it; "pids" names them all, "more" forks one more.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { kWorkers = 4, kMost = 16 };

static int to[kMost][2], back[2], workers;
static pid_t pids[kMost];

__attribute__((noinline, noipa)) int helper(int n) {
  __asm__ volatile("" ::: "memory");
  return n + 1;
}
__attribute__((noinline, noipa)) int work(int n) {
  __asm__ volatile("" ::: "memory");
  return helper(n) - 1;
}

// What a worker does until the server is gone.
static void serve(int number) {
  int count;
  for (int i = 0; i < kMost; ++i) {
    if (to[i][1]) close(to[i][1]);
  }
  pid_t self = getpid();
  if (write(back[1], &self, sizeof self) != sizeof self) _exit(1);
  while (read(to[number][0], &count, sizeof count) == sizeof count) {
    int sum = 0;
    for (int i = 0; i < count; ++i) sum += work(i);
    if (write(back[1], &sum, sizeof sum) != sizeof sum) _exit(1);
  }
  _exit(0);
}

static void start(void) {
  const int number = workers++;
  if (pipe(to[number])) exit(1);
  // The last of the first ones has the one before it as its parent.
  const int pair = number == kWorkers - 2;
  if (pair && pipe(to[workers++])) exit(1);
  if (fork() == 0) {
    if (pair && fork() == 0) serve(number + 1);
    serve(number);
  }
  for (int i = number; i < workers; ++i)
    if (read(back[0], &pids[i], sizeof pids[i]) != sizeof pids[i]) exit(1);
}

static void call(int count) {
  int right = 0, sum;
  for (int i = 0; i < workers; ++i)
    if (write(to[i][1], &count, sizeof count) != sizeof count) exit(1);
  for (int i = 0; i < workers; ++i)
    right += read(back[0], &sum, sizeof sum) == sizeof sum && sum == count * (count - 1) / 2;
  printf("done %d\n", right);
}

int main(void) {
  char line[100];
  if (pipe(back)) return 1;
  while (workers < kWorkers) start();
  setvbuf(stdout, 0, _IOLBF, 0);
  while (fgets(line, sizeof line, stdin)) {
    if (!strncmp(line, "call ", 5)) {
      call(atoi(line + 5));
    } else if (!strncmp(line, "more", 4)) {
      start();
      puts("done");
    } else {
      for (int i = 0; i < workers; ++i) printf("%d ", pids[i]);
      puts("");
    }
  }
  for (int i = 0; i < workers; ++i) close(to[i][1]);
  while (wait(0) > 0) continue;
  return 0;
}
