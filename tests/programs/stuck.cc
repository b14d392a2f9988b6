// SPDX-License-Identifier: MIT
//
// Stands still in ways that its stacks have to show: two threads that wait for each other's mutex,
// one for an rwlock that another one writes, one in a handler of a signal, one that has called an
// inlined function, several alike, and one that runs. Prints its threads' numbers by name when all
// are there, and ends with its input.
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <thread>

#define KEEP __attribute__((noinline, used))

std::mutex accounts, audit;
pthread_rwlock_t prices = PTHREAD_RWLOCK_INITIALIZER;
static std::atomic<int> there;
static std::atomic<long> sum;
static int pipes[2];

static void here(const char* name) {
  pthread_setname_np(pthread_self(), name);
  std::printf("%s %ld\n", name, long(syscall(SYS_gettid)));
  there++;
}
static void wait_for(int count) {
  while (there < count) usleep(1000);
}

KEEP void transfer(std::mutex* first, std::mutex* second) {
  first->lock();
  there++;
  wait_for(4);  // both have one
  second->lock();
}
KEEP void write_prices() {
  pthread_rwlock_wrlock(&prices);
  there++;
  char byte;
  (void)!read(pipes[0], &byte, 1);
}
KEEP void read_prices() {
  pthread_rwlock_rdlock(&prices);
  pthread_rwlock_unlock(&prices);
}
KEEP void wait_long() {
  timespec end = {};
  clock_gettime(CLOCK_REALTIME, &end);
  end.tv_sec += 1000;
  pthread_mutex_timedlock(accounts.native_handle(), &end);
}
static inline __attribute__((always_inline)) void nap_inlined(int depth) {
  char byte;
  if (depth > 0) (void)!read(pipes[0], &byte, 1);
}
KEEP void outer(int depth) {
  nap_inlined(depth);
  sum++;
}
KEEP void in_handler(int) {
  char byte;
  (void)!read(pipes[0], &byte, 1);
}
KEEP void interrupted() {
  raise(SIGUSR1);
  sum++;
}
KEEP void busy() {
  for (;;) sum++;
}

int main() {
  setvbuf(stdout, nullptr, _IOLBF, 0);
  if (pipe(pipes) != 0) return 1;
  signal(SIGUSR1, in_handler);
  std::thread([] { here("one"), transfer(&accounts, &audit); }).detach();
  std::thread([] { here("two"), transfer(&audit, &accounts); }).detach();
  wait_for(4);
  std::thread([] { here("writer"), write_prices(); }).detach();
  wait_for(6);  // it has the lock
  std::thread([] { here("reader"), read_prices(); }).detach();
  std::thread([] { here("handler"), interrupted(); }).detach();
  std::thread([] { here("timed"), wait_long(); }).detach();
  for (int i = 0; i < 3; i++) std::thread([] { here("alike"), outer(1); }).detach();
  std::thread([] { here("busy"), busy(); }).detach();
  wait_for(13);
  std::printf("ready\n");
  char byte;
  while (read(0, &byte, 1) > 0) continue;
  _exit(0);
}
