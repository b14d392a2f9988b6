// SPDX-License-Identifier: MIT
// The vectors that the kernel gives a process: behind the NULL of the environment lies the
// auxiliary vector, which runtimes find by walking from envp or from argv.
#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "traced.h"

static const char* auxv_behind(char** entries) {
  while (*entries) entries++;
  const Elf64_auxv_t* auxv = (const Elf64_auxv_t*)(entries + 1);
  unsigned found = 0, wrong = 0;
  for (int i = 0; i < 64 && auxv[i].a_type != AT_NULL; i++) {
    const unsigned long type = auxv[i].a_type;
    found += type == AT_PAGESZ || type == AT_PHDR || type == AT_RANDOM || type == AT_SYSINFO_EHDR;
    wrong += type != AT_HWCAP && auxv[i].a_un.a_val != getauxval(type);  // libc has its own
  }
  return found == 4 && !wrong ? "right" : "WRONG";
}

static int ours(const char* entry) {
  return !strncmp(entry, "LD_PRELOAD=", 11) || !strncmp(entry, "PATCHBAY_", 9);
}

// No entry twice, none without a '='; none of the tool's.
static const char* check_entries(char** entries) {
  for (char** one = entries; *one; one++) {
    const size_t name = strcspn(*one, "=");
    if (!(*one)[name]) return "WRONG: no '='";
    if (ours(*one) && strncmp(*one, "PATCHBAY_DIR=", 13)) return "WRONG: one of the tool's";
    for (char** other = one + 1; *other; other++)
      if (!strncmp(*one, *other, name + 1)) return "WRONG: twice";
  }
  return "right";
}

// What the process was started with, as it was: each text NAME=VALUE.
static const char* check_file(void) {
  static char text[1 << 20];
  const int fd = open("/proc/self/environ", O_RDONLY);
  const ssize_t size = read(fd, text, sizeof text - 1);
  close(fd);
  for (ssize_t at = 0; at < size; at += (ssize_t)strlen(text + at) + 1)
    if (!strchr(text + at, '=')) return "WRONG";
  return size > 0 ? "right" : "WRONG: empty";
}

int main(int argc, char** argv, char** envp) {
  extern char** environ;
  traced(1);
  printf("auxv behind envp: %s\n", auxv_behind(envp));
  printf("auxv behind argv: %s\n", auxv_behind(argv + argc + 1));
  printf("envp is environ: %s\n", envp == environ ? "right" : "WRONG");
  printf("entries: %s, /proc/self/environ: %s\n", check_entries(environ), check_file());
  printf("PATH: %s\n", getenv("PATH") ? "right" : "WRONG");
  for (int i = 0; i < 100; i++) {  // libc moves the table
    char name[32];
    snprintf(name, sizeof name, "NAME_%d", i);
    setenv(name, "value", 1);
  }
  unsetenv("NAME_0");
  printf("after setenv: %s %s\n", check_entries(environ), getenv("NAME_99"));
}
