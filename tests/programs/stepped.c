// SPDX-License-Identifier: MIT
// A parent that steps its child by single instructions and, as debuggers do, keeps every SIGTRAP
// for itself. Places of the kind int3 must not change what the child computes.
// event: thrice(int x)
#include <signal.h>
#include <stdio.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

// Shorter than a jump, and with no unused bytes around it.
int thrice(int x);
__asm__(
    ".text\n"
    ".type before_thrice, @function\n"
    "before_thrice:\n"
    "  lea 1(%rdi), %eax\n"
    "  ret\n"
    ".size before_thrice, . - before_thrice\n"
    ".globl thrice\n"
    ".type thrice, @function\n"
    "thrice:\n"
    "  lea (%rdi,%rdi,2), %eax\n"
    "  ret\n"
    ".size thrice, . - thrice\n"
    ".type behind_thrice, @function\n"
    "behind_thrice:\n"
    "  lea 2(%rdi), %eax\n"
    "  ret\n"
    ".size behind_thrice, . - behind_thrice\n");

static int sum(void) {
  int all = 0;
  for (int i = 0; i < 5; ++i) all += thrice(i);
  return all;
}

int main(void) {
  const int before = sum();
  const pid_t child = fork();
  if (child == 0) {
    if (ptrace(PTRACE_TRACEME, 0, 0, 0) != 0) _exit(sum());  // forbidden here
    raise(SIGSTOP);
    _exit(sum());
  }
  int status = 0;
  while (waitpid(child, &status, 0) == child && WIFSTOPPED(status)) {
    const int signal = WSTOPSIG(status);
    const long pass = signal == SIGTRAP || signal == SIGSTOP ? 0 : signal;
    if (ptrace(PTRACE_SINGLESTEP, child, 0, pass) != 0) break;
  }
  printf("stepped: %d before, %d stepped\n", before, WIFEXITED(status) ? WEXITSTATUS(status) : -1);
  return 0;
}
