// SPDX-License-Identifier: MIT
// What a program that is executed inherits: ignored signals stay ignored, handlers become the
// default, the mask and what waits stay. By each way of executing one, from processes and children
// that have set something by themselves. With an argument it first waits for a line.
// build: cc -O2 exec_inherits.c -lpthread
// events: work(int n)
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;
static char self[512];
static char* words[] = {self, "-", NULL, NULL};
__attribute__((noinline)) int work(int n) {
  __asm__ volatile("" : "+r"(n));
  return n * 3 + 1;
}
static void handler(int sig) { (void)sig; }

static const int five[] = {SIGILL, SIGTRAP, SIGBUS, SIGFPE, SIGSEGV};
static const char* const names[] = {"ILL", "TRAP", "BUS", "FPE", "SEGV"};
static void show(const char* what) {
  sigset_t mask, pending;
  struct sigaction action;
  sigprocmask(SIG_BLOCK, 0, &mask), sigpending(&pending);
  printf("%-22s", what);
  for (int i = 0; i < 5; i++) {
    sigaction(five[i], 0, &action);
    printf(" %s%s%s%s", names[i], action.sa_handler == SIG_IGN ? ":ignored" : "",
           sigismember(&mask, five[i]) ? ":blocked" : "",
           sigismember(&pending, five[i]) ? ":waits" : "");
  }
  printf("\n");
}

static void wait_for(pid_t child) {
  int status = 0;
  waitpid(child, &status, 0);
  if (status) printf("WRONG: status %d\n", status);
}
static void as(const char* what) { words[2] = (char*)what; }
static void change(int how, int sig) {
  sigset_t set;
  sigemptyset(&set), sigaddset(&set, sig);
  sigprocmask(how, &set, 0);
}

static void spawn(const char* what, posix_spawnattr_t* attributes, int with_path) {
  pid_t child;
  as(what);
  if (with_path ? posix_spawnp(&child, self, 0, attributes, words, environ)
                : posix_spawn(&child, self, 0, attributes, words, environ))
    printf("WRONG: %s\n", what);
  else
    wait_for(child);
}
static void all_spawns(void) {
  posix_spawnattr_t attributes;
  sigset_t set;
  spawn("posix_spawn", 0, 0), spawn("posix_spawnp", 0, 1);
  posix_spawnattr_init(&attributes);
  sigfillset(&set), posix_spawnattr_setsigdefault(&attributes, &set);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
  spawn("with all by default", &attributes, 0);
  sigemptyset(&set), sigaddset(&set, SIGBUS), posix_spawnattr_setsigmask(&attributes, &set);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  spawn("with SIGBUS blocked", &attributes, 0);
}
static void all_execs(void) {
  static const char* const by[] = {"execv",  "execl",   "execle", "execlp",
                                   "execvp", "execvpe", "fexecve"};
  for (int way = 0; way < 7; way++) {
    const pid_t child = fork();
    as(by[way]);
    char* last = words[2];
    if (child == 0) {
      raise(SIGTRAP);
      if (way == 0) execv(self, words);
      if (way == 1) execl(self, self, "-", last, (char*)0);
      if (way == 2) execle(self, self, "-", last, (char*)0, environ);
      if (way == 3) execlp(self, self, "-", last, (char*)0);
      if (way == 4) execvp(self, words);
      if (way == 5) execvpe(self, words, environ);
      if (way == 6) fexecve(open(self, O_RDONLY), words, environ);
      _exit(9);
    }
    wait_for(child);
  }
}
static void all_vforks(void) {
  as("vfork");
  pid_t child = vfork();
  if (child == 0) execv(self, words), _exit(9);
  wait_for(child);
  as("vfork, sets some");
  child = vfork();
  if (child == 0) {
    signal(SIGSEGV, SIG_DFL), signal(SIGFPE, SIG_DFL), signal(SIGBUS, SIG_IGN);
    change(SIG_BLOCK, SIGBUS), change(SIG_UNBLOCK, SIGILL);
    execv("/nonexistent/program", words);
    execv(self, words), _exit(9);
  }
  wait_for(child);
}
static void by_shells(void) {
  char command[600];
  snprintf(command, sizeof command, "exec '%s' - system", self);
  if (system(command)) printf("WRONG: system\n");
  snprintf(command, sizeof command, "exec '%s' - popen", self);
  FILE* pipe = popen(command, "r");
  while (fgets(command, sizeof command, pipe)) fputs(command, stdout);
  pclose(pipe);
}
static void* idle(void* unused) {
  sigset_t none;
  sigemptyset(&none);
  for (;;) sigsuspend(&none);
  return unused;
}
// What is ignored of the first three of these only a process of one thread hands on.
static void with_threads(void) {
  const pid_t child = fork();
  if (child == 0) {
    pthread_t thread;
    signal(SIGTRAP, SIG_DFL), signal(SIGSEGV, SIG_DFL), signal(SIGBUS, SIG_DFL);
    pthread_create(&thread, 0, idle, 0);
    as("with threads"), execv(self, words), _exit(9);
  }
  wait_for(child);
}

int main(int argc, char** argv) {
  char line[16];
  if (argc > 2) return show(argv[2]), 0;
  if (readlink("/proc/self/exe", self, sizeof self - 1) < 0) return 8;
  setvbuf(stdout, 0, _IONBF, 0);
  if (argc > 1 && !fgets(line, sizeof line, stdin)) return 9;
  for (int round = 0; round < 2; round++) {
    signal(SIGSEGV, round ? SIG_IGN : handler), signal(SIGBUS, round ? handler : SIG_IGN);
    signal(SIGTRAP, round ? SIG_DFL : SIG_IGN), signal(SIGFPE, SIG_IGN);
    signal(SIGILL, round ? SIG_IGN : SIG_DFL);
    for (int i = 0; i < 5; i++)
      if (five[i] != SIGBUS) change(round ? SIG_BLOCK : SIG_UNBLOCK, five[i]);
    for (int i = 0; i < 1000; i++) work(i);
    all_execs(), all_vforks(), all_spawns(), by_shells(), with_threads();
  }
  raise(SIGTRAP);
  execl("/nonexistent/program", "x", (char*)0);
  sigset_t now;
  sigpending(&now);
  if (sigismember(&now, SIGTRAP) != 1) printf("WRONG: it does not wait any more\n");
  as("exec"), execv(self, words);
  return 9;
}
