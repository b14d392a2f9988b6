// SPDX-License-Identifier: MIT
// Calls the functions that the agent puts itself before, each a known number of times, from
// functions with names of their own.
#define _GNU_SOURCE
#include <execinfo.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/wait.h>
#include <unistd.h>

#include "traced.h"

extern char** environ;

static void on_signal(int sig) { (void)sig; }

static void* in_thread(void* argument) {
  traced((int)(long)argument);
  return argument;
}

__attribute__((noinline)) static void set_signals(void) {
  struct sigaction action = {.sa_handler = on_signal};
  for (int i = 0; i < 3; i++) sigaction(SIGUSR1, &action, 0);
  signal(SIGUSR2, on_signal);
  signal(SIGSEGV, SIG_DFL);
  sigset_t set, old;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR1);
  for (int i = 0; i < 4; i++) sigprocmask(SIG_BLOCK, &set, &old);
  for (int i = 0; i < 5; i++) pthread_sigmask(SIG_UNBLOCK, &set, 0);
}

__attribute__((noinline)) static int make_processes(void) {
  volatile int ends = 0;  // vfork() returns twice
  int status = 0;
  for (int i = 0; i < 2; i++) {
    const pid_t child = fork();
    if (child == 0) _exit(1);
    waitpid(child, &status, 0);
    ends += WEXITSTATUS(status);
  }
  for (int i = 0; i < 2; i++) {
    const pid_t child = vfork();
    if (child == 0) _exit(1);
    waitpid(child, &status, 0);
    ends += WEXITSTATUS(status);
  }
  ends += WEXITSTATUS(system("exit 1"));
  FILE* pipe = popen("exit 1", "r");
  if (pipe) ends += WEXITSTATUS(pclose(pipe));
  char* const words[] = {"sh", "-c", "exit 1", 0};
  pid_t child;
  if (posix_spawn(&child, "/bin/sh", 0, 0, words, environ) == 0) {
    waitpid(child, &status, 0);
    ends += WEXITSTATUS(status);
  }
  return ends;
}

__attribute__((noinline)) static int wait_for_nothing(void) {
  const struct timespec now = {0, 0};
  sigset_t none;
  sigemptyset(&none);
  struct epoll_event event;
  const int epoll = epoll_create1(0);
  int count = ppoll(0, 0, &now, &none) + pselect(0, 0, 0, 0, &now, &none) +
              epoll_pwait(epoll, &event, 1, 0, &none);
  close(epoll);
  return count;
}

__attribute__((noinline)) static long make_threads(void) {
  long sum = 0;
  for (long i = 0; i < 3; i++) {
    pthread_t thread;
    void* answer = 0;
    pthread_create(&thread, 0, in_thread, (void*)(i + 7));
    pthread_join(thread, &answer);
    sum += (long)answer;
  }
  return sum;
}

int main(void) {
  void* frames[16];
  set_signals();
  const int ends = make_processes();
  const int ready = wait_for_nothing();
  const long sum = make_threads();
  const int depth = backtrace(frames, 16);
  const int dumpable = prctl(PR_GET_DUMPABLE, 0, 0, 0, 0);
  printf("stand_ins: %d ends, %d ready, %ld, %d frames, %d\n", ends, ready, sum, depth > 1,
         dumpable);
  return 0;
}
