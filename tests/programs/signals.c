// SPDX-License-Identifier: MIT
// A timer's signal interrupts traced calls, and the handler makes traced calls itself.
#include <signal.h>
#include <stdio.h>
#include <sys/time.h>

#include "traced.h"

static volatile sig_atomic_t fired, wrong;

static void on_alarm(int signal) {
  (void)signal;
  for (int i = 0; i < 10; ++i) wrong += traced(i) != i + 1;
  ++fired;
}

int main(void) {
  struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
  sigaction(SIGALRM, &action, 0);
  struct itimerval every = {{0, 500}, {0, 500}};
  setitimer(ITIMER_REAL, &every, 0);
  for (int i = 0; fired < 200; i = (i + 1) % 1000) wrong += traced(i) != i + 1;
  struct itimerval off = {{0, 0}, {0, 0}};
  setitimer(ITIMER_REAL, &off, 0);
  printf("signals: %d wrong\n", (int)wrong);
  return 0;
}
