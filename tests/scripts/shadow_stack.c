// SPDX-License-Identifier: MIT
// A shadow stack in software: steps through the main thread of a process, one instruction after the
// other, keeps what each call has pushed, and compares each return with it. A processor with user
// shadow stacks kills the process where this counts a difference.
//   shadow_stack PID FIFO     the process waits to read a byte from FIFO, and calls getppid() where
//                             the look ends
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

enum { kDeepest = 1 << 16, kMostSteps = 300000 };
static uint64_t stack[kDeepest];
static int depth, memory;
static long calls, returns, differences;

static int is_prefix(uint8_t byte) {
  return byte == 0x66 || byte == 0xf2 || byte == 0xf3 || byte == 0x3e || (byte & 0xf0) == 0x40;
}

static void note_call(uint64_t rsp) {
  uint64_t address = 0;
  if (pread(memory, &address, 8, (off_t)rsp) == 8 && depth < kDeepest) stack[depth++] = address;
  calls++;
}

static void note_return(uint64_t from, uint64_t to) {
  returns++;
  if (depth == 0) return;  // of a call before the first step
  if (stack[--depth] == to) return;
  printf("the ret at %lx goes to %lx, its call said %lx\n", from, to, stack[depth]);
  differences++;
  int found = depth;
  while (found && stack[found - 1] != to) found--;  // a longjmp, or whatever else it was
  if (found) depth = found - 1;
}

// The signal to give on; -1: the process has ended.
static int step(pid_t pid, int sig) {
  int status;
  if (ptrace(PTRACE_SINGLESTEP, pid, 0, (void*)(long)sig) || waitpid(pid, &status, __WALL) != pid ||
      !WIFSTOPPED(status))
    return -1;
  return WSTOPSIG(status) == SIGTRAP ? 0 : WSTOPSIG(status);
}

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const pid_t pid = atoi(argv[1]);
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/mem", pid);
  memory = open(path, O_RDONLY);
  const int fifo = open(argv[2], O_WRONLY);
  int sig = 0;
  if (ptrace(PTRACE_SEIZE, pid, 0, 0) || ptrace(PTRACE_INTERRUPT, pid, 0, 0) ||
      waitpid(pid, 0, __WALL) != pid || write(fifo, "\n", 1) != 1)
    return perror("the process cannot be traced"), 1;
  struct user_regs_struct regs;
  ptrace(PTRACE_GETREGS, pid, 0, &regs);
  long steps = 0;
  for (; steps < kMostSteps; steps++) {
    uint8_t code[16] = {0};
    const uint64_t rip = regs.rip, rsp = regs.rsp;
    if (pread(memory, code, sizeof code, (off_t)rip) <= 0) break;
    if (code[0] == 0x0f && code[1] == 0x05 && regs.rax == SYS_getppid) break;
    int at = 0;
    while (at < 4 && is_prefix(code[at])) at++;
    const int group = (code[at + 1] >> 3) & 7;
    const int is_call = code[at] == 0xe8 || (code[at] == 0xff && group == 2);
    const int is_return = code[at] == 0xc3 || code[at] == 0xc2;
    if ((sig = step(pid, sig)) < 0) break;
    ptrace(PTRACE_GETREGS, pid, 0, &regs);
    if (is_call && regs.rsp == rsp - 8) note_call(regs.rsp);
    if (is_return && regs.rsp > rsp) note_return(rip, regs.rip);
  }
  if (sig >= 0) ptrace(PTRACE_DETACH, pid, 0, 0);
  fprintf(stderr, "%ld steps, %ld calls, %ld returns\n", steps, calls, returns);
  printf("differences: %ld\n", differences);
  return calls < 100;
}
