// SPDX-License-Identifier: MIT
// Executes itself in every way that libc has, one after the other. What it has become says what it
// was given: its arguments and its environment, in their order.
//
//   exec_ways            all ways that follow
//   exec_ways show WAY   what is executed
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "traced.h"

extern char** environ;

static char self[4096], folder[4096];
static char* own_environment[] = {"A=1", "LD_PRELOAD=", "B=2", "A=3", "no equals", "", "C=4", NULL};

static char** words_of(char* way) {
  static char* words[4];
  words[0] = "exec_ways", words[1] = "show", words[2] = way, words[3] = NULL;
  return words;
}

static void by_execve(char* way) { execve(self, words_of(way), own_environment); }
static void by_execve_empty(char* way) {
  char* none[] = {NULL};
  execve(self, words_of(way), none);
}
static void by_execve_null(char* way) {
  char** volatile none = NULL;
  execve(self, words_of(way), none);
}
/* As a crash handler does it, on a stack of its own. */
static char* handled_way;
static void handler(int signal) {
  (void)signal;
  execve(self, words_of(handled_way), own_environment);
}
static void by_handler(char* way) {
  static char small[12 * 1024];
  stack_t stack = {.ss_sp = small, .ss_size = sizeof small};
  struct sigaction action = {.sa_handler = handler, .sa_flags = SA_ONSTACK};
  handled_way = way;
  sigaltstack(&stack, NULL);
  sigaction(SIGUSR1, &action, NULL);
  raise(SIGUSR1);
}
static void by_execv(char* way) { execv(self, words_of(way)); }
static void by_execvp(char* way) {
  char path[8192];
  snprintf(path, sizeof path, "/nonexistent:%s", folder);
  setenv("PATH", path, 1);
  execvp("exec_ways", words_of(way));
}
static void by_execvpe(char* way) { execvpe(self, words_of(way), own_environment); }
static void by_execl(char* way) { execl(self, "exec_ways", "show", way, (char*)NULL); }
static void by_execlp(char* way) { execlp(self, "exec_ways", "show", way, (char*)NULL); }
static void by_execle(char* way) {
  execle(self, "exec_ways", "show", way, (char*)NULL, own_environment);
}
static void by_fexecve(char* way) { fexecve(open(self, O_RDONLY), words_of(way), own_environment); }
static void by_fexecve_path(char* way) {
  fexecve(open(self, O_PATH | O_CLOEXEC), words_of(way), own_environment);
}
static void by_execveat(char* way) {
  execveat(open(folder, O_PATH | O_DIRECTORY), "exec_ways", words_of(way), own_environment, 0);
}
static void by_proc_self(char* way) { execve("/proc/self/exe", words_of(way), own_environment); }
// The second exec is tried after the first has failed.
static void by_second_try(char* way) {
  execve("/nonexistent/program", words_of(way), own_environment);
  if (errno == ENOENT) by_execve(way);
}

// What the kernel cannot read is EFAULT, with us as without.
static void by_bad_pointers(char* way) {
  char* bad_entry[] = {"A=1", (char*)16, NULL};
  char** volatile bad = (char**)16;
  execve(self, words_of(way), bad);
  const int first = errno;
  execve(self, words_of(way), bad_entry);
  const int second = errno;
  execve((const char*)bad, words_of(way), own_environment);
  if (first == EFAULT && second == EFAULT && errno == EFAULT) by_execve(way);
}

static void* in_thread(void* way) {
  by_execve(way);
  return NULL;
}
static void by_thread(char* way) {
  pthread_t thread;
  pthread_create(&thread, NULL, in_thread, way);
  pthread_join(thread, NULL);
}

static void text_of(pid_t pid, char* path, size_t size) {
  snprintf(path, size, "%s/exec_ways_text.%d", getenv("TMPDIR") ?: "/tmp", pid);
}
// A file without `#!`: execvp() gives it to the shell.
static void by_text(char* way) {
  char path[4200], line[8400];
  text_of(getpid(), path, sizeof path);
  const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0755);
  const int length = snprintf(line, sizeof line, "exec %s show %s\n", self, way);
  if (write(fd, line, (size_t)length) != length || close(fd)) _exit(9);
  char* words[] = {path, NULL};
  execvp(path, words);
}

static void after_vfork(char* way) {
  const pid_t pid = vfork();
  if (pid == 0) {
    execve(self, words_of(way), own_environment);
    _exit(127);
  }
  int status = -1;
  waitpid(pid, &status, 0);
  _exit(WEXITSTATUS(status));
}

static int cloned(void* way) {
  execve(self, words_of(way), own_environment);
  return 127;
}
static void after_clone(char* way) {
  enum { kStack = 32768 };  // as posix_spawn() has
  char* stack = mmap(NULL, kStack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  const pid_t pid = clone(cloned, stack + kStack, CLONE_VM | CLONE_VFORK | SIGCHLD, way);
  int status = -1;
  waitpid(pid, &status, 0);
  _exit(WEXITSTATUS(status));
}

static void by_posix_spawn(char* way) {
  pid_t pid;
  int status = -1;
  if (posix_spawn(&pid, self, NULL, NULL, words_of(way), own_environment) == 0)
    waitpid(pid, &status, 0);
  _exit(WEXITSTATUS(status));
}
static void by_system(char* way) {
  char line[8400];
  snprintf(line, sizeof line, "exec %s show %s", self, way);
  _exit(WEXITSTATUS(system(line)));
}
static void by_popen(char* way) {
  char line[8400];
  snprintf(line, sizeof line, "exec %s show %s", self, way);
  FILE* pipe = popen(line, "r");
  while (fgets(line, sizeof line, pipe)) fputs(line, stdout);
  const int status = pclose(pipe);
  fflush(stdout);
  _exit(WEXITSTATUS(status));
}

static const struct {
  char* way;
  void (*run)(char* way);
} ways[] = {
    {"execve", by_execve},
    {"execve_empty", by_execve_empty},
    {"execve_null", by_execve_null},
    {"execv", by_execv},
    {"execvp", by_execvp},
    {"execvpe", by_execvpe},
    {"execl", by_execl},
    {"execlp", by_execlp},
    {"execle", by_execle},
    {"fexecve", by_fexecve},
    {"fexecve_path", by_fexecve_path},
    {"execveat", by_execveat},
    {"proc_self", by_proc_self},
    {"second_try", by_second_try},
    {"bad_pointers", by_bad_pointers},
    {"thread", by_thread},
    {"text", by_text},
    {"vfork", after_vfork},
    {"clone", after_clone},
    {"posix_spawn", by_posix_spawn},
    {"system", by_system},
    {"popen", by_popen},
    {"handler", by_handler},
};

static int show(int argc, char** argv, char** envp) {
  traced(42);
  for (int i = 0; i < argc; ++i) printf("argument %s\n", argv[i]);
  if (envp != environ) printf("the environment of main() is another one\n");
  for (char** entry = environ; *entry; ++entry) printf("entry %s\n", *entry);
  return 7;
}

int main(int argc, char** argv, char** envp) {
  if (argc == 3 && strcmp(argv[1], "show") == 0) return show(argc, argv, envp);
  const ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
  if (length < 0) return 1;
  unsetenv("_");  // bash names in it what it has started, which may be a tool that starts us
  unsetenv("PATCHBAY_DIR");  // is the tool's, and not there in a recorded program
  memcpy(folder, self, (size_t)length);
  *strrchr(folder, '/') = '\0';
  for (size_t i = 0; i < sizeof ways / sizeof *ways; ++i) {
    printf("way %s\n", ways[i].way);
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
      ways[i].run(ways[i].way);
      _exit(99);
    }
    int status = -1;
    waitpid(child, &status, 0);
    char path[4200];
    text_of(child, path, sizeof path);
    unlink(path);
    printf("status %d\n", WIFEXITED(status) ? WEXITSTATUS(status) : -status);
  }
  return 0;
}
