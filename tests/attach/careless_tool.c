// SPDX-License-Identifier: MIT
// What attaches as most tools do: it stops every thread for a moment and lets it go, and repairs
// nothing. The harness has to see the EINTR that comes of it (tests/scripts/attach_cases.sh), and
// whatever else CARELESS in the environment says that it breaks.
//   careless_tool attach PID      careless_tool detach PID: nothing
#include <dirent.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

static const char* breaks;

// The last byte of the program's text, behind its code.
static void break_text(pid_t process) {
  char path[64], line[4096];
  unsigned long start, end;
  snprintf(path, sizeof path, "/proc/%d/maps", process);
  FILE* maps = fopen(path, "r");
  while (maps && fgets(line, sizeof line, maps))
    if (strstr(line, " r-xp ") && sscanf(line, "%lx-%lx", &start, &end) == 2) break;
  if (maps) fclose(maps);
  snprintf(path, sizeof path, "/proc/%d/mem", process);
  int memory = open(path, O_WRONLY);
  if (pwrite(memory, "\xcc", 1, (off_t)end - 1) != 1) perror("text");
  close(memory);
}
static void break_mask(pid_t thread) {
  uint64_t mask = 0;
  ptrace(PTRACE_GETSIGMASK, thread, sizeof mask, &mask);
  mask |= 1 << 11;
  ptrace(PTRACE_SETSIGMASK, thread, sizeof mask, &mask);
}
static void break_vectors(pid_t thread) {
  struct user_fpregs_struct vectors;
  ptrace(PTRACE_GETFPREGS, thread, 0, &vectors);
  memset(vectors.xmm_space, 0x11, sizeof vectors.xmm_space);
  ptrace(PTRACE_SETFPREGS, thread, 0, &vectors);
}

static void stop_and_go(pid_t thread) {
  int status;
  if (ptrace(PTRACE_SEIZE, thread, 0, 0) != 0 || ptrace(PTRACE_INTERRUPT, thread, 0, 0) != 0)
    return;
  if (waitpid(thread, &status, __WALL) != thread || !WIFSTOPPED(status)) return;
  if (strcmp(breaks, "mask") == 0) break_mask(thread);
  if (strcmp(breaks, "vectors") == 0) break_vectors(thread);
  ptrace(PTRACE_DETACH, thread, 0, 0);
}

int main(int argc, char** argv) {
  char path[64];
  if (argc != 3) return 2;
  if (strcmp(argv[1], "attach") != 0) return 0;
  breaks = getenv("CARELESS") ? getenv("CARELESS") : "";
  snprintf(path, sizeof path, "/proc/%d/task", atoi(argv[2]));
  DIR* tasks = opendir(path);
  if (!tasks) return 1;
  for (struct dirent* entry; (entry = readdir(tasks));)
    if (atoi(entry->d_name) > 0) stop_and_go(atoi(entry->d_name));
  closedir(tasks);
  if (strcmp(breaks, "text") == 0) break_text(atoi(argv[2]));
  return 0;
}
