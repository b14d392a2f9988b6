// SPDX-License-Identifier: MIT
// Executes a program in every way that libc offers, with this environment, another and none: case
// 83. The program executed is itself, or ARGUMENT: it says its arguments and environment.
#include <fcntl.h>
#include <libgen.h>
#include <spawn.h>
#include <sys/syscall.h>

#include "attach_case.h"

extern char** environ;
static char self[4096];
static char* other_environment[] = {(char*)"ONLY=this", 0};
static char* no_environment[] = {0};

static int by_name(const void* a, const void* b) { return strcmp(*(char**)a, *(char**)b); }
static int show(int argc, char** argv) {
  size_t count = 0;
  for (int i = 1; i < argc; i++) printf("%s ", argv[i]);
  while (environ[count]) count++;
  qsort(environ, count, sizeof *environ, by_name);
  printf("|");
  for (size_t i = 0; i < count; i++)
    if (strncmp(environ[i], "_=", 2) != 0) printf(" %s", environ[i]);
  printf("\n");
  fflush(stdout);
  return 11;
}

enum way { kExecv, kExecve, kExecvp, kExecvpe, kExecl, kExecle, kExeclp, kFexecve, kExecveat,
           kSystemCall, kWays };
static const char* const kWayNames[] = {"execv", "execve", "execvp", "execvpe", "execl", "execle",
                                        "execlp", "fexecve", "execveat", "syscall"};
static void execute(enum way way, char** environment) {
  char* arguments[] = {self, (char*)"show", (char*)kWayNames[way], 0};
  switch (way) {
    case kExecv: environ = environment; execv(self, arguments); break;
    case kExecve: execve(self, arguments, environment); break;
    case kExecvp: environ = environment; execvp(self, arguments); break;
    case kExecvpe: execvpe(self, arguments, environment); break;
    case kExecl: environ = environment; execl(self, self, "show", "execl", (char*)0); break;
    case kExecle: execle(self, self, "show", "execle", (char*)0, environment); break;
    case kExeclp: environ = environment; execlp(self, self, "show", "execlp", (char*)0); break;
    case kFexecve: fexecve(open(self, O_RDONLY | O_CLOEXEC), arguments, environment); break;
    case kExecveat: execveat(AT_FDCWD, self, arguments, environment, 0); break;
    default: syscall(SYS_execve, self, arguments, environment);
  }
  _exit(99);
}
static void expect(const char* what, pid_t child, int wanted) {
  int status = 0;
  if (waitpid(child, &status, 0) != child || status != wanted << 8)
    wrong("%s: ended with %#x", what, status);
}
static void by_spawn(char** environment) {
  char* arguments[] = {self, (char*)"show", (char*)"posix_spawn", 0};
  pid_t child = -1;
  note("posix_spawn", posix_spawn(&child, self, 0, 0, arguments, environment));
  expect("posix_spawn", child, 11);
  arguments[2] = (char*)"posix_spawnp";
  note("posix_spawnp", posix_spawnp(&child, self, 0, 0, arguments, environment));
  expect("posix_spawnp", child, 11);
}
static void by_shell(void) {
  char command[8192], line[8192];
  snprintf(command, sizeof command, "'%s' show system", self);
  int status = system(command);
  if (status != 11 << 8) wrong("system: %#x", status);
  snprintf(command, sizeof command, "'%s' show popen", self);
  FILE* pipe = popen(command, "r");
  while (pipe && fgets(line, sizeof line, pipe)) fputs(line, stdout);
  if (!pipe || pclose(pipe) != 11 << 8) wrong("popen");
  fflush(stdout);
}

int main(int argc, char** argv) {
  setvbuf(stdout, 0, _IOFBF, BUFSIZ);
  if (argc > 1 && strcmp(argv[1], "show") == 0) return show(argc, argv);
  if (readlink("/proc/self/exe", self, sizeof self - 1) < 0) return 2;
  char** environments[] = {environ, other_environment, no_environment};
  ready();
  wait_until_told();
  for (int e = 0; e < 3; e++) {
    for (int way = 0; way < kWays; way++) {
      fflush(stdout);
      pid_t child = way % 2 ? vfork() : fork();
      if (child == 0) {
        char** own = environ;
        execute((enum way)way, environments[e] ? environments[e] : own);
      }
      environ = environments[0];  // a child of vfork() writes to our memory
      expect(kWayNames[way], child, 11);
    }
    by_spawn(environments[e]);
  }
  by_shell();
  static char missing[] = "/no/such/program";
  char* arguments[] = {missing, 0};
  noted("execve of nothing", execve(missing, arguments, environ));
  int result = finish();
  if (argc > 1) return result;
  char* last[] = {self, (char*)"show", (char*)"the program itself", 0};
  execve(self, last, other_environment);
  return 98;
}
