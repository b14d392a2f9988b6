// SPDX-License-Identifier: MIT
//
// standin: a program that plays a kernel, so that what is written for a kernel's tracefs (its own
// tests above all) finds events and functions of the expected names under our tree. Run it under
// the agent. One thread per processor makes a thousand turns a second, like a timer tick: an
// interrupt, timers, a wakeup, a switch of tasks, a piece of work, a system call.
//
//   standin [--rate=HZ] [--forks=RATE] [--kallsyms FILE] [--follow SOCKET] [--modules SOCKET]
//   standin --attach SOCKET -- COMMAND…
//   standin --module SOCKET load|unload NAME
//
//   --rate=HZ        turns a second of each processor (1000); 0: it stands still
//   --forks=RATE     tasks made, run and ended a second (0: none)
//   --kallsyms FILE  writes its functions and data in the form of /proc/kallsyms
//   --follow SOCKET  plays the kernel for the processes that attach there too (follow.h)
//   --modules SOCKET loads and unloads libraries for who asks there (modules.h)
//   --attach SOCKET  runs the command as one of these, with all that it starts
//
// When all is up it prints "standin PID". It ends with a signal.
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "follow.h"
#include "free_running.h"
#include "kallsyms.h"
#include "kernel.h"
#include "modules.h"

namespace {

struct Options {
  standin::Pace pace;
  const char* kallsyms = nullptr;
  const char* follow = nullptr;
  const char* modules = nullptr;
};

constexpr char kUsage[] =
    "usage: standin [--rate=HZ] [--forks=RATE] [--kallsyms FILE] [--follow SOCKET]\n"
    "               [--modules SOCKET]\n"
    "       standin --attach SOCKET -- COMMAND…\n"
    "       standin --module SOCKET load|unload NAME\n";

constexpr unsigned kMaxRate = 1000000;

// The number behind "--name=", if the argument is that; at most kMaxRate.
bool number_option(const char* argument, const char* name, unsigned* value) {
  const size_t length = strlen(name);
  if (strncmp(argument, name, length) != 0) return false;
  char* end = nullptr;
  const unsigned long number = strtoul(argument + length, &end, 10);
  if (end == argument + length || *end || number > kMaxRate) return false;
  *value = unsigned(number);
  return true;
}

bool parse(int argc, char** argv, Options* options) {
  for (int i = 1; i < argc; i++) {
    if (number_option(argv[i], "--rate=", &options->pace.rate)) continue;
    if (number_option(argv[i], "--forks=", &options->pace.forks)) continue;
    if (i + 1 == argc) return false;
    const char** value = strcmp(argv[i], "--kallsyms") == 0  ? &options->kallsyms
                         : strcmp(argv[i], "--follow") == 0  ? &options->follow
                         : strcmp(argv[i], "--modules") == 0 ? &options->modules
                                                             : nullptr;
    if (!value) return false;
    *value = argv[++i];
  }
  return true;
}

// linux_proc_banner is the text of /proc/version, as in a kernel.
void fill_banner() {
  const int fd = open("/proc/version", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return;
  const ssize_t length = read(fd, linux_proc_banner, standin_banner_room - 1);
  linux_proc_banner[length > 0 ? length : 0] = 0;
  close(fd);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 4 && strcmp(argv[1], "--attach") == 0 && strcmp(argv[3], "--") == 0)
    return standin::attach(argv[2], argv + 4);
  if (argc == 5 && strcmp(argv[1], "--module") == 0)
    return standin::change_module(argv[2], argv[3], argv[4]);
  Options options;
  if (!parse(argc, argv, &options)) {
    fputs(kUsage, stderr);
    return 2;
  }
  fill_banner();
  if (options.kallsyms && !standin::write_kallsyms(options.kallsyms)) {
    perror(options.kallsyms);
    return 1;
  }
  if (options.follow && !standin::follow_at(options.follow)) {
    perror(options.follow);
    return 1;
  }
  if (options.modules && !standin::serve_modules_at(options.modules)) {
    perror(options.modules);
    return 1;
  }
  standin::run_freely(options.pace);
  printf("standin %d\n", getpid());
  fflush(stdout);
  for (;;) pause();
}
