// SPDX-License-Identifier: MIT
//
// Graphs and profiles of calls of this program. A thunk in front of each function does what a stub
// does at the entry, so that nothing has to be patched.
#include "probe/returns/graph_hot.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "abi/ftrace_records.h"
#include "base/raw_syscall.h"
#include "codegen/probe_compile.h"
#include "hot/fault.h"
#include "hot/rseq_testing.h"
#include "hot/storm_testing.h"
#include "ring_buffer/ring_buffer.h"
#include "ring_buffer/ring_reader.h"
#include "ring_buffer/ring_write_hot.h"

namespace patchbay {
namespace {

// What a thread may still be on its way with is never freed; so that the leak checker knows it.
template <typename T>
T* keep(T* object) {
  static auto* kept = new std::vector<T*>;
  kept->push_back(object);
  return object;
}

extern "C" __attribute__((used)) void graph_hot_test_entry(uint64_t* word, const uint64_t* args,
                                                           CallSite* site) {
  FetchRegisters registers;
  std::memcpy(registers.arg, args, sizeof registers.arg);
  if (site->return_program) return_hook(site, site->return_program, word, &registers);
}

extern "C" {
uint8_t graph_hot_test_quick;
}

// name: hooks its return, then is graph_real_name.
#define GRAPHED(name)                                                                       \
  extern "C" {                                                                              \
  CallSite graph_site_##name;                                                               \
  }                                                                                         \
  __asm__(".pushsection .text\n.globl graph_" #name "\n.type graph_" #name                  \
          ", @function\ngraph_" #name                                                       \
          ":\n"                                                                             \
          ".cfi_startproc\n"                                                                \
          "cmpb $0, graph_hot_test_quick(%rip)\njne 1f\n"                                   \
          "push %r9\npush %r8\npush %rcx\npush %rdx\npush %rsi\npush %rdi\npush %rax\n"     \
          ".cfi_adjust_cfa_offset 56\n"                                                     \
          "lea 56(%rsp), %rdi\nlea 8(%rsp), %rsi\nlea graph_site_" #name                    \
          "(%rip), %rdx\n"                                                                  \
          "call graph_hot_test_entry\n"                                                     \
          "pop %rax\npop %rdi\npop %rsi\npop %rdx\npop %rcx\npop %r8\npop %r9\n"            \
          ".cfi_adjust_cfa_offset -56\n"                                                    \
          "jmp graph_real_" #name                                                           \
          "\n1: mov %rax, -16(%rsp)\nlea 2f(%rip), %rax\npush %rax\n"                       \
          ".cfi_adjust_cfa_offset 8\nlea graph_site_" #name                                 \
          "(%rip), %rax\njmp probe_entry_shared\n"                                          \
          ".cfi_adjust_cfa_offset -8\n2: mov -16(%rsp), %rax\n"                             \
          "jmp graph_real_" #name "\n.cfi_endproc\n.size graph_" #name ", . - graph_" #name \
          "\n.popsection\n");

GRAPHED(outer)
GRAPHED(middle)
GRAPHED(inner)
GRAPHED(recurse)
GRAPHED(throws)
GRAPHED(catches)
GRAPHED(jumps)
GRAPHED(tail)
GRAPHED(body)
GRAPHED(sleeps)
GRAPHED(leaves)
GRAPHED(naps)
GRAPHED(between)

extern "C" {
uint64_t graph_outer(uint64_t value);
uint64_t graph_middle(uint64_t value);
uint64_t graph_inner(uint64_t value);
int graph_recurse(int depth);
int graph_throws(int depth);
int graph_catches(int depth);
void graph_jumps(int depth);
uint64_t graph_tail(uint64_t value);
void graph_body(int rounds);
void graph_sleeps(int ms);
void graph_leaves();
void graph_naps(int ms);
void graph_between(int ms);
}

#define REAL extern "C" __attribute__((noinline, used))
REAL uint64_t graph_real_inner(uint64_t value) { return value * 2; }
REAL uint64_t graph_real_middle(uint64_t value) {
  return graph_inner(value) + graph_inner(value + 1);
}
REAL uint64_t graph_real_outer(uint64_t value) { return graph_middle(value) + 1; }
REAL int graph_real_recurse(int depth) { return depth ? graph_recurse(depth - 1) + 1 : 0; }
REAL int graph_real_throws(int depth) {
  if (depth == 0) throw std::runtime_error("out");
  return graph_throws(depth - 1) + 1;
}
REAL int graph_real_catches(int depth) {
  try {
    graph_throws(depth);
  } catch (const std::runtime_error&) {
  }
  return int(graph_inner(1));
}
jmp_buf g_jump;
REAL void graph_real_jumps(int depth) {
  if (depth == 0) longjmp(g_jump, 1);
  graph_jumps(depth - 1);
  __asm__ volatile("");
}
REAL uint64_t graph_real_tail(uint64_t value) { return graph_inner(value); }  // tail calls at -O2
ucontext_t g_back, g_fiber[2];
int g_current;
REAL void graph_real_body(int rounds) {
  for (int i = 0; i < rounds; i++) {
    graph_inner(1);
    ::swapcontext(&g_fiber[g_current], &g_back);
  }
}
uint64_t raw_now() {
  return pb_graph_settings.monotonic ? raw_monotonic_ns() : __builtin_ia32_rdtsc();
}
uint64_t g_slept;  // raw ticks, in all calls of sleeps
REAL void graph_real_sleeps(int ms) {
  const uint64_t from = raw_now();
  ::usleep(useconds_t(ms) * 1000);
  g_slept += raw_now() - from;
}
REAL void graph_real_between(int ms) {
  graph_sleeps(ms);
  __asm__ volatile("");
}
REAL void graph_real_naps(int ms) {
  graph_between(ms);
  __asm__ volatile("");
}
REAL void graph_real_leaves() { ::pthread_exit(nullptr); }

CallSite* const kSites[] = {&graph_site_outer,   &graph_site_middle, &graph_site_inner,
                            &graph_site_recurse, &graph_site_throws, &graph_site_catches,
                            &graph_site_jumps,   &graph_site_tail,   &graph_site_body,
                            &graph_site_sleeps,  &graph_site_leaves, &graph_site_naps,
                            &graph_site_between};
const char* const kNames[] = {"outer", "middle", "inner",  "recurse", "throws", "catches", "jumps",
                              "tail",  "body",   "sleeps", "leaves",  "naps",   "between"};
constexpr size_t kFunctions = std::size(kSites);

void on_graph_fault(int signal, siginfo_t*, void* context) {
  auto& ip = static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_RIP];
  const uint64_t fixup = fault_fixup(uint64_t(ip));
  if (!fixup) ::signal(signal, SIG_DFL);
  if (fixup) ip = greg_t(fixup);
}

struct Record {
  uint16_t id;
  std::string function;
  std::vector<uint64_t> words;
  uint32_t depth() const { return uint32_t(id == abi::kGraphExitId ? words[3] : words[2]); }
  uint32_t overrun() const { return uint32_t(words[3] >> 32); }
  uint64_t ticks() const { return words[5] - words[4]; }
};

// One instance: a buffer, and a graph program for it.
struct Instance {
  Instance() {
    char name[] = "/tmp/graph_hot_test.XXXXXX";
    directory = ::mkdtemp(name);
    RingBufferOptions options;
    options.path = directory + "/buffer";
    options.nr_cpus = uint32_t(::sysconf(_SC_NPROCESSORS_CONF));
    options.bytes_per_cpu = 8 << 20;
    auto made = RingBuffer::create(options);
    EXPECT_TRUE(made.ok());
    buffer = std::move(*made);
    EXPECT_TRUE(buffer->enable().ok());
    event = keep(new EventProgram{});
    event->rings = buffer->rings();
    event->kind = ConsumerKind::kGraph;
    event->id = abi::kGraphExitId;
  }
  ~Instance() {
    event->rings = RingBuffer::dead_rings();
    buffer->remove_file();
    ::rmdir(directory.c_str());
  }
  // In order of time: the test's thread may have been on several CPUs.
  std::vector<Record> records() {
    std::multimap<uint64_t, Record> found;
    RingReader reader(buffer.get(), false);
    PageImage page;
    for (uint32_t ring = 0; ring < reader.nr_rings(); ring++)
      while (reader.next_page(ring, true, &page)) {
        EventIterator events(page.bytes, page.used);
        for (EventView view; events.next(&view);) {
          Record record;
          record.words.resize(view.record.size() / 8);
          std::memcpy(record.words.data(), view.record.data(), view.record.size());
          record.id = uint16_t(record.words[0]);
          record.function = kNames[record.words[1] - 1];
          found.emplace(view.time, std::move(record));
        }
      }
    std::vector<Record> list;
    for (auto& [time, record] : found) list.push_back(std::move(record));
    return list;
  }
  // "outer{ middle{ inner{ inner} middle} outer}", with the depth before each name.
  std::string graph() {
    std::string text;
    for (const Record& record : records()) {
      if (!text.empty()) text += ' ';
      text += std::to_string(record.depth()) + record.function;
      text += record.id == abi::kGraphExitId ? '}' : '{';
    }
    return text;
  }

  std::string directory;
  std::unique_ptr<RingBuffer> buffer;
  EventProgram* event;
};

// false: by return_hook() and return_hit(); true: as stubs do, by function_entry.S.
class GraphHot : public ::testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    struct sigaction fault = {};
    fault.sa_sigaction = on_graph_fault;
    fault.sa_flags = SA_SIGINFO | SA_NODEFER;
    ::sigaction(SIGSEGV, &fault, nullptr);
    pb_rseq_offset = test::rseq_offset();
    pb_graph_settings = {};
    pb_return_thread.graph = {};
    pb_graph_settings.monotonic = top_.buffer->header()->clock != abi::kClockTsc;
    for (size_t i = 0; i < kFunctions; i++) {
      *kSites[i] = {};
      kSites[i]->function = i + 1;
      kSites[i]->profile = uint32_t(i + 1);
    }
    trace_all({top_.event});
    graph_hot_test_quick = GetParam();
  }
  void TearDown() override {
    graph_hot_test_quick = 0;
    for (CallSite* site : kSites) site->return_program = nullptr;
    pb_profile_table = nullptr;
    pb_graph_settings = {};
    pb_rseq_offset = 0;
  }
  const SiteProgram* program(const std::vector<EventProgram*>& events) {
    auto* made = static_cast<SiteProgram*>(
        std::calloc(1, sizeof(SiteProgram) + events.size() * sizeof(SiteEvent)));
    made->nr_events = uint32_t(events.size());
    made->has_graph = 1;
    made->max_record = 64;
    for (size_t i = 0; i < events.size(); i++) made->event[i].event = events[i];
    if (GetParam()) choose_code(made, true);
    return keep(made);
  }
  void trace_all(const std::vector<EventProgram*>& events) {
    for (CallSite* site : kSites) site->return_program = program(events);
  }
  EventProgram* profiler() {
    auto* event = keep(new EventProgram{});
    event->rings = top_.buffer->rings();
    event->kind = ConsumerKind::kProfile;
    counts_.assign((nr_cpus_ + 1) * kFunctions, {});
    table_ = {counts_.data(), kFunctions, nr_cpus_, 7};
    pb_profile_table = &table_;
    return event;
  }
  uint64_t hits(size_t function) const {
    uint64_t sum = 0;
    for (uint32_t cpu = 0; cpu <= nr_cpus_; cpu++) sum += counts_[cpu * kFunctions + function].hits;
    return sum;
  }
  uint64_t ticks(size_t function) const {
    uint64_t sum = 0;
    for (uint32_t cpu = 0; cpu <= nr_cpus_; cpu++) {
      const ProfileCount& count = counts_[cpu * kFunctions + function];
      sum += count.sum[cpu == nr_cpus_ ? 0 : count.hits & 1].ticks;
    }
    return sum;
  }

  Instance top_;
  const uint32_t nr_cpus_ = uint32_t(::sysconf(_SC_NPROCESSORS_CONF));
  std::vector<ProfileCount> counts_;
  ProfileTable table_{};
};

INSTANTIATE_TEST_SUITE_P(Ways, GraphHot, ::testing::Bool());

TEST_P(GraphHot, CallsAreBalancedAndNested) {
  EXPECT_EQ(graph_outer(3), 15u);
  EXPECT_EQ(top_.graph(), "0outer{ 1middle{ 2inner{ 2inner} 2inner{ 2inner} 1middle} 0outer}");
  const std::vector<Record> records = top_.records();
  EXPECT_EQ(records[3].words[2], 6u);  // inner(3)
  EXPECT_EQ(records[7].words[2], 15u);
  for (const Record& record : records) EXPECT_EQ(record.words.size(), record.id == 10 ? 6u : 3u);
  EXPECT_LE(records[7].words[4], records[6].words[4]);  // outer began before middle …
  EXPECT_GE(records[7].words[5], records[6].words[5]);  // … and ended behind it
  EXPECT_EQ(pb_return_thread.graph.current, 0u);
}

TEST_P(GraphHot, DeepRecursionHasItsDepth) {
  EXPECT_EQ(graph_recurse(3000), 3000);
  const std::vector<Record> records = top_.records();
  ASSERT_EQ(records.size(), 6002u);
  for (uint32_t i = 0; i <= 3000; i++) {
    EXPECT_EQ(records[i].depth(), i);
    EXPECT_EQ(records[6001 - i].depth(), i);
  }
}

TEST_P(GraphHot, MoreThanThereAreSlotsIsCounted) {
  graph_recurse(40000);
  const uint32_t lost = pb_return_thread.graph.lost;
  EXPECT_GT(lost, 7000u);
  size_t entries = 0, exits = 0, overrun = 0;
  for (const Record& record : top_.records()) {
    (record.id == abi::kGraphExitId ? exits : entries)++;
    if (record.id == abi::kGraphExitId) overrun = record.overrun();
  }
  EXPECT_EQ(entries, 40001 - lost);
  EXPECT_EQ(exits, entries);
  EXPECT_EQ(overrun, lost);
}

TEST_P(GraphHot, ExceptionsLeaveLevels) {
  graph_catches(3);
  EXPECT_EQ(top_.graph(),
            "0catches{ 1throws{ 2throws{ 3throws{ 4throws{ 1inner{ 1inner} 0catches}");
  top_.buffer->clear();
  graph_outer(1);
  EXPECT_EQ(top_.graph(), "0outer{ 1middle{ 2inner{ 2inner} 2inner{ 2inner} 1middle} 0outer}");
}

// As unhooked functions between two calls do.
__attribute__((noinline)) uint64_t below(uint64_t bytes) {
  auto* room = static_cast<volatile char*>(__builtin_alloca(bytes));
  room[0] = char(bytes);
  const uint64_t result = graph_inner(1) + uint64_t(room[0]);
  __asm__ volatile("" ::: "memory");
  return result;
}

__attribute__((noinline)) void jump_over(int frames) {
  if (!setjmp(g_jump)) graph_jumps(frames);
}
__attribute__((noinline)) void clear_stack_below() {
  char room[64 * 1024];
  std::memset(room, 0, sizeof room);
  __asm__ volatile("" ::"r"(room) : "memory");
}

TEST_P(GraphHot, LongjmpLeavesLevelsWhereverTheNextCallIs) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "the sanitizer decides what stands on the stack below";
#endif
  for (const uint64_t bytes : {uint64_t{8}, uint64_t{500}, uint64_t{5000}, uint64_t{100000}}) {
    top_.buffer->clear();
    jump_over(20);
    clear_stack_below();
    below(bytes);
    const std::vector<Record> records = top_.records();
    ASSERT_EQ(records.size(), 23u);
    EXPECT_EQ(records[21].function, "inner");
    EXPECT_EQ(records[21].depth(), 0u) << bytes;
  }
}

TEST_P(GraphHot, ATailCallIsInTheCallThatItEnds) {
  graph_tail(4);
  EXPECT_EQ(top_.graph(), "0tail{ 1inner{ 1inner} 0tail}");
  EXPECT_EQ(pb_return_thread.graph.current, 0u);
}

char g_stacks[2][64 * 1024];
void start_fiber(int number, char* stack, size_t size) {
  ::getcontext(&g_fiber[number]);
  g_fiber[number].uc_stack.ss_sp = stack;
  g_fiber[number].uc_stack.ss_size = size;
  g_fiber[number].uc_link = &g_back;
  ::makecontext(&g_fiber[number], reinterpret_cast<void (*)()>(+[] { graph_body(2); }), 0);
}
void resume(int number) {
  g_current = number;
  ::swapcontext(&g_back, &g_fiber[number]);
}

TEST_P(GraphHot, AFiberGoesOnAtItsOwnDepth) {
  start_fiber(0, g_stacks[0], sizeof g_stacks[0]);
  start_fiber(1, g_stacks[1], sizeof g_stacks[1]);
  resume(0);
  resume(0);
  EXPECT_EQ(top_.graph(), "0body{ 1inner{ 1inner} 1inner{ 1inner}");
  resume(1);
  resume(0);  // ends
  resume(1);
  resume(1);
  size_t bodies = 0;
  for (const Record& record : top_.records()) {
    bodies += record.function == "body";
    EXPECT_EQ(record.depth(), record.function == "inner" ? 1u : 0u);
  }
  EXPECT_EQ(bodies, 4u);
}

TEST_P(GraphHot, OnlyBelowTheRoots) {
  pb_graph_settings.has_roots = 1;
  graph_site_middle.graph = kGraphRoot;
  graph_outer(1);
  graph_inner(1);
  EXPECT_EQ(top_.graph(), "0middle{ 1inner{ 1inner} 1inner{ 1inner} 0middle}");
}

TEST_P(GraphHot, NothingOfNotraceAndBelow) {
  pb_graph_settings.has_notrace = 1;
  graph_site_middle.graph = kGraphNotrace;
  graph_outer(1);
  graph_inner(1);
  EXPECT_EQ(top_.graph(), "0outer{ 0outer} 0inner{ 0inner}");
}

TEST_P(GraphHot, DepthIsLimited) {
  pb_graph_settings.max_depth = 2;
  graph_outer(1);
  EXPECT_EQ(top_.graph(), "0outer{ 1middle{ 1middle} 0outer}");
}

TEST_P(GraphHot, OnlyExitsOfLongCalls) {
  pb_graph_settings.thresh_ticks = uint64_t{1} << 60;
  pb_graph_settings.has_thresh = 1;
  graph_outer(1);
  graph_sleeps(1);
  EXPECT_EQ(top_.graph(), "");
  pb_graph_settings.thresh_ticks = 1'000'000;
  graph_sleeps(20);
  EXPECT_EQ(top_.graph(), "0sleeps}");
}

uint64_t thread_cpu_time() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return uint64_t(time.tv_sec) * 1000000000u + uint64_t(time.tv_nsec);
}

// No clock is compared with another one: what counts is the thread's CPU time, times a rate that is
// set here.
TEST_P(GraphHot, SleepIsNotCountedWhereItIsNotWanted) {
  g_slept = 0;
  graph_sleeps(50);
  EXPECT_GE(top_.records()[1].ticks(), g_slept);
  pb_graph_settings.without_sleep = 1;
  pb_graph_settings.ticks_per_ns = uint64_t{1} << 32;  // one
  const uint64_t before = thread_cpu_time();
  graph_sleeps(50);
  const uint64_t ran = thread_cpu_time() - before;
  pb_graph_settings.ticks_per_ns = 1;  // next to none, whatever the thread runs
  graph_sleeps(1);
  pb_graph_settings.ticks_per_ns = uint64_t{1} << 63;  // more than the clock's
  const uint64_t slept = g_slept;
  graph_sleeps(1);
  const std::vector<Record> records = top_.records();
  ASSERT_EQ(records.size(), 8u);
  EXPECT_LE(records[3].ticks(), ran);
  EXPECT_GT(records[3].ticks(), 0u);
  EXPECT_EQ(records[5].ticks(), 0u);
  EXPECT_GE(records[7].ticks(), g_slept - slept) << "never more than the clock's, and that here";
}

TEST_P(GraphHot, EntriesCarryArgumentsAndTheCaller) {
  top_.event->graph_flags = kGraphArgs;
  trace_all({top_.event});
  graph_inner(0x1234);
  top_.event->graph_flags = kGraphArgs | kGraphRetaddr;
  trace_all({top_.event});
  graph_inner(0x4321);
  top_.event->graph_flags = kGraphRetaddr;
  trace_all({top_.event});
  graph_middle(5);
  const std::vector<Record> records = top_.records();
  ASSERT_EQ(records.size(), 10u);
  EXPECT_EQ(records[0].id, abi::kGraphEntryId);
  ASSERT_EQ(records[0].words.size(), 9u);
  EXPECT_EQ(records[0].words[3], 0x1234u);
  EXPECT_EQ(records[2].id, abi::kGraphRetaddrEntryId);
  ASSERT_EQ(records[2].words.size(), 10u);
  EXPECT_EQ(records[2].words[4], 0x4321u);
  ASSERT_EQ(records[5].words.size(), 4u);
  const auto middle = reinterpret_cast<uint64_t>(&graph_real_middle);
  EXPECT_GT(records[5].words[3], middle);  // called by middle itself, not by a trampoline
  EXPECT_LT(records[5].words[3], middle + 200);
}

TEST_P(GraphHot, InstancesHaveTheirOwnFunctionsAndThreads) {
  Instance other;
  PidSet* nobody = static_cast<PidSet*>(std::calloc(1, sizeof(PidSet) + 2 * sizeof(uint32_t)));
  nobody->mask = 1;
  pid_set_add(nobody, 1);
  graph_site_middle.return_program = program({top_.event, other.event});
  graph_site_outer.return_program = nullptr;
  graph_outer(1);
  EXPECT_EQ(top_.graph(), "0middle{ 1inner{ 1inner} 1inner{ 1inner} 0middle}");
  EXPECT_EQ(other.graph(), "0middle{ 0middle}");
  other.buffer->clear();
  other.event->pids = nobody;
  graph_middle(1);
  EXPECT_EQ(other.graph(), "");
  EXPECT_EQ(top_.records().size(), 12u);
  other.event->pids = nullptr;
  std::free(nobody);
}

TEST_P(GraphHot, AnEntryThatIsNotRecordedHasNoExit) {
  top_.buffer->disable();
  const int depth = graph_recurse(1);
  EXPECT_EQ(depth, 1);
  EXPECT_TRUE(top_.buffer->enable().ok());
  EXPECT_EQ(top_.graph(), "");
  EXPECT_EQ(pb_return_thread.graph.current, 0u);
}

TEST_P(GraphHot, ThreadsEndInsideOfCalls) {
  for (int i = 0; i < 50; i++) {
    pthread_t thread;
    auto run = +[](void*) -> void* {
      graph_leaves();
      return nullptr;
    };
    ASSERT_EQ(::pthread_create(&thread, nullptr, run, nullptr), 0);
    ::pthread_join(thread, nullptr);
  }
  size_t entries = 0;
  for (const Record& record : top_.records()) {
    EXPECT_EQ(record.id, abi::kGraphEntryId);
    EXPECT_EQ(record.depth(), 0u);
    entries++;
  }
  EXPECT_EQ(entries, 50u);
}

TEST_P(GraphHot, ManyThreadsAtOnceStayBalanced) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; i++)
    threads.emplace_back([] {
      for (int round = 0; round < 500; round++) graph_outer(uint64_t(round));
    });
  for (std::thread& thread : threads) thread.join();
  std::map<uint64_t, int> depth;  // by thread
  size_t count = 0;
  for (const Record& record : top_.records()) {
    int& level = depth[record.words[0] >> 32];
    if (record.id == abi::kGraphExitId) level--;
    EXPECT_EQ(uint32_t(level), record.depth());
    if (record.id != abi::kGraphExitId) level++;
    count++;
  }
  EXPECT_EQ(count, 8u * 500 * 8);
}

volatile uint64_t g_handled;
void on_graph_signal(int) {
  graph_inner(1);
  g_handled = g_handled + 1;
}
// What a signal interrupts may be at any instruction of either way: each exit still has its entry.
TEST_P(GraphHot, SignalsComeAnywhere) {
  g_handled = 0;
  test::SignalStorm storm(ITIMER_PROF, 100, on_graph_signal);
  constexpr uint64_t kCalls = 20000;
  for (uint64_t i = 0; i < kCalls; i++) graph_outer(i);
  storm.stop();
  EXPECT_EQ(pb_return_thread.graph.current, 0u);
  std::vector<Record> open;
  uint64_t entries = 0;
  for (const Record& record : top_.records()) {
    if (record.id == abi::kGraphEntryId) {
      open.push_back(record);
      entries++;
      continue;
    }
    ASSERT_FALSE(open.empty());
    EXPECT_EQ(record.function, open.back().function);
    EXPECT_EQ(record.depth(), open.back().depth());
    open.pop_back();
  }
  EXPECT_TRUE(open.empty());
  EXPECT_EQ(entries, kCalls * 4 + g_handled);
}

TEST_P(GraphHot, TheProfilerCountsCallsAndTimes) {
  trace_all({profiler()});
  for (int i = 0; i < 1000; i++) graph_outer(1);
  g_slept = 0;
  const uint64_t before = raw_now();
  graph_sleeps(20);
  const uint64_t took = raw_now() - before;
  EXPECT_EQ(hits(0), 1000u);
  EXPECT_EQ(hits(1), 1000u);
  EXPECT_EQ(hits(2), 2000u);
  EXPECT_EQ(hits(9), 1u);
  EXPECT_GE(ticks(0), ticks(1));
  EXPECT_GE(ticks(1), ticks(2));
  EXPECT_GE(ticks(9), g_slept);
  EXPECT_LE(ticks(9), took);
  EXPECT_EQ(top_.graph(), "");
  for (uint32_t cpu = 0; cpu < nr_cpus_; cpu++) {
    const ProfileCount& count = counts_[cpu * kFunctions + 9];
    if (!count.hits) continue;
    const auto& sum = count.sum[count.hits & 1];
    const auto square = static_cast<unsigned __int128>(sum.square_hi) << 64 | sum.square_lo;
    EXPECT_TRUE(square == static_cast<unsigned __int128>(sum.ticks) * sum.ticks);
  }
}

TEST_P(GraphHot, CallsOfAnEarlierSessionAreNotCounted) {
  trace_all({profiler()});
  start_fiber(0, g_stacks[0], sizeof g_stacks[0]);
  resume(0);
  table_.session++;
  resume(0);
  resume(0);
  EXPECT_EQ(hits(2), 2u);  // inner
  EXPECT_EQ(hits(8), 0u);  // body
}

TEST_P(GraphHot, ChildrenAreNotCountedWhereTheyAreNotWanted) {
  EventProgram* profile = profiler();
  trace_all({profile});
  graph_site_between.return_program = program({top_.event});  // not profiled
  pb_graph_settings.without_children = 1;
  g_slept = 0;
  const uint64_t before = raw_now();
  graph_naps(100);
  EXPECT_LE(ticks(11), raw_now() - before - g_slept);
  EXPECT_GE(ticks(9), g_slept);
  EXPECT_EQ(hits(11), 1u);
  EXPECT_EQ(hits(12), 0u);
  pb_graph_settings.without_children = 0;
  const uint64_t own = ticks(11), sleeps = ticks(9);
  graph_naps(10);
  EXPECT_GE(ticks(11) - own, ticks(9) - sleeps);
}

TEST_P(GraphHot, TheProfilerAddsNoLevelsToAGraph) {
  EventProgram* profile = profiler();
  trace_all({profile});
  graph_site_inner.return_program = program({profile, top_.event});
  graph_outer(1);
  EXPECT_EQ(top_.graph(), "0inner{ 0inner} 0inner{ 0inner}");
  EXPECT_EQ(hits(2), 2u);
}

// The locked table, where there is no rseq, adds up like the others.
TEST_P(GraphHot, ThreadsWithoutRseqAreCountedTogether) {
  const int64_t offset = pb_rseq_offset;
  pb_rseq_offset = 0;
  trace_all({profiler()});
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; i++)
    threads.emplace_back([] {
      for (int round = 0; round < 5000; round++) graph_inner(1);
    });
  for (std::thread& thread : threads) thread.join();
  pb_rseq_offset = offset;
  const ProfileCount& count = counts_[nr_cpus_ * kFunctions + 2];
  EXPECT_EQ(count.hits, 20000u);
  EXPECT_GT(count.sum[0].square_lo, count.sum[0].ticks);
  EXPECT_EQ(count.sum[1].ticks, 0u);
}

}  // namespace
}  // namespace patchbay
