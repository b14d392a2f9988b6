// SPDX-License-Identifier: MIT
// Runs through the parts of libc that block all signals, and calls with bad pointers where the
// signals are blocked: alone nothing of it is a fault.
// event: named(string name, long n)
// event: execve(string path)
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

__attribute__((noinline)) long named(const char* name, long n) {
  __asm__ volatile("" : : "r"(name));
  return n + 1;
}

static atomic_long calls, detached;
static const char* const bad = (const char*)8;

static void* short_life(void* argument) {
  for (int i = 0; i < 10; ++i) {
    char* text = malloc(64 + i);
    text[0] = 0;
    free(text);
    calls++;
  }
  if ((long)argument % 3 == 0) pthread_exit(0);
  return 0;
}
static void* detached_life(void* argument) {
  short_life((void*)1);
  detached++;
  return argument;
}
static void many_threads(void) {
  pthread_t thread[100];
  for (int round = 0; round < 10; ++round) {
    for (long i = 0; i < 100; ++i) pthread_create(&thread[i], 0, short_life, (void*)i);
    for (int i = 0; i < 100; ++i) pthread_join(thread[i], 0);
  }
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  int made = 0;
  for (int i = 0; i < 500; ++i) {
    made += pthread_create(&thread[0], &attributes, detached_life, 0) == 0;
    while (made - detached > 20) sched_yield();
  }
  while (detached < made) sched_yield();
}

// Its creator has blocked all signals by the raw system call, and so has it.
static void* blocked_life(void* argument) {
  long sum = 0;
  for (int i = 0; i < 100; ++i) sum += named(bad, i);
  *(long*)argument = sum;
  return 0;
}
static long blocked_thread(void) {
  unsigned long all = ~0ul, before;
  long sum = 0;
  pthread_t thread;
  syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, &before, 8);
  pthread_create(&thread, 0, blocked_life, &sum);
  syscall(SYS_rt_sigprocmask, SIG_SETMASK, &before, 0, 8);
  pthread_join(thread, 0);
  return sum;
}

static int c11_life(void* argument) { return (int)named(bad, (long)argument); }

static atomic_int ticks;
static void on_tick(union sigval value) {
  named(value.sival_ptr, 0);
  ticks++;
}
static int timer_ticks(void) {
  struct sigevent event = {.sigev_notify = SIGEV_THREAD, .sigev_notify_function = on_tick};
  event.sigev_value.sival_ptr = (void*)bad;
  timer_t timer;
  if (timer_create(CLOCK_MONOTONIC, &event, &timer) != 0) return -1;
  struct itimerspec often = {{0, 1000000}, {0, 1000000}};
  timer_settime(timer, 0, &often, 0);
  while (ticks < 5) sched_yield();
  timer_delete(timer);
  return 5;
}

static const char* spawn(const char* path) {
  char *arguments[] = {"true", 0}, *environment[] = {0};
  pid_t pid = 0;
  int status = 0;
  const int error = posix_spawn(&pid, path, 0, 0, arguments, environment);
  if (error) return strerror(error);
  waitpid(pid, &status, 0);
  return WIFEXITED(status) ? "exits" : "is killed";
}

// Begins with all signals blocked, opens them by the raw system call, and survives its faults.
static sigjmp_buf back;
static void on_fault(int signal) {
  (void)signal;
  siglongjmp(back, 1);
}
static void* opens_raw(void* argument) {
  unsigned long none = 0;
  syscall(SYS_rt_sigprocmask, SIG_SETMASK, &none, 0, 8);
  volatile int recovered = 0;
  volatile int* volatile where = (volatile int*)bad;
  while (recovered < 20) {
    if (sigsetjmp(back, 1) == 0)
      *where = 1;
    else
      recovered++;
  }
  sigset_t mask;
  pthread_sigmask(SIG_SETMASK, 0, &mask);
  *(int*)argument = sigismember(&mask, SIGSEGV) ? -1 : recovered;
  return 0;
}
static int recovered_faults(void) {
  signal(SIGSEGV, on_fault);
  sigset_t all, before;
  sigfillset(&all);
  pthread_t thread;
  int recovered = 0;
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_create(&thread, 0, opens_raw, &recovered);
  pthread_sigmask(SIG_SETMASK, &before, 0);
  pthread_join(thread, 0);
  signal(SIGSEGV, SIG_DFL);
  return recovered;
}

static void* waits(void* argument) {
  for (;;) pause();
  return argument;
}

int main(void) {
  many_threads();
  printf("blocked_windows: %ld calls, %ld detached\n", (long)calls, (long)detached);
  printf("raw mask: %ld\n", blocked_thread());
  printf("recovered: %d\n", recovered_faults());
  thrd_t thread;
  int result = 0;
  thrd_create(&thread, c11_life, (void*)41);
  thrd_join(thread, &result);
  printf("thrd: %d, timer: %d\n", result, timer_ticks());
  printf("spawn: %s, ", spawn("/bin/true"));
  printf("%s, ", spawn("/nonexistent"));
  printf("%s\n", spawn(bad));
  printf("system: %d\n", system("exit 3"));
  pthread_t cancelled;
  void* how;
  pthread_create(&cancelled, 0, waits, 0);
  pthread_kill(cancelled, 0);
  pthread_cancel(cancelled);
  pthread_join(cancelled, &how);
  printf("cancelled: %d\n", how == PTHREAD_CANCELED);
  return 0;
}
