// SPDX-License-Identifier: MIT
//
// The probes of this very program, and of a library that is built here and comes and goes: found,
// enabled, recorded with their arguments, taken back.
#include "registry/events/usdt_events.h"

#if __has_include(<sys/sdt.h>)
#define _SDT_HAS_SEMAPHORES 1
#include <sys/sdt.h>
#endif

#include <dlfcn.h>
#include <signal.h>
#include <ucontext.h>

#include <cstdlib>
#include <cstring>
#include <fstream>

#include "registry/event_filters.h"
#include "registry/registry_testing.h"

#ifdef STAP_PROBE
extern "C" {
#define SEMAPHORE(name) \
  __extension__ volatile unsigned short name __attribute__((section(".probes"), used)) = 0
SEMAPHORE(pbtest_one_semaphore);
SEMAPHORE(pbtest_two_semaphore);
SEMAPHORE(pbtest_leaf_semaphore);
SEMAPHORE(pbtest_none_semaphore);

__attribute__((noinline)) int usdt_one(int a, unsigned long b) {
  STAP_PROBE2(pbtest, one, a, b);
  return a + int(b);
}
// Two sites, with arguments in different places and of different sizes.
__attribute__((noinline)) long usdt_two(long a, int which) {
  if (which) {
    STAP_PROBE2(pbtest, two, a, which);
  } else {
    volatile int on_stack = int(a) + 1;
    STAP_PROBE2(pbtest, two, on_stack, 5);
  }
  return a * 3;
}
// A leaf that keeps its values in the red zone, and flags across the probe.
uint64_t usdt_leaf(uint64_t a, uint64_t b);
}
__asm__(R"(
  .text
  .globl usdt_leaf
  .type usdt_leaf, @function
usdt_leaf:
  mov %rdi, -8(%rsp)
  mov %rsi, -128(%rsp)
  cmp %rsi, %rdi
990: nop
  .pushsection .note.stapsdt, "", "note"
  .balign 4
  .4byte 992f-991f, 994f-993f, 3
991: .asciz "stapsdt"
992: .balign 4
993: .8byte 990b
  .8byte _.stapsdt.base
  .8byte pbtest_leaf_semaphore
  .asciz "pbtest"
  .asciz "leaf"
  .asciz "8@-8(%rsp) 8@-128(%rsp) 8@%rdi 8@%rsp"
994: .balign 4
  .popsection
  mov $1, %eax
  jb 1f
  mov $2, %eax
1: add -8(%rsp), %rax
  add -128(%rsp), %rax
  ret
  .size usdt_leaf, . - usdt_leaf
)");

__attribute__((noinline)) void usdt_none() { STAP_PROBE(pbtest, none); }

namespace patchbay {
namespace {

void on_trap(int, siginfo_t*, void* context) {
  auto& rip = static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_RIP];
  const uint64_t target = patch_trap_target(static_cast<uint64_t>(rip) - 1);
  if (!target) _exit(99);
  rip = static_cast<greg_t>(target);
}

class UsdtEventsTest : public test::RegistryTest {
 protected:
  void SetUp() override {
    RegistryTest::SetUp();
    struct sigaction action = {};
    action.sa_sigaction = on_trap;
    action.sa_flags = SA_SIGINFO | SA_NODEFER;
    sigaction(SIGTRAP, &action, nullptr);
    patcher_ = make_patcher();
    places_ = std::make_unique<ProbeSites>(*patcher_);
    events_ = std::make_unique<UsdtEvents>(*registry_, *patcher_, *places_);
    events_->refresh();
  }
  void TearDown() override {
    if (registry_) switch_off();
    RegistryTest::TearDown();
  }
  void switch_off() {
    for (LiveEvent* event : registry_->events_of(top(), "")) {
      if (event->source != events_.get()) continue;
      EXPECT_TRUE(enable(top(), event, false).ok());
    }
  }
  LiveEvent* find(const char* name, const char* system = "sdt_pbtest") {
    return registry_->find_event(system, name);
  }
  // What was recorded since: the record's bytes from the arguments on.
  template <typename T>
  static T argument(const std::string& record, const LiveEvent* event, size_t n) {
    T value;
    std::memcpy(&value, record.data() + event->call.fields[n].offset, sizeof value);
    return value;
  }
  std::vector<std::string> recorded() { return records(top().buffer.get()); }

  std::unique_ptr<Patcher> patcher_;
  std::unique_ptr<ProbeSites> places_;
  std::unique_ptr<UsdtEvents> events_;
};

TEST_F(UsdtEventsTest, RecordsArgumentsAndCountsTheSemaphore) {
  LiveEvent* one = find("one");
  ASSERT_NE(one, nullptr);
  EXPECT_EQ(one->call.fields[1].type, "s32");
  EXPECT_EQ(one->call.fields[2].type, "u64");
  EXPECT_EQ(one->module, "");
  EXPECT_EQ(pbtest_one_semaphore, 0);
  usdt_one(1, 2);
  ASSERT_TRUE(enable(top(), one).ok()) << enable(top(), one).error().message();
  EXPECT_EQ(pbtest_one_semaphore, 1);
  EXPECT_EQ(pbtest_two_semaphore, 0);
  for (int i = 0; i < 10; i++) EXPECT_EQ(usdt_one(i - 5, 100), 95 + i);
  ASSERT_TRUE(enable(top(), one, false).ok());
  EXPECT_EQ(pbtest_one_semaphore, 0);
  usdt_one(1, 2);
  const auto records = recorded();
  ASSERT_EQ(records.size(), 10u);
  for (int i = 0; i < 10; i++) {
    EXPECT_EQ(argument<int>(records[i], one, 1), i - 5);
    EXPECT_EQ(argument<uint64_t>(records[i], one, 2), 100u);
    const auto ip = argument<uint64_t>(records[i], one, 0);
    const auto function = reinterpret_cast<uint64_t>(&usdt_one);
    EXPECT_TRUE(ip >= function && ip < function + 64);
  }
}

TEST_F(UsdtEventsTest, SeveralSitesAreOneEvent) {
  LiveEvent* two = find("two");
  ASSERT_NE(two, nullptr);
  ASSERT_TRUE(enable(top(), two).ok());
  EXPECT_EQ(pbtest_two_semaphore, 1) << "once, however many sites there are";
  EXPECT_EQ(usdt_two(-7, 1), -21);
  EXPECT_EQ(usdt_two(8, 0), 24);
  const auto records = recorded();
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(argument<int64_t>(records[0], two, 1), -7);
  EXPECT_EQ(argument<int>(records[0], two, 2), 1);
  EXPECT_EQ(argument<int64_t>(records[1], two, 1), 9);
  EXPECT_EQ(argument<int>(records[1], two, 2), 5);
}

TEST_F(UsdtEventsTest, RedZoneAndFlagsSurvive) {
  LiveEvent* leaf = find("leaf");
  ASSERT_NE(leaf, nullptr);
  ASSERT_EQ(usdt_leaf(1, 2), 4u);
  ASSERT_EQ(usdt_leaf(2, 1), 5u);
  ASSERT_TRUE(enable(top(), leaf).ok());
  EXPECT_EQ(usdt_leaf(1, 2), 4u);
  EXPECT_EQ(usdt_leaf(2, 1), 5u);
  const auto records = recorded();
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(argument<uint64_t>(records[0], leaf, 1), 1u);
  EXPECT_EQ(argument<uint64_t>(records[0], leaf, 2), 2u);
  EXPECT_EQ(argument<uint64_t>(records[1], leaf, 3), 2u);
  EXPECT_NE(events_->sites().find(" sdt_pbtest:leaf on\n"), std::string::npos);
}

TEST_F(UsdtEventsTest, TwoInstancesAndAFilter) {
  LiveEvent* one = find("one");
  auto other = registry_->create_array("other");
  ASSERT_TRUE(other.ok());
  ASSERT_TRUE(registry_->filters().set(top(), one, "arg1 > 5").ok());
  ASSERT_TRUE(enable(top(), one).ok());
  ASSERT_TRUE(enable(**other, one).ok());
  EXPECT_EQ(pbtest_one_semaphore, 1);
  for (int i = 0; i < 10; i++) usdt_one(i, 0);
  EXPECT_EQ(recorded().size(), 4u);
  EXPECT_EQ(records((*other)->buffer.get()).size(), 10u);
  ASSERT_TRUE(enable(**other, one, false).ok());
  EXPECT_EQ(pbtest_one_semaphore, 1);
}

TEST_F(UsdtEventsTest, WithoutArguments) {
  LiveEvent* none = find("none");
  ASSERT_NE(none, nullptr);
  ASSERT_TRUE(enable(top(), none).ok());
  usdt_none();
  EXPECT_EQ(recorded().size(), 1u);
}

constexpr const char* kLibrary = R"(
#define _SDT_HAS_SEMAPHORES 1
#include <sys/sdt.h>
unsigned short pblib_hit_semaphore __attribute__((section(".probes")));
// Far from the start-up code, some byte of which may look like a branch to here.
__attribute__((aligned(512))) int pblib_call(int a) {
  STAP_PROBE1(pblib, hit, a);
  return a + pblib_hit_semaphore;
}
unsigned short pblib_jumped_semaphore __attribute__((section(".probes")));
int pblib_jump(int a) {
  static void *const places[] = {&&x, &&y, &&z};
  int sum = 0;
again:
  if (a < 0) return sum;
  goto *places[a-- % 3];
x: STAP_PROBE1(pblib, jumped, a);
y: sum += 1; goto again;
z: sum += 2; goto again;
}
)";

TEST_F(UsdtEventsTest, LibrariesComeAndGo) {
  std::ofstream(directory_ + "/lib.c") << kLibrary;
  const std::string library = directory_ + "/libpbusdt.so";
  if (std::system(("gcc -O2 -shared -fPIC -o " + library + " " + directory_ + "/lib.c").c_str()))
    GTEST_SKIP() << "gcc is needed to build the library of this test";
  for (int round = 0; round < 5; round++) {
    SCOPED_TRACE(round);
    void* handle = ::dlopen(library.c_str(), RTLD_NOW);
    ASSERT_NE(handle, nullptr) << ::dlerror();
    auto call = reinterpret_cast<int (*)(int)>(::dlsym(handle, "pblib_call"));
    events_->refresh();
    LiveEvent* hit = find("hit", "sdt_pblib");
    ASSERT_NE(hit, nullptr);
    EXPECT_EQ(hit->module, "libpbusdt.so");
    ASSERT_TRUE(enable(top(), hit).ok());
    EXPECT_EQ(call(round), round + 1) << "its semaphore";
    // There is nothing that could come to the instructions behind the nop but the nop.
    EXPECT_NE(events_->sites().find(" probe-jump sdt_pblib:hit on\n"), std::string::npos)
        << events_->sites();
    EXPECT_EQ(recorded().size(), size_t(round) * 3 + 1);
    LiveEvent* jumped = find("jumped", "sdt_pblib");
    auto jump = reinterpret_cast<int (*)(int)>(::dlsym(handle, "pblib_jump"));
    ASSERT_TRUE(enable(top(), jumped).ok());
    EXPECT_NE(events_->sites().find(" probe-int3 sdt_pblib:jumped on\n"), std::string::npos)
        << events_->sites();
    EXPECT_EQ(jump(5), 8);
    EXPECT_EQ(recorded().size(), size_t(round) * 3 + 3);
    if (round % 2) {
      ASSERT_TRUE(enable(top(), hit, false).ok());
      EXPECT_EQ(call(7), 7);
    }
    ::dlclose(handle);
    events_->refresh();
    EXPECT_EQ(find("hit", "sdt_pblib"), nullptr);
  }
}

}  // namespace
}  // namespace patchbay
#endif
