// SPDX-License-Identifier: MIT
//
// How long it takes to enable and disable many functions at once: makes a shared library of N
// functions (default 50,000) with ordinary prologues, loads it, defines an event for each, and
// switches all of them on and off through events/functions/enable, also while another thread calls
// them. Beside the time stands the CPU time of the thread that writes there, which a busy machine
// changes less. The same functions are then traced by the function tracer. Also prints the memory
// that the agent holds at rest, before and after. The limit (enable_limit.h) is measured last, with
// a library of its own.
//
//   enable [N]
#include <dlfcn.h>
#include <patchbay/patchbay.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "enable_limit.h"

namespace {

double now_ms() {
  return std::chrono::duration<double, std::milli>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

double cpu_ms() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return double(now.tv_sec) * 1e3 + double(now.tv_nsec) / 1e6;
}

// Prologues as compilers make them; every function returns its first argument plus one.
const char* const kPrologues[] = {
    "push %rbx\n mov %rdi, %rbx\n lea 1(%rbx), %rax\n pop %rbx\n ret\n",
    "push %rbp\n mov %rsp, %rbp\n lea 1(%rdi), %rax\n pop %rbp\n ret\n",
    "sub $24, %rsp\n lea 1(%rdi), %rax\n add $24, %rsp\n ret\n",
    "mov counter(%rip), %eax\n lea 1(%rdi), %rax\n ret\n",
    "endbr64\n push %r12\n push %rbp\n lea 1(%rdi), %rax\n pop %rbp\n pop %r12\n ret\n",
    "test %rdi, %rdi\n je 1f\n1: lea 1(%rdi), %rax\n nop\n ret\n",
};

std::string make_library(int count) {
  char directory[] = "/tmp/patchbay-bench.XXXXXX";
  if (!::mkdtemp(directory)) std::exit(1);
  std::string base = directory;
  FILE* out = std::fopen((base + "/many.s").c_str(), "w");
  std::fprintf(out, ".data\ncounter: .long 0\n.text\n");
  for (int i = 0; i < count; i++)
    std::fprintf(out,
                 ".p2align 4\n.globl many_%d\n.type many_%d,@function\nmany_%d:\n%s.size "
                 "many_%d,.-many_%d\n",
                 i, i, i, kPrologues[i % 6], i, i);
  std::fprintf(out, ".section .note.GNU-stack,\"\",@progbits\n");
  std::fclose(out);
  std::string command = "cc -shared -o " + base + "/libmany.so " + base + "/many.s";
  if (std::system(command.c_str()) != 0) std::exit(1);
  return base;
}

void must(const char* path, const std::string& text) {
  int error = patchbay_write(path, text.c_str());
  if (error == 0) return;
  std::fprintf(stderr, "enable: write %s: error %d\n", path, -error);
  std::exit(1);
}

long resident_kb() {
  FILE* file = std::fopen("/proc/self/smaps", "r");
  if (!file) return 0;
  long total = 0, kb = 0;
  bool ours = false;
  char line[512];
  while (std::fgets(line, sizeof line, file)) {
    if (std::sscanf(line, "%*x-%*x %*s") == 0 && std::strchr(line, '-') && std::strchr(line, ' ') &&
        (std::strstr(line, "r--p") || std::strstr(line, "r-xp") || std::strstr(line, "rw-p") ||
         std::strstr(line, "rw-s")))
      ours = std::strstr(line, "libpatchbay") || std::strstr(line, "libZydis") ||
             std::strstr(line, "/buffer");
    if (ours && std::sscanf(line, "Pss: %ld kB", &kb) == 1) total += kb;
  }
  std::fclose(file);
  return total;
}

// Two writes and what they take, three times.
void measure(const char* what, int count, const char* file, const char* on, const char* off,
             const char* beside) {
  for (int round = 0; round < 3; round++) {
    const double start = now_ms(), start_cpu = cpu_ms();
    must(file, on);
    const double enabled = now_ms(), enabled_cpu = cpu_ms();
    must(file, off);
    std::printf("%s  %6d functions: %8.1f ms (CPU %6.1f)   off: %8.1f ms (CPU %6.1f)%s\n", what,
                count, enabled - start, enabled_cpu - start_cpu, now_ms() - enabled,
                cpu_ms() - enabled_cpu, beside);
  }
}

// A copy of the library, which the agent has no events in.
void measure_limit(const std::string& directory, int count) {
  const std::string copy = directory + "/libcopy.so";
  if (std::system(("cp " + directory + "/libmany.so " + copy).c_str()) != 0) std::exit(1);
  void* library = ::dlopen(copy.c_str(), RTLD_NOW);
  ::unlink(copy.c_str());
  if (!library) std::exit(1);
  std::vector<uint8_t*> entries;
  for (int i = 0; i < count; i++)
    entries.push_back(
        static_cast<uint8_t*>(::dlsym(library, ("many_" + std::to_string(i)).c_str())));
  bench::EnableLimit limit(std::move(entries));
  for (int round = 0; round < 3; round++) {
    const double start = cpu_ms();
    limit.on();
    const double on = cpu_ms();
    limit.off();
    std::printf("limit   %6d functions:     CPU %6.1f ms   off:     CPU %6.1f ms\n", count,
                on - start, cpu_ms() - on);
  }
}

}  // namespace

int main(int argc, char** argv) {
  int count = argc > 1 ? std::atoi(argv[1]) : 50000;
  std::printf("agent at rest: %ld KiB (its library, the decoder, its buffer file)\n",
              resident_kb());
  std::string directory = make_library(count);
  void* library = ::dlopen((directory + "/libmany.so").c_str(), RTLD_NOW);
  if (!library) std::exit(1);
  std::vector<long (*)(long)> functions;
  for (int i = 0; i < count; i += 97)
    functions.push_back(
        reinterpret_cast<long (*)(long)>(::dlsym(library, ("many_" + std::to_string(i)).c_str())));

  double start = now_ms();
  std::string lines;
  for (int i = 0; i < count; i++) lines += "many_" + std::to_string(i) + "(long a)\n";
  must("function_events", lines);
  std::printf("define  %6d functions: %8.1f ms\n", count, now_ms() - start);

  std::atomic<bool> stop{false};
  std::atomic<unsigned long> calls{0}, wrong{0};
  auto call_all = [&] {
    while (!stop.load())
      for (auto function : functions) {
        if (function(41) != 42) wrong++;
        calls++;
      }
  };
  for (bool load : {false, true}) {
    std::thread thread;
    if (load) thread = std::thread(call_all);
    measure("events", count, "events/functions/enable", "1", "0",
            load ? "   (while another thread calls them)" : "");
    if (load) {
      stop = true;
      thread.join();
    }
  }
  must("set_ftrace_filter", "many_*");
  measure("tracer", count, "current_tracer", "function", "nop", "");
  measure_limit(directory, count);
  std::printf("%lu calls meanwhile, %lu wrong\n", calls.load(), wrong.load());
  std::printf("agent now: %ld KiB\n", resident_kb());
  ::unlink((directory + "/libmany.so").c_str());
  ::unlink((directory + "/many.s").c_str());
  ::rmdir(directory.c_str());
  return wrong.load() ? 1 : 0;
}
