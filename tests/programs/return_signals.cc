// SPDX-License-Identifier: MIT
// Handlers on a stack of their own call hooked functions, between any two instructions of hooked
// functions; one handler leaves by siglongjmp.
// probe: ret_work ret_handler ret_leaf
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>

#include "return_program.h"

extern "C" {
KEEP long ret_leaf(long n) { return n * 3; }
KEEP long ret_work(long n) {
  return n < 2 ? ret_leaf(n) : after_call(ret_work(n - 2)) + ret_leaf(n);
}
KEEP long ret_handler(long n) { return ret_leaf(n) + ret_work(5); }
}

static volatile sig_atomic_t handled;
static sigjmp_buf back;

static void on_timer(int) {
  if (ret_handler(7) != 21 + 27) abort();
  handled = handled + 1;
}
static void on_usr1(int) { siglongjmp(back, 1); }

static __attribute__((noinline)) int leave_once(long n) {
  if (sigsetjmp(back, 1)) return 1;
  ret_work(n);
  raise(SIGUSR1);
  return 0;
}

int main() {
  gate();
  stack_t stack = {};
  stack.ss_size = 64 * 1024;
  stack.ss_sp = malloc(stack.ss_size);
  sigaltstack(&stack, nullptr);
  struct sigaction action = {};
  action.sa_handler = on_timer;
  action.sa_flags = SA_ONSTACK | SA_RESTART;
  sigaction(SIGALRM, &action, nullptr);
  action.sa_handler = on_usr1;
  action.sa_flags = SA_RESTART;
  sigaction(SIGUSR1, &action, nullptr);
  itimerval timer = {{0, 200}, {0, 200}};
  setitimer(ITIMER_REAL, &timer, nullptr);
  long sum = 0, rounds = 0, left = 0;
  while (handled < 1000 || rounds < 1000) {
    sum += ret_work(100);
    rounds++;
    left += leave_once(20);
  }
  timer = {};
  setitimer(ITIMER_REAL, &timer, nullptr);
  printf("%s %s\n", sum == rounds * 7650 ? "sums agree" : "sums differ",
         left == rounds ? "all left" : "some stayed");
  gate();
}
