// SPDX-License-Identifier: MIT
//
// Which programs a place runs, when it is patched and what happens when it may not be: over a
// Patcher that only notes what it is asked for. That the code runs is shown in
// shared_places_test.cc.
#include "registry/sites/probe_sites.h"

#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <set>

#include "ring_buffer/ring_buffer.h"

namespace patchbay {
namespace {

class NotingPatcher : public Patcher {
 public:
  SitePlan plan(Module&, const FunctionSymbol&) override { return {}; }
  void set_optimization(bool) override {}
  bool optimization() const override { return true; }
  const char* return_refusal(Module&, const FunctionSymbol&) override { return nullptr; }
  SitePlan plan_key(uint64_t, uint64_t) override { return {}; }
  SitePlan plan_insn(Module&, uint64_t) override { return {}; }
  SiteKind active_kind(uint64_t address) const override {
    auto found = standing.find(address);
    return found == standing.end() ? SiteKind::kRefused : found->second;
  }
  Result<PatchReport> apply(std::span<const SiteChange> changes, bool) override {
    transactions++;
    PatchReport report;
    for (size_t i = 0; i < changes.size(); i++) {
      const SiteChange& change = changes[i];
      const uint64_t address = change.plan.patch_address;
      if (unwilling.contains(address)) {
        report.refused++;
        report.refusals.emplace_back(i, "unexpected bytes");
        continue;
      }
      report.applied++;
      uint8_t code[kMaxPrologue];
      if (!change.prologue)
        standing.erase(address);
      else if (change.prologue(code, sizeof code, 0x10000))
        standing[address] = change.plan.kind;
    }
    return report;
  }
  uint64_t patched_sites() const override { return standing.size(); }
  uint64_t finish_pending() override { return 0; }

  std::map<uint64_t, SiteKind> standing;
  std::set<uint64_t> unwilling;
  int transactions = 0;
};

class ProbeSitesTest : public testing::Test {
 protected:
  void SetUp() override {
    for (FetchProgram* fetch : {fetch_.get(), other_fetch_.get()}) {
      fetch->fixed_size = fetch->max_size = 24;
      fetch->head = RecordHead::kFunction;
    }
  }
  LiveEvent* event(const char* name) {
    LiveEvent& live = events_[name];
    live.call.name = name;
    live.fetch = fetch_.get();
    live.max_size = 24;
    return &live;
  }
  const EventProgram* program(bool from_record = false, uint32_t max_size = 24) {
    EventProgram made = {};
    made.rings = RingBuffer::dead_rings();
    made.fetch = fetch_.get();
    made.from_record = from_record;
    made.max_size = max_size;
    return &programs_.emplace_back(made);
  }
  ProbePlace* place(uint64_t address, SiteKind kind = SiteKind::kJump) {
    ProbePlace& made = places_.emplace_back();
    made.plan.entry = made.plan.patch_address = address;
    made.plan.kind = kind;
    made.label = "at " + std::to_string(address);
    return &made;
  }
  void join(const LiveEvent* live, const ProbePlace* place) { sites_.join(live, {&place, 1}); }
  Status update(std::vector<const ProbePlace*> places) { return sites_.update(places, true); }
  const SiteProgram* at(const ProbePlace* place) { return sites_.site(*place)->program; }
  const SiteProgram* behind(const ProbePlace* place) { return sites_.site(*place)->return_program; }

  NotingPatcher patcher_;
  ProbeSites sites_{patcher_};
  const std::unique_ptr<FetchProgram> fetch_ = std::make_unique<FetchProgram>();
  const std::unique_ptr<FetchProgram> other_fetch_ = std::make_unique<FetchProgram>();
  std::map<std::string, LiveEvent> events_;
  std::deque<EventProgram> programs_;
  std::deque<ProbePlace> places_;
};

TEST_F(ProbeSitesTest, EventsOfAllKindsShareAPlace) {
  LiveEvent *function = event("function"), *probe = event("probe");
  ProbePlace* of_function = place(100);
  ProbePlace* of_probe = place(100, SiteKind::kProbeTrap);
  of_probe->fetch = other_fetch_.get();
  of_probe->ip = 96;
  join(probe, of_probe);
  join(function, of_function);
  probe->programs = {program()};
  ASSERT_TRUE(update({of_probe}).ok());
  EXPECT_EQ(sites_.active_kind(*of_probe), SiteKind::kProbeTrap);
  function->programs = {program()};
  ASSERT_TRUE(update({of_function}).ok());
  EXPECT_EQ(patcher_.patched_sites(), 1u);
  EXPECT_EQ(sites_.site(*of_probe), sites_.site(*of_function));
  ASSERT_EQ(at(of_probe)->nr_events, 2u);
  EXPECT_EQ(at(of_probe)->event[0],
            (SiteEvent{probe->programs[0], other_fetch_.get(), 96, nullptr}));
  EXPECT_EQ(at(of_probe)->event[1], (SiteEvent{function->programs[0], fetch_.get(), 100, nullptr}));
  EXPECT_EQ(sites_.show(), "0x64 probe-int3 at 100 probe function bytes 0x64+1\n");
  probe->programs = {};
  ASSERT_TRUE(update({of_probe}).ok());
  ASSERT_EQ(at(of_probe)->nr_events, 1u);
  function->programs = {};
  ASSERT_TRUE(update({of_function}).ok());
  EXPECT_EQ(at(of_probe), nullptr);
  EXPECT_EQ(patcher_.patched_sites(), 0u);
  EXPECT_EQ(sites_.active_kind(*of_probe), SiteKind::kRefused);
  EXPECT_EQ(sites_.show(), "");
}

TEST_F(ProbeSitesTest, ThePlanOfAnEntryIsPreferred) {
  LiveEvent *function = event("function"), *probe = event("probe");
  ProbePlace *of_probe = place(100, SiteKind::kProbeTrap), *of_function = place(100);
  join(probe, of_probe);
  join(function, of_function);
  probe->programs = {program()};
  function->programs = {program()};
  ASSERT_TRUE(update({of_probe, of_function}).ok());
  EXPECT_EQ(sites_.active_kind(*of_probe), SiteKind::kJump);
  EXPECT_EQ(patcher_.transactions, 1);
}

TEST_F(ProbeSitesTest, AReturnProbePatchesTheEntry) {
  LiveEvent *entry = event("entry"), *exit = event("exit");
  ProbePlace *of_entry = place(100), *of_exit = place(100);
  of_exit->on_return = true;
  join(entry, of_entry);
  join(exit, of_exit);
  exit->programs = {program()};
  ASSERT_TRUE(update({of_exit}).ok());
  EXPECT_EQ(patcher_.patched_sites(), 1u);
  EXPECT_EQ(at(of_exit), nullptr);
  ASSERT_EQ(behind(of_exit)->nr_events, 1u);
  entry->programs = {program()};
  ASSERT_TRUE(update({of_entry}).ok());
  EXPECT_EQ(at(of_exit)->event[0].event, entry->programs[0]);
  EXPECT_EQ(behind(of_exit)->event[0].event, exit->programs[0]);
  exit->programs = {};
  ASSERT_TRUE(update({of_exit}).ok());
  EXPECT_EQ(behind(of_exit), nullptr);
  EXPECT_EQ(patcher_.patched_sites(), 1u);
  EXPECT_NE(at(of_entry), nullptr);
}

TEST_F(ProbeSitesTest, AHitCountsOnceForAllInstances) {
  ProbeCounts counts = {};
  LiveEvent* probe = event("probe");
  ProbePlace* where = place(100);
  where->counts = &counts;
  join(probe, where);
  // An event probe that is attached to it makes its record out of the other's.
  probe->programs = {program(true, 96), program(), program()};
  ASSERT_TRUE(update({where}).ok());
  const SiteProgram* run = at(where);
  ASSERT_EQ(run->nr_events, 3u);
  EXPECT_EQ(run->event[0], (SiteEvent{probe->programs[1], fetch_.get(), 100, &counts}));
  EXPECT_EQ(run->event[1], (SiteEvent{probe->programs[2], fetch_.get(), 100, nullptr}));
  EXPECT_EQ(run->event[2], (SiteEvent{probe->programs[0], fetch_.get(), 100, nullptr}));
  EXPECT_EQ(run->max_record, 96u);
  EXPECT_EQ(run->plain, 0u);
}

TEST_F(ProbeSitesTest, WhatIsDisarmedContributesNothing) {
  LiveEvent* probe = event("probe");
  ProbePlace* where = place(100);
  join(probe, where);
  probe->programs = {program()};
  where->disarmed = true;
  ASSERT_TRUE(update({where}).ok());
  EXPECT_EQ(patcher_.patched_sites(), 0u);
  where->disarmed = false;
  ASSERT_TRUE(update({where}).ok());
  const SiteProgram* armed = at(where);
  ASSERT_NE(armed, nullptr);
  where->disarmed = true;
  ASSERT_TRUE(update({where}).ok());
  EXPECT_EQ(at(where), nullptr);
  where->disarmed = false;
  ASSERT_TRUE(update({where}).ok());
  EXPECT_EQ(at(where), armed) << "the same events: the same program";
}

TEST_F(ProbeSitesTest, NothingChangesWhenOneOfThreeIsRefused) {
  LiveEvent *probe = event("probe"), *running = event("running");
  ProbePlace *a = place(100), *b = place(200), *c = place(300), *old = place(300);
  for (ProbePlace* where : {a, b, c}) join(probe, where);
  join(running, old);
  running->programs = {program()};
  ASSERT_TRUE(update({old}).ok());
  const SiteProgram* before = at(old);
  probe->programs = {program()};
  patcher_.unwilling = {200};
  Status status = update({a, b, c});
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().message(), "could not patch at 200: unexpected bytes");
  EXPECT_EQ(patcher_.patched_sites(), 1u);
  EXPECT_EQ(at(a), nullptr);
  EXPECT_EQ(at(b), nullptr);
  EXPECT_EQ(at(old), before);
  patcher_.unwilling = {};
  ASSERT_TRUE(update({a, b, c}).ok());
  EXPECT_EQ(patcher_.patched_sites(), 3u);
}

TEST_F(ProbeSitesTest, TheOthersGoOnWhenRefusalsAreAskedFor) {
  LiveEvent* probe = event("probe");
  ProbePlace *a = place(100), *b = place(200), *c = place(300, SiteKind::kRefused);
  c->plan.reason = "not an instruction";
  for (ProbePlace* where : {a, b, c}) join(probe, where);
  probe->programs = {program()};
  patcher_.unwilling = {200};
  std::vector<const ProbePlace*> all{a, b, c};
  std::vector<ProbeSites::Refusal> refused;
  ASSERT_TRUE(sites_.update(all, true, &refused).ok());
  ASSERT_EQ(refused.size(), 2u);
  EXPECT_EQ(refused[0].place, b);
  EXPECT_EQ(refused[0].reason, "unexpected bytes");
  EXPECT_EQ(refused[1].place, c);
  EXPECT_EQ(refused[1].reason, "not an instruction");
  EXPECT_NE(at(a), nullptr);
  EXPECT_EQ(at(b), nullptr);
  patcher_.unwilling = {};
  ASSERT_TRUE(sites_.update(all, true, &refused).ok());
  ASSERT_EQ(refused.size(), 1u);
  EXPECT_EQ(refused[0].place, c);
  EXPECT_EQ(patcher_.patched_sites(), 2u) << "what was refused is tried again";
}

TEST_F(ProbeSitesTest, APlaceThatCannotBeRestoredIsGivenUp) {
  LiveEvent* probe = event("probe");
  ProbePlace *a = place(100), *b = place(200);
  for (ProbePlace* where : {a, b}) join(probe, where);
  probe->programs = {program()};
  ASSERT_TRUE(update({a, b}).ok());
  patcher_.unwilling = {100};
  probe->programs = {};
  EXPECT_TRUE(update({a, b}).ok());
  EXPECT_EQ(at(a), nullptr);
  EXPECT_EQ(at(b), nullptr);
}

// The places of function tracers have no names of their own.
TEST_F(ProbeSitesTest, SitesOfTracersAreListed) {
  LiveEvent *tracer = event("function"), *usdt = event("usdt");
  tracer->is_tracer = true;
  tracer->consumer = "trace";
  ProbePlace *function = place(100), *other = place(200);
  function->label = other->label = "";
  join(tracer, function);
  join(usdt, other);
  tracer->programs = {program()};
  usdt->programs = {program()};
  ASSERT_TRUE(update({function, other}).ok());
  EXPECT_EQ(sites_.show([](uint64_t at) { return "f" + std::to_string(at) + " [lib]"; }),
            "0x64 jump f100 [lib] trace bytes 0x64+5\n");
  tracer->programs = usdt->programs = {};
  ASSERT_TRUE(update({function, other}).ok());
}

TEST_F(ProbeSitesTest, TextThatIsGoneIsForgotten) {
  LiveEvent* probe = event("probe");
  const ProbePlace* where = place(100);
  join(probe, where);
  probe->programs = {program()};
  ASSERT_TRUE(update({where}).ok());
  sites_.forget({&where, 1}, true);
  EXPECT_EQ(at(where), nullptr);
  EXPECT_EQ(sites_.show(), "");
  sites_.leave(probe, {&where, 1});
  ASSERT_TRUE(update({where}).ok());
  EXPECT_EQ(at(where), nullptr);
}

TEST_F(ProbeSitesTest, OnlyCodeThatDiffersIsWrittenAgain) {
  LiveEvent *one = event("one"), *two = event("two"), *three = event("three");
  std::vector<ProbePlace*> where;
  for (LiveEvent* live : {one, two, three}) {
    where.push_back(place(100, SiteKind::kProbeTrap));
    join(live, where.back());
  }
  one->programs = {program()};
  two->programs = {program()};
  ASSERT_TRUE(update({where[0], where[1]}).ok());
  EXPECT_EQ(patcher_.transactions, 1);
  three->programs = {program()};
  ASSERT_TRUE(update({where[2]}).ok());
  EXPECT_EQ(at(where[0])->nr_events, 3u);
  EXPECT_EQ(patcher_.transactions, 1) << "its stub reads the program";
}

}  // namespace
}  // namespace patchbay
