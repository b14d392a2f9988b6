// SPDX-License-Identifier: MIT
// A program that runs into its limit of address space and lives on: it forks, makes and ends
// threads, and returns from main.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "traced.h"

static pthread_barrier_t filled;

static void* run(void* unused) {
  (void)unused;
  pthread_barrier_wait(&filled);
  for (int i = 0; i < 100; i++) traced(i);
  return 0;
}

// All of it, and the small blocks that the allocator keeps.
static void* volatile taken; /* else clang takes malloc() for something that never fails */
static void use_up_memory(void) {
  for (size_t size = 1 << 16; size >= 16; size -= size > 1024 ? size / 2 : 16)
    while ((taken = malloc(size))) {
    }
}

int main(void) {
  static char buffer[4096];
  setvbuf(stdout, buffer, _IOFBF, sizeof buffer);
  traced(1);
  pthread_t threads[4];
  pthread_barrier_init(&filled, 0, 5);
  for (int i = 0; i < 4; i++) pthread_create(&threads[i], 0, run, 0);
  const struct rlimit limit = {700ul << 20, 700ul << 20};
  setrlimit(RLIMIT_AS, &limit);
  use_up_memory();
  for (int i = 0; i < 1000; i++) traced(i);
  pthread_barrier_wait(&filled);
  for (int i = 0; i < 4; i++) pthread_join(threads[i], 0);
  const pid_t child = fork();
  if (child == 0) {
    traced(2);
    exit(5);
  }
  int status = -1;
  waitpid(child, &status, 0);
  usleep(1200000);  // the agent's thread has a look
  printf("out_of_memory: the child left with %d\n", WEXITSTATUS(status));
  use_up_memory();
  return 3;
}
