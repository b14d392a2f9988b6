// SPDX-License-Identifier: MIT
//
// What probe events cost, as CPU time and as a ratio to the floor of the same run (bench/floor.h):
// on an instruction inside a function, as a jump and as an int3; at an entry; at a return; with
// texts and filters. Beside them, on the same function, the kernel's own uprobe and uretprobe
// through its uprobe PMU: those only count, so that what is measured is its way to the probe and
// back. The program traces itself; nobody reads the buffer, which overwrites.
//
//   probe_anywhere [--benchmark_filter=REGEX] [--benchmark_format=json] …
#include <benchmark/benchmark.h>
#include <linux/perf_event.h>
#include <patchbay/patchbay.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "floor.h"

extern "C" {
int bench_anywhere(int a, int b);
extern const uint8_t bench_inside[];  // its second instruction
int bench_trap(int a, int b);
int bench_live(int a, int b);
int bench_inside_counted(int a, int b);  // the limits of jump_inside_rejected
int bench_inside_compared(int a, int b);
uint64_t bench_inside_count;
__attribute__((noinline, used, visibility("default"))) void bench_text(const char* text, int n) {
  __asm__ volatile("" : : "r"(text), "r"(n));
}
}
// Bytes that are counted on: +3 is the instruction inside, with room for a jump; +2 of bench_trap
// has a branch into the bytes that a jump would take; +5 of bench_live stands between a comparison
// and the reader of its flags.
__asm__(R"(
	.text
	.globl bench_anywhere
	.type bench_anywhere, @function
	.balign 32
bench_anywhere:
	push %rbx
	mov %edi, %ebx
	.globl bench_inside
bench_inside:
	lea 7(%rsi,%rsi,2), %eax
	add %ebx, %eax
	pop %rbx
	ret
	.size bench_anywhere, . - bench_anywhere
	.globl bench_trap
	.type bench_trap, @function
	.balign 32
bench_trap:
	mov %edi, %eax
	lea 1(%rax), %eax
1:	sub $1, %eax
	test %esi, %eax
	js 1b
	ret
	.size bench_trap, . - bench_trap
	.globl bench_live
	.type bench_live, @function
	.balign 32
bench_live:
	mov %edi, %eax
	nop
	cmp %esi, %edi
	lea 7(%rsi,%rsi,2), %edx
	cmovg %edx, %eax
	ret
	.size bench_live, . - bench_live

/* bench_anywhere with what a jump, a test and a count come to when they are written by hand: no
 * thread is asked for, and the count is not the CPU's. */
	.macro inside name, counted
	.globl \name
	.type \name, @function
	.balign 32
\name:
	push %rbx
	mov %edi, %ebx
	jmp 2f
	.balign 8
1:	add %ebx, %eax
	pop %rbx
	ret
	.balign 32
2:	lea -128(%rsp), %rsp
	mov %rax, -40(%rsp)
	cmp $-1, %edi
	jl 3f
	.if \counted
	mov %rcx, -8(%rsp)
	mov bench_inside_count@gotpcrel(%rip), %rcx
	incq (%rcx)
	mov -8(%rsp), %rcx
	.endif
	mov -40(%rsp), %rax
	lea 128(%rsp), %rsp
	lea 7(%rsi,%rsi,2), %eax
	jmp 1b
3:	ud2
	.size \name, . - \name
	.endm
	inside bench_inside_counted, 1
	inside bench_inside_compared, 0
)");

namespace {

constexpr char kDefinitions[] =
    "p:bench/inside bench_anywhere+3 a=%di:s32 b=%si:s32\n"
    "p:bench/live bench_live+5 a=%di:s32 b=%si:s32\n"
    "p:bench/trap bench_trap+2 a=%di:s32 b=%si:s32\n"
    "p:bench/entry bench_anywhere a=%di:s32 b=%si:s32\n"
    "r:bench/out bench_anywhere ret=$retval:s32\n"
    "p:bench/text bench_text s=+0(%di):string n=%si:s32\n";

using Call = void (*)(int i);
void call_anywhere(int i) { benchmark::DoNotOptimize(bench_anywhere(i, i + 1)); }
void call_counted(int i) { benchmark::DoNotOptimize(bench_inside_counted(i, i + 1)); }
void call_compared(int i) { benchmark::DoNotOptimize(bench_inside_compared(i, i + 1)); }
void call_live(int i) { benchmark::DoNotOptimize(bench_live(i, i + 1)); }
void call_trap(int i) { benchmark::DoNotOptimize(bench_trap(i & 0xffff, 0)); }
void call_text(int i) { bench_text("select 1 from t42x;", i & 0xffff); }

void run(benchmark::State& state, Call call) {
  int i = 0;
  for (auto _ : state) call(i++);
}

void untraced(benchmark::State& state) { run(state, call_anywhere); }
BENCHMARK(untraced)->MinTime(0.3);

void limit(benchmark::State& state, Call call) { run(state, call); }
BENCHMARK_CAPTURE(limit, jump_inside_rejected, call_counted)->MinTime(0.3);
BENCHMARK_CAPTURE(limit, jump_inside_compared, call_compared)->MinTime(0.3);

void switch_events(const std::string& names, const char* on) {
  for (size_t at = 0; at < names.size();) {
    const size_t end = std::min(names.find(' ', at), names.size());
    must(("events/bench/" + names.substr(at, end - at) + "/enable").c_str(), on);
    at = end + 1;
  }
}

// `events`: names, blanks between. `filter`: of the first one, null: none.
void probed(benchmark::State& state, const char* events, Call call, const char* filter) {
  const std::string path =
      "events/bench/" + std::string(events, std::strcspn(events, " ")) + "/filter";
  if (filter) must(path.c_str(), filter);
  switch_events(events, "1");
  run(state, call);
  switch_events(events, "0");
  if (filter) must(path.c_str(), "0");
}
BENCHMARK_CAPTURE(probed, jump_inside, "inside", call_anywhere, nullptr)->MinTime(0.5);
BENCHMARK_CAPTURE(probed, jump_inside_live_flags, "live", call_live, nullptr)->MinTime(0.5);
BENCHMARK_CAPTURE(probed, jump_inside_rejected, "inside", call_anywhere, "a < -1")->MinTime(0.3);
BENCHMARK_CAPTURE(probed, entry, "entry", call_anywhere, nullptr)->MinTime(0.5);
BENCHMARK_CAPTURE(probed, return_only, "out", call_anywhere, nullptr)->MinTime(0.5);
BENCHMARK_CAPTURE(probed, entry_and_return, "entry out", call_anywhere, nullptr)->MinTime(0.5);
BENCHMARK_CAPTURE(probed, int3_inside, "trap", call_trap, nullptr)->MinTime(0.5);
BENCHMARK_CAPTURE(probed, text, "text", call_text, nullptr)->MinTime(0.3);
BENCHMARK_CAPTURE(probed, text_rejected_by_number, "text", call_text, "n < 0")->MinTime(0.3);
BENCHMARK_CAPTURE(probed, text_rejected_by_text, "text", call_text, "s == \"nothing\"")
    ->MinTime(0.3);

// --- the kernel's

std::string first_line(const char* path) {
  char line[256] = "";
  if (FILE* file = std::fopen(path, "re")) {
    if (!std::fgets(line, sizeof line, file)) line[0] = 0;
    std::fclose(file);
  }
  return line;
}

// Where in this program's file the byte at `address` comes from.
uint64_t file_offset(uint64_t address) {
  FILE* maps = std::fopen("/proc/self/maps", "re");
  if (!maps) return 0;
  char line[4400];
  uint64_t found = 0, start, end, offset;
  while (found == 0 && std::fgets(line, sizeof line, maps))
    if (std::sscanf(line, "%" SCNx64 "-%" SCNx64 " %*s %" SCNx64, &start, &end, &offset) == 3 &&
        address >= start && address < end)
      found = offset + (address - start);
  std::fclose(maps);
  return found;
}

// A counting event on this thread, or -1 with the reason.
int open_uprobe(const void* address, bool on_return, std::string* why) {
  const std::string type = first_line("/sys/bus/event_source/devices/uprobe/type");
  if (type.empty()) {
    *why = "this kernel has no uprobe PMU";
    return -1;
  }
  static char path[4096];
  if (::readlink("/proc/self/exe", path, sizeof path - 1) < 0) path[0] = 0;
  perf_event_attr attr = {};
  attr.size = sizeof attr;
  attr.type = uint32_t(std::atoi(type.c_str()));
  attr.config = on_return ? 1 : 0;  // format/retprobe: config:0
  attr.config1 = reinterpret_cast<uint64_t>(path);
  attr.config2 = file_offset(reinterpret_cast<uint64_t>(address));
  int fd = int(::syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC));
  if (fd < 0) *why = std::string("perf_event_open: ") + std::strerror(errno);
  return fd;
}

uint64_t counted(int fd) {
  uint64_t count = 0;
  return ::read(fd, &count, sizeof count) == sizeof count ? count : 0;
}

void kernel(benchmark::State& state, const void* address, bool on_return) {
  std::string why;
  const int fd = open_uprobe(address, on_return, &why);
  if (fd < 0) return state.SkipWithError(("SKIPPED: " + why).c_str());
  const uint64_t before = counted(fd);
  run(state, call_anywhere);
  if (counted(fd) - before < uint64_t(state.iterations()))
    state.SkipWithError("SKIPPED: the kernel's probe was not hit by every call");
  ::close(fd);
}
void kernel_uprobe(benchmark::State& state) { kernel(state, bench_inside, false); }
BENCHMARK(kernel_uprobe)->MinTime(0.5);
void kernel_uretprobe(benchmark::State& state) {
  kernel(state, reinterpret_cast<const void*>(bench_anywhere), true);
}
BENCHMARK(kernel_uretprobe)->MinTime(0.5);

}  // namespace

int main(int argc, char** argv) {
  bool own_format = false;
  for (int i = 1; i < argc; i++)
    own_format |= std::string(argv[i]).starts_with("--benchmark_format");
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  must("kprobe_events", kDefinitions);
  if (own_format) {
    benchmark::RunSpecifiedBenchmarks();
  } else {
    RatioReporter reporter;
    benchmark::RunSpecifiedBenchmarks(&reporter);
  }
  benchmark::Shutdown();
}
