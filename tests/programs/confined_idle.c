// SPDX-License-Identifier: MIT
// All threads of the process, the agent's with them, may only sleep, write and end. An agent of
// which nobody wants anything does no more than that.
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define ALLOW(number) \
  BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (number), 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

int main(void) {
  struct sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      ALLOW(SYS_poll),
      ALLOW(SYS_restart_syscall),
      ALLOW(SYS_write),
      ALLOW(SYS_clock_nanosleep),
      ALLOW(SYS_exit_group),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
  };
  struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
  const struct timespec moment = {0, 300000000}, looks = {2, 300000000};
  clock_nanosleep(CLOCK_MONOTONIC, 0, &moment, 0);  // the agent has started
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return 1;
  if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) != 0)
    return 2;
  clock_nanosleep(CLOCK_MONOTONIC, 0, &looks, 0);
  syscall(SYS_exit_group, 5);
}
