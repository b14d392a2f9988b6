// SPDX-License-Identifier: MIT
//
// What the agent costs a program that does nothing else: CPU time and page faults of a program that
// calls one function and ends, alone, with the agent at rest, with an event of the function, and
// with the limit: a library that makes what an agent has to have of the kernel (a directory, a
// socket, a reserved buffer file, a thread, a patched function), and nothing to use it with.
// The four are run in turn; medians. Then the memory of a program that sleeps, alone and with the
// agent at rest.
//
//   start [RUNS]
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace {

constexpr char kProgram[] = R"(
#include <unistd.h>
__attribute__((noinline)) int hello(int n) { __asm__ volatile(""); return n + 1; }
int main(int argc, char **argv) {
  if (argc > 1) pause();
  return hello(41) != 42;
}
)";

// As much of the buffer is reserved as the agent's is, and the event's stub is a page.
constexpr char kLimit[] = R"(
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/membarrier.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>
static int listener;
static void *serve(void *none) {
  struct pollfd one = {listener, POLLIN, 0};
  poll(&one, 1, -1);
  return none;
}
static char directory[64], path[96];
__attribute__((constructor)) static void begin(void) {
  unsetenv("LD_PRELOAD");
  snprintf(directory, sizeof directory, "%s/%d", getenv("LIMIT_DIR"), getpid());
  mkdir(directory, 0700);
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  snprintf(address.sun_path, sizeof address.sun_path, "%s/ctl.sock", directory);
  listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  bind(listener, (struct sockaddr *)&address, sizeof address);
  listen(listener, 16);
  snprintf(path, sizeof path, "%s/buffer", directory);
  const size_t size = 3200 << 10;
  int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  posix_fallocate(file, 0, size);
  mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  char *stub = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  const int memory = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
  char bytes[256];
  memset(bytes, 0x90, sizeof bytes);
  pwrite(memory, bytes, sizeof bytes, (long)stub);
  syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_SYNC_CORE, 0, 0);
  for (int phase = 0; phase < 3; phase++) {
    pwrite(memory, (char *)begin, 16, (long)begin);
    syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE, 0, 0);
  }
  pthread_t thread;
  pthread_create(&thread, NULL, serve, NULL);
}
__attribute__((destructor)) static void end(void) {
  unlink(path);
  strcat(directory, "/ctl.sock");
  unlink(directory);
  directory[strlen(directory) - 9] = 0;
  rmdir(directory);
}
)";

std::string g_directory;

std::string compile(const char* name, const char* text, const char* flags) {
  const std::string base = g_directory + "/" + name;
  std::ofstream(base + ".c") << text;
  if (std::system(("cc -w -O1 " + std::string(flags) + " -o " + base + " " + base + ".c").c_str()))
    std::exit(1);
  return base;
}

struct Cost {
  double cpu_ms;
  long faults;
};

// KB of a process, as /proc/PID/smaps_rollup has them.
struct Memory {
  long rss = 0, pss = 0, dirty = 0;
};

Memory memory_of(pid_t pid) {
  Memory memory;
  std::ifstream rollup("/proc/" + std::to_string(pid) + "/smaps_rollup");
  for (std::string name, rest; rollup >> name && std::getline(rollup, rest);) {
    if (name == "Rss:") memory.rss = std::atol(rest.c_str());
    if (name == "Pss:") memory.pss = std::atol(rest.c_str());
    if (name == "Private_Dirty:") memory.dirty = std::atol(rest.c_str());
  }
  return memory;
}

// Of a program that sleeps. With an agent it is looked at when that serves.
Memory asleep(const std::string& program, std::vector<std::string> variables, bool has_agent) {
  std::vector<char*> environment;
  for (std::string& one : variables) environment.push_back(one.data());
  environment.push_back(nullptr);
  char sleeps[] = "sleep";
  char* argv[] = {const_cast<char*>(program.c_str()), sleeps, nullptr};
  const pid_t pid = ::vfork();
  if (pid == 0) {
    ::execve(program.c_str(), argv, environment.data());
    ::_exit(127);
  }
  const std::string socket = g_directory + "/" + std::to_string(pid) + "/ctl.sock";
  for (int i = 0; has_agent && i < 500 && ::access(socket.c_str(), F_OK); i++) ::usleep(10000);
  ::usleep(300000);
  const Memory memory = memory_of(pid);
  ::kill(pid, SIGTERM);
  ::waitpid(pid, nullptr, 0);
  return memory;
}

Cost run(const std::string& program, const std::vector<std::string>& variables) {
  std::vector<char*> environment;
  for (const std::string& one : variables) environment.push_back(const_cast<char*>(one.c_str()));
  environment.push_back(nullptr);
  char* argv[] = {const_cast<char*>(program.c_str()), nullptr};
  const pid_t pid = ::vfork();
  if (pid == 0) {
    ::execve(program.c_str(), argv, environment.data());
    ::_exit(127);
  }
  int status = 0;
  rusage used{};
  ::wait4(pid, &status, 0, &used);
  if (status != 0) {
    std::fprintf(stderr, "start: the program has ended with status %x\n", unsigned(status));
    std::exit(1);
  }
  const auto ms = [](const timeval& time) {
    return double(time.tv_sec) * 1e3 + double(time.tv_usec) / 1e3;
  };
  return {ms(used.ru_utime) + ms(used.ru_stime), used.ru_minflt};
}

Cost median(std::vector<Cost> costs) {
  const auto middle = costs.begin() + long(costs.size() / 2);
  std::nth_element(costs.begin(), middle, costs.end(),
                   [](const Cost& a, const Cost& b) { return a.cpu_ms < b.cpu_ms; });
  return *middle;
}

}  // namespace

int main(int argc, char** argv) {
  const int runs = argc > 1 ? std::atoi(argv[1]) : 100;
  char made[] = "/dev/shm/patchbay-bench.XXXXXX";
  if (!::mkdtemp(made)) return 1;
  g_directory = made;
  const std::string program = compile("program", kProgram, "");
  const std::string limit = compile("limit.so", kLimit, "-shared -fPIC -pthread");
  const std::string agent =
      std::filesystem::read_symlink("/proc/self/exe").parent_path() / "../lib/libpatchbay.so";
  const std::string preload = "LD_PRELOAD=" + agent;
  const std::string directory = "PATCHBAY_DIR=" + g_directory;
  const struct {
    const char* what;
    std::vector<std::string> variables;
  } rows[] = {
      {"alone", {}},
      {"limit", {"LD_PRELOAD=" + limit, "LIMIT_DIR=" + g_directory}},
      {"agent at rest", {preload, directory}},
      {"with an event",
       {preload, directory, "PATCHBAY_FUNCTION_EVENTS=hello(int n)",
        "PATCHBAY_TRACE_EVENT=functions:hello"}},
  };
  std::vector<Cost> costs[4];
  for (int i = 0; i < runs; i++)
    for (size_t row = 0; row < 4; row++) costs[row].push_back(run(program, rows[row].variables));
  const Cost alone = median(costs[0]);
  for (size_t row = 0; row < 4; row++) {
    const Cost cost = median(costs[row]);
    std::printf("%-14s %6.2f ms CPU %5ld page faults    more than alone: %6.2f ms %5ld\n",
                rows[row].what, cost.cpu_ms, cost.faults, cost.cpu_ms - alone.cpu_ms,
                cost.faults - alone.faults);
  }
  const Memory without = asleep(program, {}, false),
               with = asleep(program, rows[2].variables, true);
  std::printf("agent at rest  %ld KB resident (Rss), %ld KB as Pss, %ld KB private and dirty\n",
              with.rss - without.rss, with.pss - without.pss, with.dirty - without.dirty);
  return std::system(("rm -r " + g_directory).c_str()) != 0;
}
