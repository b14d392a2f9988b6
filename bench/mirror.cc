// SPDX-License-Identifier: MIT
//
// What a mirrored event costs a hit (docs/mirror.md), as CPU time and as a ratio to the floor of
// the same run (bench/floor.h): while nobody listens, and while the kernel does, beside a plain
// uprobe of the kernel's on a nop. The kernel's part needs root and uprobes; without them it is
// left out, and that is said. This program links the agent and traces its own events.
//
//   mirror [--benchmark_filter=REGEX] [--benchmark_format=json] …
#include <benchmark/benchmark.h>
#include <fcntl.h>
#include <patchbay/patchbay.h>
#include <patchbay/trace_event.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>

#include "floor.h"

PB_TRACE_EVENT(bench, two_ints, PB_FIELDS(PB_FIELD(int, a), PB_FIELD(int, b)));

extern "C"
    __attribute__((noinline, used, visibility("default"), patchable_function_entry(5, 0))) void
    bench_sled(int a, int b) {
  __asm__ volatile("" : : "r"(a), "r"(b));
}
// What a plain uprobe stands on: the same 5-byte nop as in a mirror.
extern "C" __attribute__((naked, noinline, used, visibility("default"))) void bench_nop(int, int) {
  __asm__ volatile(".byte 0x0f, 0x1f, 0x44, 0x00, 0x00; ret");
}

namespace {

void hit_nothing(int i) { benchmark::DoNotOptimize(i); }
void hit_static(int i) { PB_TRACE(two_ints, i, i + 1); }
void hit_function(int i) { bench_sled(i, i + 1); }
void hit_nop(int i) { bench_nop(i, i + 1); }

template <typename Use>
void loop(benchmark::State& state, Use use) {
  int i = 0;
  for (auto _ : state) {
    use(i++ & 0xffff);
    benchmark::ClobberMemory();
  }
}

constexpr const char *kStatic = "bench/two_ints", *kFunction = "functions/bench_sled";

// Nobody listens. `trigger`: "mirror", or "" for the plain event, which is off or `on`.
template <typename Use>
void quiet(benchmark::State& state, const std::string& event, const char* trigger, bool on,
           Use use) {
  const std::string directory = "events/" + event;
  if (*trigger) must((directory + "/trigger").c_str(), trigger);
  if (on) must((directory + "/enable").c_str(), "1");
  loop(state, use);
  if (on) must((directory + "/enable").c_str(), "0");
  if (*trigger) must((directory + "/mirror").c_str(), "0");
}

#define QUIET(name, event, trigger, on, use)                                    \
  void name(benchmark::State& state) { quiet(state, event, trigger, on, use); } \
  BENCHMARK(name)->MinTime(0.5)

void call_alone(benchmark::State& state) { loop(state, hit_nothing); }
BENCHMARK(call_alone)->MinTime(0.5);
QUIET(static_off, kStatic, "", false, hit_static);
QUIET(static_mirrored, kStatic, "mirror", false, hit_static);
QUIET(static_recorded, kStatic, "", true, hit_static);
QUIET(static_recorded_mirrored, kStatic, "mirror", true, hit_static);
QUIET(function_off, kFunction, "", false, hit_function);
QUIET(function_mirrored, kFunction, "mirror", false, hit_function);
QUIET(function_mirrored_filter, kFunction, "mirror if a < 0", false, hit_function);
QUIET(function_recorded, kFunction, "", true, hit_function);
QUIET(function_recorded_mirrored, kFunction, "mirror", true, hit_function);

// --- the kernel listens

std::string g_tracefs;  // "": it cannot be had

bool put(const std::string& path, const std::string& text) {
  const int fd = ::open((g_tracefs + "/" + path).c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  const bool is_put = fd >= 0 && ::write(fd, text.data(), text.size()) == ssize_t(text.size());
  if (fd >= 0) ::close(fd);
  return is_put;
}

std::string own_name(const char* event) {
  return "patchbay_bench_" + std::to_string(::getpid()) + "/" + event;
}

// Into the kernel's ring, whose oldest records go.
template <typename Use>
void listened(benchmark::State& state, const char* event, const std::string& place, Use use) {
  const std::string name = own_name(event);
  if (g_tracefs.empty()) return state.SkipWithError("no uprobes of the kernel's here");
  if (!put("uprobe_events", "p:" + name + " " + place + "\n") ||
      !put("events/" + name + "/enable", "1"))
    return state.SkipWithError("the kernel refuses the uprobe");
  loop(state, use);
  (void)put("events/" + name + "/enable", "0");
  for (int i = 0; i < 1000 && !put("uprobe_events", "-:" + name + "\n"); i++) ::usleep(10000);
}

// Where a byte of this program is in its file.
std::string place_of(const void* address) {
  std::FILE* maps = std::fopen("/proc/self/maps", "re");
  char line[4400], path[4096] = "";
  unsigned long start, end, offset, found = 0;
  while (maps && std::fgets(line, sizeof line, maps)) {
    if (std::sscanf(line, "%lx-%lx %*s %lx %*s %*s %4095s", &start, &end, &offset, path) != 4)
      continue;
    found = reinterpret_cast<unsigned long>(address) - start + offset;
    if (reinterpret_cast<unsigned long>(address) - start < end - start) break;
  }
  if (maps) std::fclose(maps);
  char text[32];
  std::snprintf(text, sizeof text, ":0x%lx", found);
  return path + std::string(text);
}

void kernel_uprobe_on_nop(benchmark::State& state) {
  listened(state, "plain", place_of(reinterpret_cast<void*>(bench_nop)), hit_nop);
}
BENCHMARK(kernel_uprobe_on_nop)->MinTime(0.5);

// `offset`: of the field a in the record; 0: the kernel fetches no fields, as from the plain one.
template <typename Use>
void mirrored(benchmark::State& state, const std::string& event, int offset, Use use) {
  must(("events/" + event + "/mirror").c_str(), "1");
  std::string file = event;
  file[file.find('/')] = '.';
  const std::string path = std::string(patchbay_directory()) + "/mirror/" + file;
  std::string place = path + ":0x400(0x1000)";
  if (offset)
    place += " a=+" + std::to_string(offset) + "(%di):s32 b=+" + std::to_string(offset + 4) +
             "(%di):s32";
  listened(state, "mirror", place, use);
  must(("events/" + event + "/mirror").c_str(), "0");
}
void static_listened(benchmark::State& state) { mirrored(state, kStatic, 0, hit_static); }
BENCHMARK(static_listened)->MinTime(0.5);
void function_listened(benchmark::State& state) { mirrored(state, kFunction, 0, hit_function); }
BENCHMARK(function_listened)->MinTime(0.5);
void function_listened_fields(benchmark::State& state) {
  mirrored(state, kFunction, 24, hit_function);
}
BENCHMARK(function_listened_fields)->MinTime(0.5);

class MirrorReporter : public RatioReporter {
 protected:
  void put_more() override {
    const double plain = of("kernel_uprobe_on_nop");
    if (plain == 0) return;
    GetOutputStream() << "\nratio to a plain uprobe of the kernel's on a nop\n";
    for (const char* name : {"static_listened", "function_listened"})
      if (const double ns = of(name); ns != 0) put(name, ns, ns / plain);
  }
};

}  // namespace

int main(int argc, char** argv) {
  bool own_format = false;
  for (int i = 1; i < argc; i++)
    own_format = own_format || std::string(argv[i]).starts_with("--benchmark_format");
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  must("function_events", "bench_sled(int a, int b)");
  char directory[] = "/tmp/patchbay_bench.XXXXXX";
  if (::mkdtemp(directory) && ::mount("none", directory, "tracefs", 0, nullptr) == 0)
    g_tracefs = directory;
  MirrorReporter reporter;
  if (own_format)
    benchmark::RunSpecifiedBenchmarks();
  else
    benchmark::RunSpecifiedBenchmarks(&reporter);
  if (!g_tracefs.empty()) ::umount(directory);
  ::rmdir(directory);
}
