// SPDX-License-Identifier: MIT
// For kill9.sh: THREADS threads call counted(thread, i) and count each call, right after it has
// returned, in a mapped file. Whoever kills this program reads there what must have been recorded.
//   shared_counter FILE THREADS [PAUSE_US after each 16 calls]
// Without a pause each thread stays on one processor: then a ring that has overwritten its oldest
// events holds either the newest ones of a thread or none.
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

struct Slot {
  volatile long calls;
  long padding[7];
};
static struct Slot* slots;
static int pause_us;

__attribute__((noinline)) long counted(int thread, long i) {
  __asm__ volatile("" : "+r"(i) : "r"(thread) : "memory");
  return i;
}

static void* run(void* argument) {
  int thread = (int)(long)argument;
  if (!pause_us) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET((size_t)thread % (size_t)sysconf(_SC_NPROCESSORS_ONLN), &one);
    sched_setaffinity(0, sizeof one, &one);
  }
  for (long i = 0;; ++i) {
    counted(thread, i);
    slots[thread].calls = i + 1;
    if (pause_us && i % 16 == 15) usleep((useconds_t)pause_us);
  }
  return 0;
}

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  int threads = atoi(argv[2]);
  pause_us = argc > 3 ? atoi(argv[3]) : 0;
  int fd = open(argv[1], O_RDWR | O_CREAT, 0600);
  if (fd < 0 || ftruncate(fd, 4096) != 0) return 2;
  slots = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  slots[63].calls = 1;  // running
  pthread_t thread;
  for (long t = 0; t < threads; ++t) pthread_create(&thread, 0, run, (void*)t);
  pause();
  return 0;
}
