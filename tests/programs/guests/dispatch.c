// SPDX-License-Identifier: MIT
// Syscall user dispatch, as wine and lazypoline use it: each system call of a thread is a SIGSYS of
// the program while its selector says so. A system call of a tracer would come there, too.
// event: work(int n)
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

static __thread volatile char selector;
static volatile int own, foreign, numbers[64];

__attribute__((noinline)) int work(int n) {
  __asm__ volatile("" : "+r"(n));
  return n * 3 + 1;
}

static void handler(int sig, siginfo_t* info, void* context) {
  (void)sig;
  selector = 0;
  greg_t* regs = ((ucontext_t*)context)->uc_mcontext.gregs;
  if (info->si_syscall == SYS_getppid) {
    own++;
  } else if (foreign < 64) {
    numbers[foreign++] = info->si_syscall;
  }
  regs[REG_RAX] = syscall(info->si_syscall, regs[REG_RDI], regs[REG_RSI], regs[REG_RDX],
                          regs[REG_R10], regs[REG_R8], regs[REG_R9]);
  selector = 1;
  // rt_sigreturn from where it is allowed.
  __asm__ volatile("mov %0, %%rsp\n jmp go_back" ::"r"((char*)context));
}
extern char code_begin[], code_end[];
__asm__(
    ".text\n.globl code_begin\ncode_begin:\n.globl go_back\ngo_back: mov $15, %eax\n syscall\n"
    " nop\n.globl code_end\ncode_end: nop\n");

static void* run(void* a) {
  if (prctl(PR_SET_SYSCALL_USER_DISPATCH, 1, code_begin, code_end - code_begin, &selector))
    return perror("dispatch"), a;
  long sum = 0;
  selector = 1;
  for (int i = 0; i < 1000; i++) {
    sum += work(i);
    if (i % 400 == 0) syscall(SYS_getppid);
  }
  selector = 0;
  return sum == 3 * 499500 + 1000 ? a : 0;
}

int main(void) {
  struct sigaction sa = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
  sigaction(SIGSYS, &sa, 0);
  for (int round = 0; round < 3; round++) {
    pthread_t thread;
    void* result;
    pthread_create(&thread, 0, run, (void*)1);
    pthread_join(thread, &result);
    printf("own %d, foreign %d, result %ld", own, foreign, (long)result);
    for (int i = 0; i < foreign; i++) printf(" %d", numbers[i]);
    puts("");
  }
  puts("calls work 3000");
  return foreign != 0;
}
