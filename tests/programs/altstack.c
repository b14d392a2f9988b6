// SPDX-License-Identifier: MIT
// Traced calls on a small alternate signal stack.
#include <signal.h>
#include <stdio.h>

#include "traced.h"

static char stack[16384];
static volatile int inside, on_it;

static void on_signal(int signal) {
  (void)signal;
  char here;
  on_it += &here > stack && &here < stack + sizeof stack;
  for (int i = 0; i < 100; ++i) inside += traced(i) == i + 1;
}

int main(void) {
  stack_t alternate = {.ss_sp = stack, .ss_size = sizeof stack};
  sigaltstack(&alternate, 0);
  struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};
  sigaction(SIGUSR1, &action, 0);
  for (int i = 0; i < 100; ++i) raise(SIGUSR1);
  stack_t now;
  sigaltstack(0, &now);
  printf("altstack: %d on it, %d calls, %s\n", on_it, inside,
         now.ss_sp == (void*)stack ? "still ours" : "replaced");
  return 0;
}
