// SPDX-License-Identifier: MIT
//
// What following costs an exec: the look at the program, the environment, and both beside a child
// that is started and waited for. Goal: below a twentieth of that child.
//
//   exec_target [--benchmark_filter=REGEX] [--benchmark_format=json] …
#include <benchmark/benchmark.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "agent/exec_environment.h"
#include "agent/exec_target.h"

using namespace patchbay;

namespace {

constexpr char kAgent[] = "/bin/true";  // any file that can be read
constexpr ExecAdditions kAdd = {"/usr/lib/libpatchbay.so", "", "12345:/run/user/1000/patchbay"};

void decide(benchmark::State& state, const std::string& path) {
  for (auto _ : state)
    benchmark::DoNotOptimize(decide_exec(AT_FDCWD, path.c_str(), 0, kAgent).follow);
}

std::string script() {
  static char name[] = "/tmp/patchbay.bench.XXXXXX";
  if (const int fd = ::mkstemp(name); fd >= 0) ::close(fd);
  std::ofstream(name) << "#!/bin/sh\n";
  if (::chmod(name, 0755) != 0) std::abort();
  std::atexit([] { ::unlink(name); });
  return name;
}

void look_at_program(benchmark::State& state) { decide(state, "/bin/true"); }
void look_at_script(benchmark::State& state) {
  static const std::string path = script();
  decide(state, path);
}
void look_at_nothing(benchmark::State& state) { decide(state, "/usr/local/sbin/no such program"); }

struct Environment {
  std::vector<char*> slots;
  std::vector<char> text;
};

char** make(Environment* made) {
  const ExecRoom room = exec_environment_room(environ, kAdd);
  made->slots.resize(room.slots), made->text.resize(room.text);
  if (!make_exec_environment(environ, kAdd, made->slots.data(), room.slots, made->text.data(),
                             room.text))
    std::abort();
  return made->slots.data();
}

void environment(benchmark::State& state) {
  Environment made;
  for (auto _ : state) benchmark::DoNotOptimize(make(&made));
}

// /bin/true started and waited for. The time of it is the machine's, so it is real time.
void child(benchmark::State& state, bool looks) {
  Environment made;
  char name[] = "/bin/true";
  char* const words[] = {name, nullptr};
  for (auto _ : state) {
    const pid_t pid = ::vfork();
    if (pid == 0) {
      if (looks && decide_exec(AT_FDCWD, name, 0, kAgent).follow) make(&made);
      ::execve(name, words, environ);
      ::_exit(127);
    }
    ::waitpid(pid, nullptr, 0);
  }
}

BENCHMARK(look_at_program);
BENCHMARK(look_at_script);
BENCHMARK(look_at_nothing);
BENCHMARK(environment);
BENCHMARK_CAPTURE(child, as_it_is, false)->UseRealTime();
BENCHMARK_CAPTURE(child, looked_at, true)->UseRealTime();

}  // namespace
