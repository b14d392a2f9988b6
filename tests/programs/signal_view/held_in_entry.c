// SPDX-License-Identifier: MIT
// Runs a program that has a thread with an int3 in front of its call of a function whose address is
// in r15: holds the thread behind the first instruction of that function until the program sends
// itself SIGCONT. Ends as the program does.
#define _GNU_SOURCE
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/types.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char** argv) {
  const pid_t program = fork();
  if (program == 0) {
    ptrace(PTRACE_TRACEME, 0, 0, 0);
    raise(SIGSTOP);
    execvp(argv[1], argv + 1);
    _exit(127);
  }
  int status = 0;
  pid_t held = 0;
  waitpid(program, &status, 0);
  ptrace(PTRACE_SETOPTIONS, program, 0, PTRACE_O_TRACECLONE | PTRACE_O_EXITKILL);
  ptrace(PTRACE_CONT, program, 0, 0);
  for (pid_t stopped; (stopped = waitpid(-1, &status, __WALL)) > 0;) {
    if (!WIFSTOPPED(status)) {
      if (stopped != program) continue;
      return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    }
    int sig = WSTOPSIG(status);
    if (sig == SIGSTOP || status >> 16) sig = 0;  // a new thread, an event
    struct user_regs_struct regs;
    ptrace(PTRACE_GETREGS, stopped, 0, &regs);
    if (sig == SIGTRAP && stopped != program && !held) {
      for (held = stopped; regs.rip <= regs.r15 || regs.rip > regs.r15 + 4;) {
        ptrace(PTRACE_SINGLESTEP, held, 0, 0);
        waitpid(held, &status, __WALL);
        ptrace(PTRACE_GETREGS, held, 0, &regs);
      }
      continue;
    }
    if (sig == SIGCONT && held) ptrace(PTRACE_CONT, held, 0, 0);
    if (sig == SIGTRAP && stopped == program) sig = 0;  // of execve
    ptrace(PTRACE_CONT, stopped, 0, sig);
  }
  return 99;
}
