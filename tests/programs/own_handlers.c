// SPDX-License-Identifier: MIT
// Installs its own SIGSEGV and SIGTRAP handlers, checks that sigaction shows its own view, and gets
// its own faults and breakpoints with the right address.
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "traced.h"

static sigjmp_buf back;
static volatile int faults, traps;
static void* volatile fault_address;

static void on_segv(int signal, siginfo_t* info, void* context) {
  (void)signal, (void)context;
  fault_address = info->si_addr;
  ++faults;
  traced(1);
  siglongjmp(back, 1);
}
static void on_trap(int signal, siginfo_t* info, void* context) {
  (void)signal, (void)info, (void)context;
  traced(2);
  ++traps;
}

int main(void) {
  volatile long base = 0x1000;
  struct sigaction old, segv, trap;
  memset(&segv, 0, sizeof segv);
  memset(&trap, 0, sizeof trap);
  segv.sa_sigaction = on_segv;
  segv.sa_flags = SA_SIGINFO;
  trap.sa_sigaction = on_trap;
  trap.sa_flags = SA_SIGINFO;
  volatile int right = 0;
  sigaction(SIGSEGV, &segv, &old);
  right += old.sa_handler == SIG_DFL;
  sigaction(SIGTRAP, &trap, &old);
  right += old.sa_handler == SIG_DFL;
  sigaction(SIGSEGV, 0, &old);
  right += old.sa_sigaction == on_segv && (old.sa_flags & SA_SIGINFO);
  for (int i = 0; i < 100; ++i) {
    if (sigsetjmp(back, 1) == 0) *(volatile int*)(base + i) = traced(i);
    right += fault_address == (void*)(base + i);
    __asm__ volatile("int3" ::: "memory");
    traced(i);
  }
  right += (void*)signal(SIGTRAP, SIG_DFL) == (void*)on_trap;
  printf("own_handlers: %d faults, %d traps, %d right\n", faults, traps, right);
  return 0;
}
