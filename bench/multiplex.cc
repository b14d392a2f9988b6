// SPDX-License-Identifier: MIT
//
// Many function tracers at once: makes a shared library of N functions (default 50,000) with
// ordinary prologues and loads it. How long do the table of all functions, `function` and
// `function_graph` over all N of them take, and how many bytes of heap a function? Then 16
// instances trace 625 functions each: how long does it take to exchange the functions of one of
// them? After each exchange all N functions are called, and every instance must have met exactly
// its own.
//
//   multiplex [N]
#include <dlfcn.h>
#include <malloc.h>
#include <patchbay/patchbay.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

namespace {

constexpr int kTracers = 16, kGroup = 625;

double now_ms() {
  return std::chrono::duration<double, std::milli>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// Prologues as compilers make them; every function returns its first argument plus one.
const char* const kPrologues[] = {
    "push %rbx\n mov %rdi, %rbx\n lea 1(%rbx), %rax\n pop %rbx\n ret\n",
    "push %rbp\n mov %rsp, %rbp\n lea 1(%rdi), %rax\n pop %rbp\n ret\n",
    "sub $24, %rsp\n lea 1(%rdi), %rax\n add $24, %rsp\n ret\n",
    "endbr64\n push %r12\n push %rbp\n lea 1(%rdi), %rax\n pop %rbp\n pop %r12\n ret\n",
};

std::string group_name(int group) { return "g" + std::to_string(group) + "_"; }
std::string function_name(int i) { return group_name(i / kGroup) + std::to_string(i % kGroup); }

std::string make_library(int count) {
  char directory[] = "/tmp/patchbay-bench.XXXXXX";
  if (!::mkdtemp(directory)) std::exit(1);
  const std::string base = directory;
  FILE* out = std::fopen((base + "/many.s").c_str(), "w");
  if (!out) std::exit(1);
  std::fprintf(out, ".text\n");
  for (int i = 0; i < count; i++) {
    const std::string name = function_name(i);
    const char* n = name.c_str();
    std::fprintf(out, ".p2align 4\n.globl %s\n.type %s,@function\n%s:\n%s.size %s,.-%s\n", n, n, n,
                 kPrologues[i % 4], n, n);
  }
  std::fprintf(out, ".section .note.GNU-stack,\"\",@progbits\n");
  std::fclose(out);
  const std::string command = "cc -shared -o " + base + "/libmany.so " + base + "/many.s";
  if (std::system(command.c_str()) != 0) std::exit(1);
  return base;
}

// As `echo TEXT >>PATH`; returns the milliseconds.
double write_file(const std::string& path, const std::string& text) {
  const double start = now_ms();
  const int error = patchbay_write(path.c_str(), text.c_str());
  if (error == 0) return now_ms() - start;
  std::fprintf(stderr, "multiplex: write %s: error %d\n", path.c_str(), -error);
  std::exit(1);
}

std::string read_file(const std::string& path) {
  std::string text(16 << 20, '\0');
  const ssize_t length = patchbay_read(path.c_str(), text.data(), text.size());
  text.resize(length < 0 ? 0 : size_t(length));
  return text;
}

size_t heap() { return ::mallinfo2().uordblks; }

struct Functions {
  std::vector<long (*)(long)> all;
  unsigned long wrong = 0;

  void load(void* library, int count) {
    for (int i = 0; i < count; i++)
      all.push_back(reinterpret_cast<long (*)(long)>(::dlsym(library, function_name(i).c_str())));
  }
  void call() {
    for (auto function : all) wrong += function(41) != 42;
  }
};

// Records of an instance, and how many of them are of no function of `group`.
void count_records(const std::string& directory, int group, int* own, int* others) {
  const std::string text = read_file(directory + "trace");
  const std::string prefix = ": " + group_name(group);
  *own = *others = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line(text.data() + at, end - at);
    at = end + 1;
    if (line.empty() || line[0] == '#') continue;
    (line.find(prefix) != line.npos ? *own : *others)++;
  }
}

void enable_all(const char* tracer, int count) {
  for (int round = 0; round < 3; round++) {
    const size_t before = heap();
    const double on = write_file("current_tracer", tracer);
    const size_t bytes = heap() - before;
    const double off = write_file("current_tracer", "nop");
    std::printf("%-14s of %d functions: on %7.1f ms, off %7.1f ms", tracer, count, on, off);
    if (round == 0) std::printf(", %.0f bytes a function", double(bytes) / count);
    std::printf("\n");
  }
}

// Returns how many instances met what they had not asked for, or missed what they had.
int exchange(Functions* functions, int groups) {
  std::vector<int> group(kTracers);
  for (int t = 0; t < kTracers; t++) {
    const std::string directory = "instances/t" + std::to_string(t) + "/";
    group[t] = t;
    write_file(directory + "set_ftrace_filter", group_name(t) + "*");
    write_file(directory + "current_tracer", "function");
  }
  double worst = 0, sum = 0;
  int wrong = 0, rounds = 0, next = kTracers;
  for (; rounds < 32; rounds++) {
    const int t = rounds % kTracers;
    const std::string directory = "instances/t" + std::to_string(t) + "/";
    const int fresh = next++ % groups;
    if (std::find(group.begin(), group.end(), fresh) != group.end()) continue;
    const double ms = write_file(directory + "set_ftrace_filter",
                                 group_name(fresh) + "*\n!" + group_name(group[t]) + "*");
    group[t] = fresh;
    worst = std::max(worst, ms);
    sum += ms;
    functions->call();
    for (int i = 0; i < kTracers; i++) {
      const std::string of = "instances/t" + std::to_string(i) + "/";
      int own = 0, others = 0;
      count_records(of, group[i], &own, &others);
      wrong += own != kGroup || others != 0;
      write_file(of + "trace_clock", "local");  // clears
    }
  }
  std::printf("%d tracers of %d functions: one filter exchanged in %.1f ms, at most %.1f ms\n",
              kTracers, kGroup, sum / rounds, worst);
  std::printf("instances that met others' functions or missed their own: %d of %d\n", wrong,
              rounds * kTracers);
  return wrong;
}

}  // namespace

int main(int argc, char** argv) {
  const int count = argc > 1 ? std::atoi(argv[1]) : 50000;
  if (!std::getenv("PATCHBAY_TRACE_INSTANCE")) {
    std::string instances;
    for (int t = 0; t < kTracers; t++) instances += "t" + std::to_string(t) + ";";
    ::setenv("PATCHBAY_TRACE_INSTANCE", instances.c_str(), 1);
    ::execv("/proc/self/exe", argv);
    return 1;
  }
  const std::string directory = make_library(count);
  void* library = ::dlopen((directory + "/libmany.so").c_str(), RTLD_NOW);
  if (!library) return 1;
  Functions functions;
  functions.load(library, count);

  size_t before = heap();
  double start = now_ms();
  const std::string list = read_file("available_filter_functions");
  const long listed = std::count(list.begin(), list.end(), '\n');
  std::printf("table of %ld functions: %.1f ms, %.0f bytes a function\n", listed, now_ms() - start,
              double(heap() - before) / double(listed));
  start = now_ms();
  write_file("set_ftrace_filter", "g*_*");
  std::printf("filter of %d functions: %.1f ms\n", count, now_ms() - start);
  enable_all("function", count);
  enable_all("function_graph", count);
  const int wrong = exchange(&functions, count / kGroup);
  std::fputs(read_file("debug/combinations").c_str(), stdout);
  for (const char* file : {"/libmany.so", "/many.s", ""}) ::remove((directory + file).c_str());
  return wrong || functions.wrong ? 1 : 0;
}
