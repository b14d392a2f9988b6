// SPDX-License-Identifier: MIT
//
// current_tracer, the sets of function_graph and the profiler over patched functions of this
// program.
#include <signal.h>
#include <ucontext.h>

#include <algorithm>
#include <cstring>

#include "abi/ftrace_records.h"
#include "hot/fault.h"
#include "hot/rseq_testing.h"
#include "probe/returns/graph_hot.h"
#include "registry/registry_testing.h"
#include "registry/settings.h"
#include "tracer/graph_control.h"
#include "tracer/profiler.h"
#include "tracer/tracers.h"

#if defined(__clang__)
#define TRACED extern "C" __attribute__((noinline, used, visibility("default")))
#else
#define TRACED extern "C" __attribute__((noipa, used, visibility("default")))
#endif

TRACED long tracer_leaf(long a, long b) {
  __asm__ volatile("" : "+r"(a));
  return a + 2 * b;
}
TRACED long tracer_middle(long a) {
  const long sum = tracer_leaf(a, 1) + tracer_leaf(a, 2);
  __asm__ volatile("");
  return sum;
}
TRACED long tracer_outer(long a) {
  const long sum = tracer_middle(a) + 1;
  __asm__ volatile("");
  return sum;
}

namespace patchbay {
namespace {

using Set = GraphControl::Set;

void on_trap(int, siginfo_t*, void* context) {
  auto& rip = static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_RIP];
  const uint64_t target = patch_trap_target(static_cast<uint64_t>(rip) - 1);
  if (!target) _exit(99);
  rip = static_cast<greg_t>(target);
}
void on_fault(int signal, siginfo_t*, void* context) {
  auto& ip = static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_RIP];
  const uint64_t fixup = fault_fixup(uint64_t(ip));
  if (!fixup) ::signal(signal, SIG_DFL);
  if (fixup) ip = greg_t(fixup);
}
void handle(int signal, void (*handler)(int, siginfo_t*, void*)) {
  struct sigaction action = {};
  action.sa_sigaction = handler;
  action.sa_flags = SA_SIGINFO | SA_NODEFER;
  ::sigaction(signal, &action, nullptr);
}

class TracersCurrent : public test::RegistryTest {
 protected:
  void SetUp() override {
    handle(SIGTRAP, on_trap);
    handle(SIGSEGV, on_fault);
    pb_rseq_offset = test::rseq_offset();
    RegistryTest::SetUp();
    patcher_ = make_patcher();
    sites_ = std::make_unique<ProbeSites>(*patcher_);
    tracers_ = std::make_unique<Tracers>(*registry_, *patcher_, *sites_);
    filter(top(), {"tracer_leaf", "tracer_middle", "tracer_outer"});
  }
  void TearDown() override {
    EXPECT_TRUE(tracers_->profiler().set_enabled(false).ok());
    set(top(), "nop");
    set_graph(Set::kFunctions, {});
    set_graph(Set::kNotrace, {});
    tracers_->graph().set_max_depth(0);
    EXPECT_EQ(patcher_->patched_sites(), 0u) << sites_->show();
    tracers_.reset();
    RegistryTest::TearDown();
  }

  void filter(TraceArray& array, const std::vector<std::string>& lines) {
    auto session = tracers_->open_filter(array, Tracers::Filter::kFilter, true);
    ASSERT_TRUE(session.ok());
    for (const std::string& line : lines)
      ASSERT_TRUE(tracers_->write_filter_line(&*session, line).ok()) << line;
    ASSERT_TRUE(tracers_->close_filter(&*session).ok());
  }
  void set(TraceArray& array, const char* name) {
    Status status = tracers_->set_tracer(array, name);
    EXPECT_TRUE(status.ok()) << status.error().message();
    EXPECT_EQ(tracers_->tracer_name(array), name);
  }
  void profile(const std::vector<std::string>& names) {
    Profiler::Functions functions;
    for (const std::string& name : names)
      EXPECT_TRUE(
          apply_filter_line(tracers_->table(), *parse_filter_line(name), &functions.filter).ok());
    Status status = tracers_->profiler().set_enabled(true, std::move(functions));
    EXPECT_TRUE(status.ok()) << status.error().message();
  }
  void set_graph(Set which, const std::vector<std::string>& lines) {
    FtraceHash written = tracers_->graph().open(which, true);
    for (const std::string& line : lines)
      EXPECT_TRUE(tracers_->graph().write_line(which, line, &written).ok()) << line;
    tracers_->graph().close(which, std::move(written));
  }
  int set_errno(TraceArray& array, const char* name) {
    Status status = tracers_->set_tracer(array, name);
    return status.ok() ? 0 : status.error().errno_value;
  }

  static std::string name_of(uint64_t function) {
    if (function == reinterpret_cast<uint64_t>(&tracer_leaf)) return "leaf";
    if (function == reinterpret_cast<uint64_t>(&tracer_middle)) return "middle";
    if (function == reinterpret_cast<uint64_t>(&tracer_outer)) return "outer";
    return "?";
  }
  // This thread may have been on several CPUs.
  static std::vector<std::string> in_order(TraceArray& array) {
    std::multimap<uint64_t, std::string> found;
    RingReader reader(array.buffer.get(), false);
    PageImage page;
    for (uint32_t ring = 0; ring < reader.nr_rings(); ring++)
      while (reader.next_page(ring, true, &page)) {
        EventIterator events(page.bytes, page.used);
        for (EventView event; events.next(&event);)
          found.emplace(event.time, std::string(event.record.begin(), event.record.end()));
      }
    std::vector<std::string> list;
    for (auto& [time, record] : found) list.push_back(std::move(record));
    return list;
  }
  // "leaf" a function record, "1leaf{" an entry, "1leaf}" an exit; the buffer is empty then.
  std::string taken(TraceArray& array) {
    std::string text;
    for (const std::string& record : in_order(array)) {
      std::vector<uint64_t> words(record.size() / 8);
      std::memcpy(words.data(), record.data(), words.size() * 8);
      const auto id = uint16_t(words[0]);
      if (!text.empty()) text += ' ';
      if (id == abi::kGraphExitId) text += std::to_string(uint32_t(words[3]));
      if (id == abi::kGraphEntryId) text += std::to_string(uint32_t(words[2]));
      text += name_of(words[1]);
      if (id == abi::kGraphExitId) text += '}';
      if (id == abi::kGraphEntryId) text += '{';
      last_size_ = record.size();
    }
    registry_->settings().clear(array);
    return text;
  }

  std::unique_ptr<Patcher> patcher_;
  std::unique_ptr<ProbeSites> sites_;
  std::unique_ptr<Tracers> tracers_;
  size_t last_size_ = 0;
};

constexpr char kGraph[] = "0outer{ 1middle{ 2leaf{ 2leaf} 2leaf{ 2leaf} 1middle} 0outer}";

TEST_F(TracersCurrent, EachTracerRecordsItsOwnWay) {
  EXPECT_EQ(tracers_->tracer_name(top()), "nop");
  tracer_outer(1);
  set(top(), "function");
  tracer_outer(1);
  EXPECT_EQ(taken(top()), "outer middle leaf leaf");
  EXPECT_EQ(last_size_, sizeof(abi::FunctionRecord));
  set(top(), "function_graph");
  EXPECT_EQ(tracer_outer(1), 9);
  EXPECT_EQ(taken(top()), kGraph);
  set(top(), "nop");
  tracer_outer(1);
  EXPECT_EQ(taken(top()), "");
  EXPECT_EQ(patcher_->patched_sites(), 0u);
}

TEST_F(TracersCurrent, AnotherTracerClearsTheSameOneKeeps) {
  set(top(), "function");
  tracer_leaf(1, 1);
  set(top(), "function");
  EXPECT_EQ(in_order(top()).size(), 1u);
  set(top(), "function_graph");
  EXPECT_EQ(in_order(top()).size(), 0u);
  tracer_leaf(1, 1);
  set(top(), "nop");
  EXPECT_EQ(taken(top()), "");
}

TEST_F(TracersCurrent, WhatCannotBeIsRefused) {
  EXPECT_EQ(set_errno(top(), "wakeup"), EINVAL);
  EXPECT_EQ(set_errno(top(), ""), EINVAL);
  set(top(), "function");
  top().pipe_open = true;
  EXPECT_EQ(set_errno(top(), "nop"), EBUSY);
  EXPECT_EQ(set_errno(top(), "function"), 0);
  EXPECT_EQ(set_errno(top(), "nonsense"), EINVAL);
  top().pipe_open = false;
  EXPECT_EQ(tracers_->tracer_name(top()), "function");
}

TEST_F(TracersCurrent, OptionsChangeTheRecordsWhileTheTracerRuns) {
  set(top(), "function");
  EXPECT_TRUE(registry_->settings().set_option(top(), TraceOption::kFuncArgs, true).ok());
  tracer_leaf(1, 1);
  EXPECT_EQ(taken(top()), "leaf");
  EXPECT_EQ(last_size_, sizeof(abi::FunctionRecord) + 48);
  set(top(), "function_graph");
  EXPECT_TRUE(registry_->settings().set_option(top(), TraceOption::kFuncgraphArgs, true).ok());
  tracer_leaf(0x77, 0x88);
  const auto records = in_order(top());
  ASSERT_EQ(records.size(), 2u);
  ASSERT_EQ(records[0].size(), sizeof(abi::GraphEntryRecord) + 48);
  uint64_t argument;
  std::memcpy(&argument, records[0].data() + sizeof(abi::GraphEntryRecord) + 8, 8);
  EXPECT_EQ(argument, 0x88u);
  EXPECT_TRUE(registry_->settings().set_option(top(), TraceOption::kFuncgraphArgs, false).ok());
  EXPECT_TRUE(registry_->settings().set_option(top(), TraceOption::kFuncArgs, false).ok());
}

TEST_F(TracersCurrent, InstancesTraceTheirOwnFunctions) {
  auto made = registry_->create_array("other");
  ASSERT_TRUE(made.ok());
  TraceArray& other = **made;
  filter(other, {"tracer_leaf"});
  set(top(), "function_graph");
  set(other, "function_graph");
  profile({"tracer_leaf"});
  filter(top(), {"tracer_leaf", "tracer_outer"});  // the profiler's, which is the default now
  tracer_outer(1);
  EXPECT_EQ(taken(top()), kGraph);
  EXPECT_EQ(taken(other), "2leaf{ 2leaf} 2leaf{ 2leaf}");
  set(top(), "function");
  tracer_outer(1);
  EXPECT_EQ(taken(top()), "outer middle leaf leaf");
  set(other, "nop");
  ASSERT_TRUE(registry_->remove_array("other").ok());
}

TEST_F(TracersCurrent, GraphSetsAndDepthSayWhatIsFollowed) {
  set(top(), "function_graph");
  set_graph(Set::kFunctions, {"tracer_middle"});
  EXPECT_EQ(tracers_->graph().show(Set::kFunctions), "tracer_middle\n");
  tracer_outer(1);
  EXPECT_EQ(taken(top()), "0middle{ 1leaf{ 1leaf} 1leaf{ 1leaf} 0middle}");
  set_graph(Set::kFunctions, {});
  EXPECT_EQ(tracers_->graph().show(Set::kFunctions), "#### all functions enabled ####\n");
  set_graph(Set::kNotrace, {"tracer_m*"});
  tracer_outer(1);
  EXPECT_EQ(taken(top()), "0outer{ 0outer}");
  set_graph(Set::kNotrace, {});
  EXPECT_EQ(tracers_->graph().show(Set::kNotrace), "#### no functions disabled ####\n");
  tracers_->graph().set_max_depth(1);
  tracer_outer(1);
  EXPECT_EQ(taken(top()), "0outer{ 0outer}");
}

// A mark reaches functions that are joined later, and leaves those that are not marked any more.
TEST_F(TracersCurrent, GraphSetsHoldForTracersThatComeLater) {
  set_graph(Set::kNotrace, {"tracer_leaf"});
  set(top(), "function_graph");
  tracer_outer(1);
  EXPECT_EQ(taken(top()), "0outer{ 1middle{ 1middle} 0outer}");
  set_graph(Set::kNotrace, {"tracer_leaf", "tracer_middle", "!tracer_leaf"});
  tracer_outer(1);
  tracer_leaf(1, 1);
  EXPECT_EQ(taken(top()), "0outer{ 0outer} 0leaf{ 0leaf}");
}

TEST_F(TracersCurrent, GraphSetsRefuseWhatTheyCannotMean) {
  FtraceHash written = tracers_->graph().open(Set::kFunctions, true);
  for (const char* line :
       {"no_such_function", "tracer_leaf:traceoff", "tracer_leaf:mod:libc*", "3", "!tracer_leaf"}) {
    Status status = tracers_->graph().write_line(Set::kFunctions, line, &written);
    ASSERT_FALSE(status.ok()) << line;
    EXPECT_EQ(status.error().errno_value, EINVAL) << line;
  }
  EXPECT_TRUE(written.empty());
}

TEST_F(TracersCurrent, OnlyLongCallsWithAThreshold) {
  set(top(), "function_graph");
  registry_->settings().set_tracing_thresh(10'000'000);
  tracers_->graph().settings_changed();
  tracer_outer(1);
  EXPECT_EQ(taken(top()), "");
  registry_->settings().set_tracing_thresh(0);
  tracers_->graph().settings_changed();
  tracer_leaf(1, 1);
  EXPECT_EQ(taken(top()), "0leaf{ 0leaf}");
}

TEST_F(TracersCurrent, TheProfilerCountsItsFunctions) {
  profile({"tracer_leaf", "tracer_outer"});
  for (int i = 0; i < 100; i++) tracer_outer(i);
  ASSERT_TRUE(tracers_->profiler().set_enabled(false).ok());
  tracer_outer(1);
  uint64_t leaf = 0, outer = 0;
  const uint32_t nr_cpus = top().buffer->rings()->nr_cpus;
  for (uint32_t cpu = 0; cpu <= nr_cpus; cpu++)
    for (const Profiler::Row& row : tracers_->profiler().rows(cpu)) {
      EXPECT_NE(row.function->name, "tracer_middle");
      (row.function->name == "tracer_leaf" ? leaf : outer) += row.hits;
      EXPECT_GT(row.total_ns, 0u);
    }
  EXPECT_EQ(leaf, 200u);
  EXPECT_EQ(outer, 100u);
  EXPECT_EQ(taken(top()), "");
  profile({"tracer_leaf"});  // begins at 0
  for (uint32_t cpu = 0; cpu <= nr_cpus; cpu++) EXPECT_TRUE(tracers_->profiler().rows(cpu).empty());
}

// What set_ftrace_filter says while nothing runs is the profiler's when it starts, and stays there
// when it stops.
TEST_F(TracersCurrent, TheProfilerTakesTheFilterThatIsThere) {
  const auto shown = [&] { return tracers_->show_filter(top(), Tracers::Filter::kFilter); };
  const auto hits = [&] {
    std::map<std::string, uint64_t> sum;
    for (uint32_t cpu = 0; cpu <= top().buffer->rings()->nr_cpus; cpu++)
      for (const Profiler::Row& row : tracers_->profiler().rows(cpu))
        sum[std::string(row.function->name)] += row.hits;
    return sum;
  };
  using Hits = std::map<std::string, uint64_t>;
  filter(top(), {"tracer_leaf"});
  const std::string leaf = shown();
  ASSERT_TRUE(tracers_->set_profiling(true).ok());
  EXPECT_EQ(shown(), leaf);
  tracer_outer(1);
  EXPECT_EQ(hits(), Hits({{"tracer_leaf", 2}}));
  filter(top(), {"tracer_middle"});
  const std::string middle = shown();
  ASSERT_TRUE(tracers_->set_profiling(false).ok());
  EXPECT_EQ(shown(), middle);
  ASSERT_TRUE(tracers_->set_profiling(true).ok());
  EXPECT_EQ(shown(), middle);
  ASSERT_TRUE(tracers_->set_profiling(false).ok());
  // Beside another tracer it has its own, which 0 and 1 do not change.
  filter(top(), {"tracer_outer"});
  set(top(), "function");
  ASSERT_TRUE(tracers_->set_profiling(true).ok());
  tracer_outer(1);
  EXPECT_EQ(hits().count("tracer_outer"), 0u);
  EXPECT_EQ(hits().count("tracer_middle"), 1u);
  ASSERT_TRUE(tracers_->set_profiling(false).ok());
  EXPECT_NE(shown(), middle) << "that of trace";
}

TEST_F(TracersCurrent, TheProfilersTextIsTheKernels) {
  profile({"tracer_leaf"});
  tracer_leaf(1, 1);
  ASSERT_TRUE(tracers_->profiler().set_enabled(false).ok());
  std::string text;
  for (uint32_t cpu = 0; cpu <= top().buffer->rings()->nr_cpus; cpu++) {
    const std::string one = tracers_->profiler().show(cpu);
    EXPECT_TRUE(
        one.starts_with("  Function                               Hit    Time            "
                        "Avg             s^2\n"))
        << one;
    if (one.find("tracer_leaf") != one.npos) text = one;
  }
  const size_t row = text.find("  tracer_leaf                              1    ");
  ASSERT_NE(row, text.npos) << text;
  EXPECT_NE(text.find("    0.000 us    \n", row), text.npos) << text;  // no variance of one
  const std::string whole = tracers_->profiler().show_all();
  EXPECT_TRUE(whole.starts_with("1 ")) << whole;
  EXPECT_NE(whole.find(" tracer_leaf tracer_test@0x"), whole.npos) << whole;
}

}  // namespace
}  // namespace patchbay
