/* SPDX-License-Identifier: MIT */
/*
 * Calls for which a process has to have one thread, or whose threads may not differ in what they
 * may do. Prints what they give; traced() is called before, between and behind them. As root all of
 * it is done, else what a user may.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "traced.h"

static int next;
static void say(const char* what, long result) {
  printf("%s: %s\n", what, result < 0 ? strerror(errno) : "ok");
  fflush(stdout);
  traced(next++);
}

static void keep_capabilities(void) {
  struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  struct __user_cap_data_struct data[2];
  say("capget", syscall(SYS_capget, &header, data));
  say("keepcaps", prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0));
  say("setresgid", setresgid(65534, 65534, 65534));
  say("setresuid", setresuid(65534, 65534, 65534));
  data[0].effective = data[0].permitted;
  data[1].effective = data[1].permitted;
  say("capset", syscall(SYS_capset, &header, data));
  say("setgroups", setgroups(0, NULL));
  say("setresuid again", setresuid(1000, 1000, 1000));
  say("setegid", setegid(1000));
}

/* Without CAP_SETUID in this thread alone. */
static void lose_one(void) {
  struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  struct __user_cap_data_struct data[2];
  syscall(SYS_capget, &header, data);
  data[0].effective &= ~(1u << CAP_SETUID);
  data[0].permitted &= ~(1u << CAP_SETUID);
  say("capset", syscall(SYS_capset, &header, data));
  say("setuid", setuid(65534));
}

static void unshares(void) {
  say("unshare CLONE_NEWUSER", unshare(CLONE_NEWUSER));
  say("unshare CLONE_FILES", unshare(CLONE_FILES));
}

static void joins(void) {
  int own = open("/proc/self/ns/user", O_RDONLY | O_CLOEXEC);
  say("setns", setns(own, CLONE_NEWUSER)); /* EINVAL: it is there already */
  close(own);
}

/* Each in a child, and the last one in the first process itself. */
static void in_child(const char* name, void (*run)(void)) {
  fflush(stdout);
  pid_t child = fork();
  if (child == 0) {
    next = 100;
    run();
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  printf("%s: status %d\n", name, status);
  fflush(stdout);
  traced(next++);
}

int main(int argc, char** argv) {
  const char* what = argc > 1 ? argv[1] : "all";
  if (!strcmp(what, "until told")) fcntl(0, F_SETFL, O_NONBLOCK);
  sigset_t before, after;
  memset(&before, 0, sizeof before), memset(&after, 0, sizeof after);
  sigprocmask(SIG_SETMASK, NULL, &before);
  if (!strcmp(what, "children")) {
    in_child("keep", keep_capabilities);
    in_child("lose", lose_one);
    in_child("unshare", unshares);
    in_child("join", joins);
  }
  if (!strcmp(what, "keep")) keep_capabilities();
  if (!strcmp(what, "lose")) lose_one();
  if (!strcmp(what, "unshare")) unshares();
  if (!strcmp(what, "join")) joins();
  if (!strcmp(what, "often"))
    for (int i = 0; i < 50; i++) joins();
  if (!strcmp(what, "until told")) /* a byte on stdin */
    for (char byte; read(0, &byte, 1) < 0; usleep(1000)) joins();
  sigprocmask(SIG_SETMASK, NULL, &after);
  say("the same signals are blocked", memcmp(&before, &after, sizeof before) ? -1 : 0);
  printf("descriptors:");
  for (int fd = 0; fd < 64; fd++)
    if (fcntl(fd, F_GETFD) >= 0) printf(" %d", fd);
  printf("\ncount: %d\n", next);
  return 0;
}
