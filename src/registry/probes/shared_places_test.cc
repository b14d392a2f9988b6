// SPDX-License-Identifier: MIT
//
// Several kinds of events at one place of this program, recorded and taken away again in any order:
// function events, probes and return probes at an entry, a probe on the nop of a USDT probe, event
// probes on function events and on static events.
#include <patchbay/trace_event.h>
#include <signal.h>
#include <ucontext.h>

#include <cstring>

#if __has_include(<sys/sdt.h>)
#include <sys/sdt.h>
#endif

#include "base/text.h"
#include "hot/rseq_testing.h"
#include "registry/event_filters.h"
#include "registry/event_requests.h"
#include "registry/events/function_events.h"
#include "registry/events/static_events.h"
#include "registry/events/usdt_events.h"
#include "registry/probes/probe_events.h"
#include "registry/registry_testing.h"
#include "registry/settings.h"
#include "ring_buffer/ring_write_hot.h"

PB_TRACE_EVENT(shared, shared_passed, PB_FIELDS(PB_FIELD(int, a), PB_FIELD(int, b)));

#if defined(__clang__)
#define TRACED extern "C" __attribute__((noinline, used, visibility("default")))
#else
#define TRACED extern "C" __attribute__((noipa, used, visibility("default")))
#endif

TRACED long shared_sum(long a, long b) {
  __asm__ volatile("" : "+r"(a));
  return a + 2 * b;
}
TRACED void shared_pass(int a, int b) { PB_TRACE(shared_passed, a, b); }
#ifdef STAP_PROBE1
TRACED int shared_nop(int a) {
  STAP_PROBE1(pbshared, nop, a);
  return a + 1;
}
#endif

namespace patchbay {
namespace {

constexpr ProbeFile kDynamic = ProbeFile::kDynamicEvents;

void on_trap(int, siginfo_t*, void* context) {
  auto& rip = static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_RIP];
  const uint64_t target = patch_trap_target(static_cast<uint64_t>(rip) - 1);
  if (!target) _exit(99);
  rip = static_cast<greg_t>(target);
}

class SharedPlaces : public test::RegistryTest {
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
    functions_ = std::make_unique<FunctionEvents>(*registry_, *patcher_, *sites_);
    usdt_ = std::make_unique<UsdtEvents>(*registry_, *patcher_, *sites_);
    static_ = std::make_unique<StaticEvents>(*registry_, *patcher_);
    probes_ = std::make_unique<ProbeEvents>(*registry_, *patcher_, *sites_);
  }
  void TearDown() override {
    EXPECT_TRUE(registry_->requests().clear(top()).ok());
    EXPECT_EQ(patcher_->patched_sites(), 0u) << sites_->show();
    EXPECT_TRUE(probes_->clear(kDynamic).ok());
    probes_.reset();
    static_.reset();
    RegistryTest::TearDown();
  }

  void define(const std::string& line) {
    Status status = probes_->write_line(kDynamic, line);
    EXPECT_TRUE(status.ok()) << line << ": " << status.error().message();
  }
  void define_function() {
    Status status = functions_->write_line("shared_sum(long a, long b)");
    ASSERT_TRUE(status.ok()) << status.error().message();
  }
  void switch_on(const char* system, const char* name, bool on = true) {
    switch_on(top(), system, name, on);
  }
  void switch_on(TraceArray& array, const char* system, const char* name, bool on = true) {
    LiveEvent* event = registry_->find_event(system, name);
    ASSERT_NE(event, nullptr) << name;
    Status status = enable(array, event, on);
    EXPECT_TRUE(status.ok()) << status.error().message();
  }
  // "name first-field-behind-the-head", in the order recorded; the buffer is empty then.
  std::vector<std::string> taken(TraceArray& array) {
    std::vector<std::string> found;
    for (const std::string& record : records(array.buffer.get())) {
      abi::RecordHeader header;
      std::memcpy(&header, record.data(), sizeof header);
      const LiveEvent* event = registry_->find_event_by_id(header.common_type);
      for (const EventField& field : event->call.fields) {
        if (field.name.starts_with("__")) continue;
        int64_t value = 0;
        std::memcpy(&value, record.data() + field.offset, field.size);
        found.push_back(event->call.name + " " + std::to_string(value));
        break;
      }
    }
    registry_->settings().clear(array);
    return found;
  }
  std::vector<std::string> taken() { return taken(top()); }
  using Texts = std::vector<std::string>;

  std::unique_ptr<Patcher> patcher_;
  std::unique_ptr<ProbeSites> sites_;
  std::unique_ptr<FunctionEvents> functions_;
  std::unique_ptr<UsdtEvents> usdt_;
  std::unique_ptr<StaticEvents> static_;
  std::unique_ptr<ProbeEvents> probes_;
};

TEST_F(SharedPlaces, AFunctionEventAndProbesAtOneFunction) {
  define_function();
  define("p:in shared_sum a=$arg1:s64");
  define("r:out shared_sum v=$retval:s64");
  switch_on("functions", "shared_sum");
  switch_on("kprobes", "in");
  switch_on("kprobes", "out");
  EXPECT_EQ(patcher_->patched_sites(), 1u);
  EXPECT_EQ(shared_sum(3, 4), 11);
  EXPECT_EQ(taken(), (Texts{"shared_sum 3", "in 3", "out 11"}));
  switch_on("functions", "shared_sum", false);
  EXPECT_EQ(shared_sum(5, 0), 5);
  EXPECT_EQ(taken(), (Texts{"in 5", "out 5"}));
  switch_on("kprobes", "in", false);
  EXPECT_EQ(patcher_->patched_sites(), 1u) << "the return needs the entry";
  EXPECT_EQ(shared_sum(6, 0), 6);
  EXPECT_EQ(taken(), (Texts{"out 6"}));
}

TEST_F(SharedPlaces, InstancesWithDifferentFiltersAreOneHit) {
  define("p:in shared_sum a=$arg1:s64");
  auto other = registry_->create_array("other");
  ASSERT_TRUE(other.ok());
  LiveEvent* in = registry_->find_event("kprobes", "in");
  ASSERT_TRUE(registry_->filters().set(top(), in, "a > 7").ok());
  ASSERT_TRUE(registry_->filters().set(**other, in, "a < 2").ok());
  switch_on(top(), "kprobes", "in");
  switch_on(**other, "kprobes", "in");
  for (long i = 0; i < 10; i++) EXPECT_EQ(shared_sum(i, 1), i + 2);
  EXPECT_EQ(taken(), (Texts{"in 8", "in 9"}));
  EXPECT_EQ(taken(**other), (Texts{"in 0", "in 1"}));
  const std::string profile = probes_->kprobe_profile();
  EXPECT_NE(profile.find(" 10 "), std::string::npos) << profile;
  switch_on(**other, "kprobes", "in", false);
  shared_sum(8, 0);
  shared_sum(0, 0);
  EXPECT_EQ(taken(), (Texts{"in 8"}));
  EXPECT_NE(probes_->kprobe_profile().find(" 12 "), std::string::npos);
}

#ifdef STAP_PROBE1
TEST_F(SharedPlaces, AProbeOnTheNopOfAUsdtProbe) {
  usdt_->refresh();
  switch_on("sdt_pbshared", "nop");
  EXPECT_EQ(shared_nop(1), 2);
  const auto found = records(top().buffer.get());
  ASSERT_EQ(found.size(), 1u);
  uint64_t address = 0;
  std::memcpy(&address, found[0].data() + 8, sizeof address);
  registry_->settings().clear(top());
  define("p:on " + hex_number(address) + " a=%di:s32");
  switch_on("kprobes", "on");
  EXPECT_EQ(patcher_->patched_sites(), 1u);
  EXPECT_EQ(shared_nop(2), 3);
  EXPECT_EQ(taken(), (Texts{"nop 2", "on 2"}));
  switch_on("sdt_pbshared", "nop", false);
  EXPECT_EQ(shared_nop(3), 4);
  EXPECT_EQ(taken(), (Texts{"on 3"}));
}
#endif

TEST_F(SharedPlaces, AnEventProbeOnAFunctionEvent) {
  define_function();
  define("e:twin functions/shared_sum b=$b:s64");
  switch_on("eprobes", "twin");
  EXPECT_EQ(shared_sum(3, 4), 11);
  EXPECT_EQ(taken(), (Texts{"twin 4"})) << "the event itself is off";
  switch_on("functions", "shared_sum");
  EXPECT_EQ(shared_sum(5, 6), 17);
  EXPECT_EQ(taken(), (Texts{"shared_sum 5", "twin 6"}));
  switch_on("functions", "shared_sum", false);
  switch_on("eprobes", "twin", false);
  Status removed = functions_->write_line("!shared_sum");
  ASSERT_FALSE(removed.ok());
  EXPECT_EQ(removed.error().errno_value, EBUSY);
  define("-:eprobes/twin");
  EXPECT_TRUE(functions_->write_line("!shared_sum").ok());
}

TEST_F(SharedPlaces, AnEventProbeOnAStaticEvent) {
  const auto nr_events = uint64_t(__stop_patchbay_events - __start_patchbay_events);
  const auto nr_sites = uint64_t(__stop_patchbay_sites - __start_patchbay_sites);
  ASSERT_EQ(static_->register_events(PATCHBAY_EVENT_ABI, __start_patchbay_events, nr_events,
                                     __start_patchbay_sites, nr_sites),
            0);
  define("e:twin shared/shared_passed b=$b:s32");
  switch_on("eprobes", "twin");
  shared_pass(1, 2);
  EXPECT_EQ(taken(), (Texts{"twin 2"}));
  switch_on("shared", "shared_passed");
  shared_pass(3, 4);
  EXPECT_EQ(taken(), (Texts{"shared_passed 3", "twin 4"}));
  switch_on("eprobes", "twin", false);
  shared_pass(5, 6);
  EXPECT_EQ(taken(), (Texts{"shared_passed 5"}));
}

}  // namespace
}  // namespace patchbay
