// SPDX-License-Identifier: MIT
//
// Several function tracers over functions of this program: who is served where, which sites are
// patched, what one program is shared by; tracers and probes at one entry; and all of it changed by
// one thread while others call.
#include "tracer/ftrace_ops.h"

#include <signal.h>
#include <ucontext.h>

#include <atomic>
#include <cstring>
#include <thread>

#include "hot/rseq_testing.h"
#include "registry/event_requests.h"
#include "registry/events/function_events.h"
#include "registry/pid_lists.h"
#include "registry/registry_testing.h"
#include "registry/settings.h"

#if defined(__clang__)
#define TRACED extern "C" __attribute__((noinline, used, visibility("default")))
#else
#define TRACED extern "C" __attribute__((noipa, used, visibility("default")))
#endif

TRACED long ops_one(long a) {
  __asm__ volatile("" : "+r"(a));
  return a + 1;
}
TRACED long ops_two(long a) {
  __asm__ volatile("" : "+r"(a));
  return a + 2;
}
TRACED long ops_three(long a) {
  __asm__ volatile("" : "+r"(a));
  return a + 3;
}
TRACED __attribute__((alias("ops_three"), nothrow)) long ops_three_alias(long a);

namespace patchbay {
namespace {

void on_trap(int, siginfo_t*, void* context) {
  auto& rip = static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_RIP];
  const uint64_t target = patch_trap_target(static_cast<uint64_t>(rip) - 1);
  if (!target) _exit(99);
  rip = static_cast<greg_t>(target);
}

uint64_t address_of(long (*function)(long)) { return reinterpret_cast<uint64_t>(function); }

// Code that is parked names it; so that the leak checker knows it.
FetchProgram& make_fetch() {
  static auto* kept = new std::vector<FetchProgram*>;
  kept->push_back(new FetchProgram());
  return *kept->back();
}

class FtraceOpsTest : public test::RegistryTest {
 protected:
  void SetUp() override {
    struct sigaction action = {};
    action.sa_sigaction = on_trap;
    action.sa_flags = SA_SIGINFO | SA_NODEFER;
    sigaction(SIGTRAP, &action, nullptr);
    pb_rseq_offset = test::rseq_offset();
    RegistryTest::SetUp();
    patcher_ = make_patcher();
    sites_ = std::make_unique<ProbeSites>(*patcher_);
    table_ = std::make_unique<FunctionTable>(*symbols_, *patcher_);
    ops_ = std::make_unique<FtraceOpsTable>(*registry_, *patcher_, *sites_, *table_);
    table_->refresh(nullptr, nullptr);
    fetch_.fixed_size = fetch_.max_size = 24;
    fetch_.head = RecordHead::kCall;
    fetch_.scalar_only = 1;
  }
  void TearDown() override {
    EXPECT_EQ(patcher_->patched_sites(), 0u) << sites_->show();
    RegistryTest::TearDown();
  }

  DynFtrace* function(long (*address)(long)) { return table_->find(address_of(address)); }
  FtraceHash only(std::vector<long (*)(long)> functions) {
    FtraceHash hash;
    for (auto address : functions) hash.functions.insert(function(address));
    return hash;
  }
  std::unique_ptr<FtraceOps> make(const char* name, TraceArray& array, FtraceHash filter) {
    auto made = std::make_unique<FtraceOps>();
    made->name = name;
    made->array = &array;
    made->filter = std::move(filter);
    made->live.call.name = "function";
    made->live.call.id = 1;
    made->live.fetch = &fetch_;
    made->live.max_size = 24;
    return made;
  }
  bool serves(long (*address)(long), const FtraceOps& ops) {
    for (const ProbeSites::Consumer& one : sites_->consumers(function(address)->place))
      if (one.live == &ops.live) return true;
    return false;
  }
  const SiteProgram* program(long (*address)(long)) {
    const CallSite* site = sites_->site(function(address)->place);
    return site ? site->program : nullptr;
  }
  // The functions whose calls an instance has, in order.
  static std::vector<uint64_t> calls(TraceArray& array) {
    std::vector<uint64_t> found;
    for (const std::string& record : records(array.buffer.get())) {
      uint64_t ip = 0;
      std::memcpy(&ip, record.data() + 8, sizeof ip);
      found.push_back(ip);
    }
    array.buffer->clear();
    return found;
  }

  std::unique_ptr<Patcher> patcher_;
  std::unique_ptr<ProbeSites> sites_;
  std::unique_ptr<FunctionTable> table_;
  std::unique_ptr<FtraceOpsTable> ops_;
  FetchProgram& fetch_ = make_fetch();
};

TEST_F(FtraceOpsTest, TheTableHasEachEntryOnce) {
  DynFtrace* three = function(ops_three);
  ASSERT_NE(three, nullptr);
  size_t at_entry = 0;
  for (const DynFtrace* one : table_->functions())
    at_entry += one->place.plan.entry == address_of(ops_three);
  EXPECT_EQ(at_entry, 1u);
  EXPECT_TRUE(three->name.starts_with("ops_three"));
  EXPECT_EQ(FunctionTable::module_name(*three), "") << "the program's own";
  EXPECT_EQ(three->return_place, nullptr) << "nobody has asked";
  EXPECT_NE(table_->plan_return(three).plan.kind, SiteKind::kRefused);
  EXPECT_EQ(table_->functions()[three->index], three);
  EXPECT_EQ(table_->find(address_of(ops_three) + 1), nullptr);
}

TEST_F(FtraceOpsTest, TheTableIsMadeAnewAfterAllIsForgotten) {
  for (int round = 0; round < 2; round++) {
    auto one = make("one", registry_->top(), only({ops_one}));
    ASSERT_TRUE(ops_->add(one.get()).ok());
    EXPECT_TRUE(serves(ops_one, *one));
    EXPECT_FALSE(ops_->can_forget_all()) << "it is registered";
    EXPECT_TRUE(serves(ops_one, *one));
    ops_->remove(one.get());
    ASSERT_TRUE(ops_->can_forget_all());
    ops_->forget_all();
    EXPECT_FALSE(table_->is_made());
    patcher_->drop_caches();
    table_->refresh(nullptr, nullptr);
  }
}

TEST_F(FtraceOpsTest, EachSeesItsOwnAndSitesArePatchedOnlyWhileWanted) {
  TraceArray* other = *registry_->create_array("other");
  auto a = make("trace", top(), only({ops_one, ops_two}));
  auto b = make("trace", *other, only({ops_two, ops_three}));
  ASSERT_TRUE(ops_->add(a.get()).ok());
  EXPECT_EQ(patcher_->patched_sites(), 2u);
  ASSERT_TRUE(ops_->add(b.get()).ok());
  EXPECT_EQ(patcher_->patched_sites(), 3u);
  EXPECT_TRUE(serves(ops_one, *a) && !serves(ops_one, *b));
  EXPECT_TRUE(serves(ops_two, *a) && serves(ops_two, *b));
  EXPECT_EQ(program(ops_one)->nr_events, 1u) << "who filters a function out costs nothing there";
  EXPECT_EQ(program(ops_two)->nr_events, 2u);
  EXPECT_EQ(ops_one(1) + ops_two(1) + ops_three(1), 9);
  EXPECT_EQ(calls(top()), (std::vector<uint64_t>{address_of(ops_one), address_of(ops_two)}));
  EXPECT_EQ(calls(*other), (std::vector<uint64_t>{address_of(ops_two), address_of(ops_three)}));
  EXPECT_EQ(function(ops_two)->users, 2u);
  EXPECT_EQ(ops_->users(*function(ops_two)), (std::vector<const FtraceOps*>{a.get(), b.get()}));
  ops_->remove(a.get());
  EXPECT_EQ(patcher_->patched_sites(), 2u);
  EXPECT_FALSE(serves(ops_two, *a));
  EXPECT_EQ(ops_one(1) + ops_two(1), 5);
  EXPECT_TRUE(calls(top()).empty());
  EXPECT_EQ(calls(*other), std::vector<uint64_t>{address_of(ops_two)});
  EXPECT_TRUE(function(ops_one)->touched);
  EXPECT_EQ(function(ops_one)->users, 0u);
  ops_->remove(b.get());
}

TEST_F(FtraceOpsTest, NewHashesTouchOnlyWhatChanges) {
  auto a = make("trace", top(), only({ops_one, ops_two}));
  ASSERT_TRUE(ops_->add(a.get()).ok());
  const SiteProgram* shared = program(ops_one);
  EXPECT_EQ(program(ops_two), shared) << "one program for one set of consumers";
  ASSERT_TRUE(ops_->set_hashes(a.get(), only({ops_two, ops_three}), {}).ok());
  EXPECT_EQ(program(ops_one), nullptr);
  EXPECT_EQ(program(ops_two), shared);
  EXPECT_EQ(program(ops_three), shared);
  ASSERT_TRUE(ops_->set_hashes(a.get(), only({ops_two, ops_three}), only({ops_three})).ok());
  EXPECT_EQ(patcher_->patched_sites(), 1u) << "notrace wins";
  ASSERT_TRUE(ops_->set_hashes(a.get(), only({ops_two}), {}).ok());
  EXPECT_EQ(sites_->combinations(), "1 entry trace\n");
  ops_->remove(a.get());
  EXPECT_EQ(sites_->combinations(), "") << "nobody is served";
  ASSERT_TRUE(ops_->add(a.get()).ok());
  EXPECT_EQ(program(ops_two), shared) << "taken again when the set comes again";
  ops_->remove(a.get());
}

TEST_F(FtraceOpsTest, TheNewestIsTheDefaultAndTheEarliestFollowsIt) {
  auto a = make("trace", top(), only({ops_one}));
  auto b = make("trace_profile", top(), only({ops_one}));
  auto c = make("trace_stack", top(), only({ops_one}));
  auto hidden = make("traceoff", top(), only({ops_one}));
  hidden->hidden = true;
  EXPECT_EQ(ops_->default_of(top()), nullptr);
  for (FtraceOps* one : {a.get(), b.get(), c.get(), hidden.get()}) ASSERT_TRUE(ops_->add(one).ok());
  EXPECT_EQ(ops_->default_of(top()), c.get());
  EXPECT_EQ(ops_->of(top()), (std::vector<FtraceOps*>{a.get(), b.get(), c.get()}));
  EXPECT_EQ(ops_->set_default(top(), "nosuch").error().errno_value, EINVAL);
  EXPECT_EQ(ops_->set_default(top(), "traceoff").error().errno_value, EINVAL);
  ASSERT_TRUE(ops_->set_default(top(), "trace_profile").ok());
  EXPECT_EQ(ops_->default_of(top()), b.get());
  ops_->remove(b.get());
  EXPECT_EQ(ops_->default_of(top()), a.get());
  EXPECT_EQ(ops_->add(a.get()).error().errno_value, EBUSY);
  for (FtraceOps* one : {a.get(), c.get(), hidden.get()}) ops_->remove(one);
  EXPECT_EQ(ops_->default_of(top()), nullptr);
}

TEST_F(FtraceOpsTest, OneFilterForAllTracers) {
  auto trace = make("trace", top(), only({ops_one}));
  auto profile = make("trace_profile", top(), {});
  auto stack = make("trace_stack", top(), only({ops_three}));
  stack->own_filter = true;
  auto elsewhere = make("trace", **registry_->create_array("one"), only({ops_three}));
  ops_->share_filters(trace.get());
  for (FtraceOps* one : {trace.get(), profile.get(), stack.get(), elsewhere.get()})
    ASSERT_TRUE(ops_->add(one).ok());
  EXPECT_EQ(ops_->default_of(top()), trace.get());
  EXPECT_EQ(profile->filter, only({ops_one})) << "who comes later takes it over";
  ASSERT_TRUE(ops_->set_hashes(profile.get(), only({ops_two}), only({ops_three})).ok());
  EXPECT_EQ(trace->filter, only({ops_two}));
  EXPECT_EQ(trace->notrace, only({ops_three}));
  EXPECT_TRUE(serves(ops_two, *trace) && serves(ops_two, *profile));
  EXPECT_EQ(stack->filter, only({ops_three}));
  EXPECT_EQ(elsewhere->filter, only({ops_three}));
  ops_->remove(trace.get());
  ASSERT_TRUE(ops_->set_hashes(profile.get(), only({ops_one}), {}).ok());
  EXPECT_EQ(trace->filter, only({ops_one})) << "also while it is not registered";
  ASSERT_TRUE(ops_->set_default(top(), "trace_profile").ok());
  ASSERT_TRUE(ops_->set_hashes(profile.get(), only({ops_two}), {}).ok());
  EXPECT_EQ(trace->filter, only({ops_one})) << "a name ends it";
  for (FtraceOps* one : {profile.get(), stack.get(), elsewhere.get()}) ops_->remove(one);
}

TEST_F(FtraceOpsTest, TracersAreNoEvents) {
  auto a = make("trace", top(), only({ops_one}));
  ASSERT_TRUE(ops_->add(a.get()).ok());
  EXPECT_EQ(registry_->requests().show(top()), "");
  ASSERT_TRUE(registry_->requests().clear(top()).ok());
  EXPECT_EQ(patcher_->patched_sites(), 1u);
  ASSERT_TRUE(registry_->pid_lists().add(top(), PidList::kTrace, "1").ok());
  EXPECT_EQ(a->live.programs[0]->pids, nullptr) << "set_event_pid is of events";
  ASSERT_TRUE(registry_->pid_lists().add(top(), PidList::kFtrace, "1").ok());
  ASSERT_NE(a->live.programs[0]->pids, nullptr);
  EXPECT_TRUE(pid_set_has(a->live.programs[0]->pids, 1));
  ASSERT_TRUE(registry_->settings().resize(top(), {}, 256).ok());
  EXPECT_EQ(a->live.programs[0]->rings, top().buffer->rings());
  ops_->remove(a.get());
}

TEST_F(FtraceOpsTest, ATracerAndAFunctionEventShareAnEntry) {
  FunctionEvents events(*registry_, *patcher_, *sites_);
  ASSERT_TRUE(events.write_line("ops_one(long a)").ok());
  LiveEvent* event = registry_->find_event("functions", "ops_one");
  ASSERT_NE(event, nullptr);
  TraceArray* other = *registry_->create_array("other");
  auto a = make("trace", *other, only({ops_one, ops_two}));
  ASSERT_TRUE(enable(top(), event).ok());
  ASSERT_TRUE(ops_->add(a.get()).ok());
  EXPECT_EQ(program(ops_one)->nr_events, 2u);
  EXPECT_EQ(ops_one(7), 8);
  ASSERT_TRUE(enable(top(), event, false).ok());
  EXPECT_EQ(ops_one(7), 8);
  EXPECT_EQ(calls(*other), std::vector<uint64_t>(2, address_of(ops_one)));
  EXPECT_EQ(records(top().buffer.get()).size(), 1u);
  EXPECT_EQ(program(ops_one), program(ops_two)) << "the same set again: the same program";
  ops_->remove(a.get());
  ASSERT_TRUE(events.clear().ok());
}

// Filters and tracers change while others call: what was on all the time has every call, and what
// is off at the end has none.
TEST_F(FtraceOpsTest, ChangesUnderLoad) {
  TraceArray* steady_array = *registry_->create_array("steady");
  TraceArray* other = *registry_->create_array("other");
  ASSERT_TRUE(registry_->settings().resize(*steady_array, {}, 16384).ok());
  auto steady = make("trace", *steady_array, only({ops_two}));
  auto moving = make("trace", top(), only({ops_one}));
  auto coming = make("trace", *other, only({ops_one, ops_two, ops_three}));
  ASSERT_TRUE(ops_->add(steady.get()).ok());
  ASSERT_TRUE(ops_->add(moving.get()).ok());
  std::atomic<bool> stop{false};
  std::atomic<long> wrong{0}, twos{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; i++)
    threads.emplace_back([&] {
      long own = 0;
      for (; !stop && own < 100000; own++)
        wrong += ops_one(1) != 2 || ops_two(1) != 3 || ops_three(1) != 4;
      twos += own;
    });
  for (int round = 0; round < 300; round++) {
    FtraceHash next = round % 3 == 0   ? only({ops_one, ops_three})
                      : round % 3 == 1 ? only({ops_two})
                                       : only({ops_one});
    ASSERT_TRUE(ops_->set_hashes(moving.get(), std::move(next), {}).ok());
    if (round % 2) {
      ops_->remove(coming.get());
    } else {
      ASSERT_TRUE(ops_->add(coming.get()).ok());
    }
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(long(calls(*steady_array).size()), twos);
  ops_->remove(moving.get());
  calls(top());
  calls(*other);
  ops_one(1);
  ops_two(1);
  EXPECT_TRUE(calls(top()).empty() && calls(*other).empty());
  EXPECT_EQ(calls(*steady_array).size(), 1u);
  ops_->remove(steady.get());
}

}  // namespace
}  // namespace patchbay
