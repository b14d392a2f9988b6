// SPDX-License-Identifier: MIT
//
// Objects with static events come and go, their events go on and off. The program's own are real,
// made by trace_event.h and recorded; those of "libraries" are made by hand, over sites in
// assembler that say whether they are jumps.
#include "registry/events/static_events.h"

#include <patchbay/trace_event.h>
#include <signal.h>
#include <ucontext.h>

#include <cstring>

#include "registry/registry_testing.h"

PB_TRACE_EVENT(own, own_passed, PB_FIELDS(PB_FIELD(int, a), PB_STRING(text)));

// Bit i is set when site i of it is a jump.
extern "C" uint64_t taken_sites();
extern "C" const uint64_t test_sites[8][2];  // address, target
__asm__(R"(
  .pushsection .data.rel.local, "aw", @progbits
  .balign 16
  test_sites:
  .popsection
  .text
  .globl taken_sites
  .type taken_sites, @function
  taken_sites:
  xor %eax, %eax
  .set site, 0
  .rept 8
  1: .byte 0x0f, 0x1f, 0x44, 0x00, 0x00
  2:
  .pushsection .text.taken_sites, "ax", @progbits
  3: or $(1 << site), %eax
  jmp 2b
  .popsection
  .pushsection .data.rel.local, "aw", @progbits
  .quad 1b, 3b
  .popsection
  .set site, site + 1
  .endr
  ret
  .size taken_sites, . - taken_sites
)");

namespace patchbay {
namespace {

void on_trap(int, siginfo_t*, void* context) {
  auto& rip = static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_RIP];
  const uint64_t target = patch_trap_target(static_cast<uint64_t>(rip) - 1);
  if (!target) _exit(99);
  rip = static_cast<greg_t>(target);
}

const patchbay_field kIntA[] = {{"int", "a", 8, 4, 1, 0, 0}};
const patchbay_field kLongA[] = {{"long", "a", 8, 8, 1, 0, 0}};

patchbay_event make_event(const char* name, const patchbay_field* fields = kIntA) {
  const uint32_t size = 8 + fields->size;
  return {PATCHBAY_EVENT_ABI,
          1,
          "lib",
          name,
          fields,
          "",
          nullptr,
          0,
          size,
          size,
          nullptr,
          nullptr,
          nullptr,
          {0, 0}};
}

// A library as its constructor would hand it over.
struct FakeObject {
  std::vector<patchbay_event> events;
  std::vector<patchbay_site> sites;
  explicit FakeObject(std::vector<patchbay_event> made) : events(std::move(made)) {}
  void add_site(size_t event, int index) {
    sites.push_back({reinterpret_cast<void*>(test_sites[index][0]),
                     reinterpret_cast<void*>(test_sites[index][1]), &events[event]});
  }
  int enter(StaticEvents* registered) {
    return registered->register_events(PATCHBAY_EVENT_ABI, events.data(), events.size(),
                                       sites.data(), sites.size());
  }
  void leave(StaticEvents* registered) {
    registered->unregister_events(events.data(), events.size());
  }
};

__attribute__((noinline)) void pass(int a, const char* text) { PB_TRACE(own_passed, a, text); }

class StaticEventsTest : public test::RegistryTest {
 protected:
  void SetUp() override {
    struct sigaction action = {};
    action.sa_sigaction = on_trap;
    action.sa_flags = SA_SIGINFO | SA_NODEFER;
    sigaction(SIGTRAP, &action, nullptr);
    RegistryTest::SetUp();
    patcher_ = make_patcher();
    events_ = std::make_unique<StaticEvents>(*registry_, *patcher_);
    ASSERT_EQ(taken_sites(), 0u);
  }
  void TearDown() override {
    for (LiveEvent* event : registry_->events_of(top(), "")) (void)enable(top(), event, false);
    EXPECT_EQ(taken_sites(), 0u);
    EXPECT_EQ(patcher_->patched_sites(), 0u);
    events_.reset();
    RegistryTest::TearDown();
  }
  LiveEvent* find(const char* name) { return registry_->find_event("lib", name); }
  void expect_on(const char* name, bool on = true) {
    Status status = enable(top(), find(name), on);
    EXPECT_TRUE(status.ok()) << status.error().message();
  }

  std::unique_ptr<Patcher> patcher_;
  std::unique_ptr<StaticEvents> events_;
};

TEST_F(StaticEventsTest, TheProgramsOwnEventsRecord) {
  const auto nr_events = uint64_t(__stop_patchbay_events - __start_patchbay_events);
  const auto nr_sites = uint64_t(__stop_patchbay_sites - __start_patchbay_sites);
  ASSERT_EQ(events_->register_events(PATCHBAY_EVENT_ABI, __start_patchbay_events, nr_events,
                                     __start_patchbay_sites, nr_sites),
            0);
  EXPECT_EQ(events_->site_count(), nr_sites);
  LiveEvent* event = registry_->find_event("own", "own_passed");
  ASSERT_NE(event, nullptr);
  EXPECT_EQ(event->module, "");
  EXPECT_EQ(event->max_size, uint32_t{PATCHBAY_MAX_RECORD});
  pass(1, "off");
  EXPECT_TRUE(enable(top(), event).ok());
  pass(2, "first");
  pass(3, "second");
  EXPECT_TRUE(enable(top(), event, false).ok());
  pass(4, "off again");
  EXPECT_EQ(pb_i_event_own_passed.hit, nullptr);
  const std::vector<std::string> found = records(top().buffer.get());
  ASSERT_EQ(found.size(), 2u);
  // What the program brought stays when the program ends.
  events_->unregister_events(__start_patchbay_events, nr_events);
  EXPECT_EQ(registry_->find_event("own", "own_passed"), event);
}

TEST_F(StaticEventsTest, OneEventOfTwoObjects) {
  FakeObject one({make_event("both"), make_event("first_only")}), two({make_event("both")});
  one.add_site(0, 0);
  one.add_site(0, 1);
  one.add_site(1, 2);
  two.add_site(0, 3);
  EXPECT_EQ(one.enter(events_.get()), 0);
  EXPECT_EQ(two.enter(events_.get()), 0);
  EXPECT_EQ(registry_->events_of(top(), "lib").size(), 2u);
  expect_on("both");
  EXPECT_EQ(taken_sites(), 0b1011u);
  EXPECT_NE(one.events[0].hit, nullptr);
  EXPECT_NE(two.events[0].program, nullptr);
  EXPECT_EQ(one.events[1].hit, nullptr);
  one.leave(events_.get());
  EXPECT_EQ(taken_sites(), 0b1000u);
  EXPECT_EQ(one.events[0].hit, nullptr);
  EXPECT_NE(find("both"), nullptr);
  EXPECT_EQ(find("first_only"), nullptr);
  two.leave(events_.get());
  EXPECT_EQ(taken_sites(), 0u);
  EXPECT_EQ(find("both"), nullptr);
  EXPECT_EQ(events_->site_count(), 0u);
}

TEST_F(StaticEventsTest, AnObjectJoinsAnEventThatIsOn) {
  FakeObject one({make_event("late")}), two({make_event("late")});
  one.add_site(0, 4);
  two.add_site(0, 5);
  two.add_site(0, 6);
  one.enter(events_.get());
  expect_on("late");
  EXPECT_EQ(taken_sites(), 0b10000u);
  two.enter(events_.get());
  EXPECT_EQ(taken_sites(), 0b1110000u);
  expect_on("late", false);
  EXPECT_EQ(taken_sites(), 0u);
  two.leave(events_.get());
  one.leave(events_.get());
}

TEST_F(StaticEventsTest, AnEventOfAnotherShapeIsRefusedAlone) {
  FakeObject one({make_event("shape")}), two({make_event("shape", kLongA), make_event("fine")});
  one.add_site(0, 0);
  two.add_site(0, 1);
  two.add_site(1, 2);
  EXPECT_EQ(one.enter(events_.get()), 0);
  EXPECT_EQ(two.enter(events_.get()), -EEXIST);
  EXPECT_NE(top().errors.show().find("lib:shape"), std::string::npos) << top().errors.show();
  expect_on("shape");
  expect_on("fine");
  EXPECT_EQ(taken_sites(), 0b101u);
  two.leave(events_.get());
  EXPECT_EQ(taken_sites(), 0b001u);
  EXPECT_NE(find("shape"), nullptr);
  one.leave(events_.get());
}

TEST_F(StaticEventsTest, SitesWithOtherBytesAreLeftAlone) {
  FakeObject object({make_event("half"), make_event("never")});
  object.add_site(0, 0);
  object.add_site(1, 1);
  object.sites.push_back(object.sites[0]);
  const auto* inside = static_cast<const uint8_t*>(object.sites[0].address) + 1;
  object.sites[1].address = object.sites[2].address = inside;
  object.enter(events_.get());
  expect_on("half");
  EXPECT_EQ(taken_sites(), 1u);
  EXPECT_NE(events_->sites().find("refused: "), std::string::npos) << events_->sites();
  Status status = enable(top(), find("never"));
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.error().message().find("unexpected bytes"), std::string::npos);
  EXPECT_FALSE(registry_->is_enabled(top(), find("never")));
  EXPECT_EQ(object.events[1].hit, nullptr);
  object.leave(events_.get());
}

TEST_F(StaticEventsTest, OfManyEventsOnlyThoseAskedForChange) {
  FakeObject object({make_event("a"), make_event("b"), make_event("c")});
  for (int i = 0; i < 6; i++) object.add_site(size_t(i) / 2, i);
  object.enter(events_.get());
  std::vector<LiveEvent*> all = registry_->events_of(top(), "lib");
  EXPECT_TRUE(registry_->set_enabled(top(), all, true).ok());
  EXPECT_EQ(taken_sites(), 0b111111u);
  expect_on("b", false);
  EXPECT_EQ(taken_sites(), 0b110011u);
  EXPECT_TRUE(registry_->set_enabled(top(), all, false).ok());
  EXPECT_EQ(taken_sites(), 0u);
  object.leave(events_.get());
}

TEST_F(StaticEventsTest, WrongRegistrations) {
  FakeObject object({make_event("once"), make_event("")});
  object.add_site(0, 0);
  object.sites.push_back({nullptr, nullptr, &object.events[0]});
  object.sites.push_back({object.sites[0].address, nullptr, nullptr});
  EXPECT_EQ(events_->register_events(PATCHBAY_EVENT_ABI + 1, object.events.data(), 1, nullptr, 0),
            -EINVAL);
  patchbay_event other = make_event("other");
  other.abi = PATCHBAY_EVENT_ABI + 2;
  EXPECT_EQ(events_->register_events(PATCHBAY_EVENT_ABI, &other, 1, nullptr, 0), -EINVAL);
  for (int added : {1, 2}) {
    const std::string version = "version " + std::to_string(PATCHBAY_EVENT_ABI + added) + ",";
    EXPECT_NE(top().errors.show().find(version), std::string::npos) << top().errors.show();
  }
  EXPECT_EQ(object.enter(events_.get()), -EINVAL);  // for the nameless one
  EXPECT_NE(find("once"), nullptr);
  EXPECT_EQ(object.enter(events_.get()), 0);  // known already
  EXPECT_EQ(events_->site_count(), 1u);
  patchbay_event unknown = make_event("unknown");
  events_->unregister_events(&unknown, 1);
  object.leave(events_.get());
  EXPECT_EQ(find("once"), nullptr);
}

}  // namespace
}  // namespace patchbay
