// SPDX-License-Identifier: MIT
//
// A process with 2,000 static events, and a client at its socket: how long all of them take to go
// on in one instance, and one of them in 100; what 100 idle instances hold; how fast trace_pipe
// gives lines end to end; and what a reader of `trace` costs two threads that write (CPU time an
// event).
//
//   instances [AGENT]       default: ../lib/libpatchbay.so beside this program
//   instances target        what it starts, with the agent preloaded
#include <fcntl.h>
#include <patchbay/trace_event.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>

#include "base/check.h"
#include "serve/client.h"

#define TEN(m, n) m(n##0) m(n##1) m(n##2) m(n##3) m(n##4) m(n##5) m(n##6) m(n##7) m(n##8) m(n##9)
#define HUNDRED(m, n)                                                                        \
  TEN(m, n##0)                                                                               \
  TEN(m, n##1)                                                                               \
  TEN(m, n##2) TEN(m, n##3) TEN(m, n##4) TEN(m, n##5) TEN(m, n##6) TEN(m, n##7) TEN(m, n##8) \
      TEN(m, n##9)
#define THOUSAND(m, n)                                                                 \
  HUNDRED(m, n##0)                                                                     \
  HUNDRED(m, n##1)                                                                     \
  HUNDRED(m, n##2) HUNDRED(m, n##3) HUNDRED(m, n##4) HUNDRED(m, n##5) HUNDRED(m, n##6) \
      HUNDRED(m, n##7) HUNDRED(m, n##8) HUNDRED(m, n##9)
#define DEFINE(n)                                                                \
  PB_TRACE_EVENT(many, many_##n, PB_FIELDS(PB_FIELD(int, a), PB_FIELD(long, b)), \
                 PB_PRINT("a=%d b=%ld", REC->a, REC->b));
#define USE(n) PB_TRACE(many_##n, i, i);

THOUSAND(DEFINE, 1)
THOUSAND(DEFINE, 2)

namespace {

using patchbay::serve::Client;
constexpr int kInstances = 100;

double now_ms() {
  return std::chrono::duration<double, std::milli>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// --- the traced process: answers each byte with its events and their CPU time so far

struct Writer {
  std::atomic<unsigned long> events{0}, cpu_ns{0};
};
Writer g_writers[2];
std::atomic<int> g_writing{0};

__attribute__((noinline)) void use_all(int i) { THOUSAND(USE, 1) THOUSAND(USE, 2) }

void write_events(Writer* writer) {
  for (int i = 0;;) {
    while (!g_writing) ::usleep(1000);
    for (int end = i + 10000; i != end; i++) PB_TRACE(many_1000, i, i);
    timespec cpu;
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &cpu);
    writer->cpu_ns = static_cast<unsigned long>(cpu.tv_sec * 1000000000 + cpu.tv_nsec);
    writer->events += 10000;
  }
}

int target() {
  for (Writer& writer : g_writers) std::thread(write_events, &writer).detach();
  for (char command; ::read(0, &command, 1) == 1;) {
    if (command == 'u') use_all(1);
    if (command == 'm')
      for (int i = 0; i < 1000000; i++) PB_TRACE(many_1000, i, i);
    if (command == 'w' || command == 's') g_writing = command == 'w';
    std::printf("%lu %lu\n", g_writers[0].events + g_writers[1].events,
                g_writers[0].cpu_ns + g_writers[1].cpu_ns);
    std::fflush(stdout);
  }
  std::_Exit(0);
}

// --- the client

class Target {
 public:
  explicit Target(const char* agent) {
    int in[2], out[2];
    PB_CHECK(::pipe2(in, O_CLOEXEC) == 0 && ::pipe2(out, O_CLOEXEC) == 0);
    pid_ = ::fork();
    if (pid_ == 0) {
      ::dup2(in[0], 0);
      ::dup2(out[1], 1);
      ::setenv("LD_PRELOAD", agent, 1);
      ::execl("/proc/self/exe", "instances", "target", nullptr);
      ::_exit(127);
    }
    in_ = in[1];
    out_ = ::fdopen(out[0], "r");
    ask('-');
  }
  ~Target() {
    ::close(in_);
    ::waitpid(pid_, nullptr, 0);
  }
  struct Count {
    unsigned long events = 0, cpu_ns = 0;
  };
  Count ask(char command) {
    Count count;
    PB_CHECK(::write(in_, &command, 1) == 1);
    PB_CHECK(std::fscanf(out_, "%lu %lu", &count.events, &count.cpu_ns) == 2);
    return count;
  }
  int pid() const { return pid_; }
  long pss_kb() const {
    FILE* file = std::fopen(("/proc/" + std::to_string(pid_) + "/smaps_rollup").c_str(), "r");
    long kb = 0;
    for (char line[256]; file && std::fgets(line, sizeof line, file);)
      if (std::sscanf(line, "Pss: %ld kB", &kb) == 1) break;
    if (file) std::fclose(file);
    return kb;
  }

 private:
  int pid_ = 0, in_ = -1;
  FILE* out_ = nullptr;
};

void put(Client& client, const std::string& path, const char* text) {
  auto written = client.write_all(path, text, true);
  if (written.ok()) return;
  std::fprintf(stderr, "instances: write %s %s failed\n", path.c_str(), text);
  std::exit(1);
}

void on_and_off(Client& client, const char* what, const std::string& path) {
  for (int round = 0; round < 3; round++) {
    const double start = now_ms();
    put(client, path, "1");
    const double on = now_ms();
    put(client, path, "0");
    std::printf("%-52s on %7.2f ms   off %7.2f ms\n", what, on - start, now_ms() - on);
  }
}

std::string instance(int i) { return "instances/i" + std::to_string(i); }

void many_instances(Client& client, const Target& target) {
  on_and_off(client, "2,000 events in the top instance", "events/many/enable");
  const long before = target.pss_kb();
  double start = now_ms();
  for (int i = 0; i < kInstances; i++) PB_CHECK(client.make_directory(instance(i)).ok());
  std::printf("%-52s    %7.2f ms   %ld KiB each, idle\n", "100 instances made", now_ms() - start,
              (target.pss_kb() - before) / kInstances);
  on_and_off(client, "2,000 events in one of 100 instances", instance(7) + "/events/many/enable");
  for (int round = 0; round < 3; round++) {
    double times[3] = {now_ms()};
    for (int on : {1, 0}) {
      for (int i = 0; i < kInstances; i++)
        put(client, instance(i) + "/events/many/many_1000/enable", on ? "1" : "0");
      times[2 - on] = now_ms();
    }
    std::printf("%-52s on %7.2f ms   off %7.2f ms\n", "one event in 100 instances",
                times[1] - times[0], times[2] - times[1]);
  }
  start = now_ms();
  for (int i = 0; i < kInstances; i++) PB_CHECK(client.remove_directory(instance(i)).ok());
  std::printf("%-52s    %7.2f ms\n", "100 instances removed", now_ms() - start);
}

// A million events recorded, then read to the end.
void pipe_lines(Client& client, Target& target) {
  put(client, "buffer_size_kb", "65536");
  put(client, "events/many/many_1000/enable", "1");
  target.ask('m');
  put(client, "events/many/many_1000/enable", "0");
  auto pipe = client.open("trace_pipe", O_RDONLY);
  PB_CHECK(pipe.ok());
  size_t lines = 0, bytes = 0;
  const double start = now_ms();
  for (;;) {
    auto piece = client.read(*pipe, 65536);
    if (!piece.ok() || piece->empty()) break;
    for (char c : *piece) lines += c == '\n';
    bytes += piece->size();
  }
  const double took = now_ms() - start;
  PB_CHECK(client.close(*pipe).ok());
  std::printf("trace_pipe through the socket: %zu lines, %zu bytes in %.0f ms: %.2f million/s\n",
              lines, bytes, took, double(lines) / took / 1000);
}

void read_beside_writers(Client& client, Target& target) {
  put(client, "buffer_size_kb", "1024");
  put(client, "events/many/many_1000/enable", "1");
  double ns[2] = {};
  target.ask('w');
  for (int round = 0; round < 6; round++) {
    const bool reads = round & 1;
    const Target::Count before = target.ask('-');
    size_t texts = 0;
    for (const double end = now_ms() + 1000; now_ms() < end;)
      reads ? void(texts += client.read_all("trace").ok()) : void(::usleep(10000));
    const Target::Count after = target.ask('-');
    ns[reads] = double(after.cpu_ns - before.cpu_ns) / double(after.events - before.events);
    std::printf("two writers, %-31s %6.2f ns of CPU an event (%zu texts read)\n",
                reads ? "trace read all the time:" : "nobody reads:", ns[reads], texts);
  }
  target.ask('s');
  std::printf("a reader of trace: %.2f x\n", ns[1] / ns[0]);
  put(client, "events/many/many_1000/enable", "0");
}

std::string agent_beside() {
  char self[4096];
  const ssize_t size = ::readlink("/proc/self/exe", self, sizeof self);
  std::string path(self, size > 0 ? size_t(size) : 0);
  for (int i = 0; i < 2; i++) path.resize(path.rfind('/'));
  return path + "/lib/libpatchbay.so";
}

}  // namespace

int main(int argc, char** argv) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  if (argc > 1 && std::strcmp(argv[1], "target") == 0) return target();
  const std::string agent = argc > 1 ? argv[1] : agent_beside();
  Target target(agent.c_str());
  auto client = Client::connect(target.pid());
  if (!client.ok()) {
    std::fprintf(stderr, "instances: the program started with %s has no agent\n", agent.c_str());
    return 1;
  }
  target.ask('u');
  many_instances(**client, target);
  pipe_lines(**client, target);
  read_beside_writers(**client, target);
}
