// SPDX-License-Identifier: MIT
// The lives of histograms: names, references, instances and events that go. What commands answer
// is in hist_build_test.cc and tests/oracle (260 to 319).
#include "trigger/hist_triggers.h"

#include <gtest/gtest.h>

#include "hist/hist_program.h"
#include "hist/hist_table.h"
#include "tracefs/control_tree_fixture.h"

namespace patchbay {
namespace {

constexpr const char* kOne = "events/sched/one/trigger";
constexpr const char* kTwo = "events/sched/two/trigger";

class HistTriggersTest : public ::testing::Test {
 protected:
  void SetUp() override {
    one_ = tree_.add_event("sched", "one");
    two_ = tree_.add_event("sched", "two");
  }
  // 0 or the errno.
  int write(const std::string& file, const std::string& text) {
    const long taken = tree_.write(file, text);
    return taken < 0 ? int(-taken) : 0;
  }
  int truncate(const char* file) {
    int error = 0;
    tree_.open(file, O_WRONLY | O_TRUNC, &error);
    return error;
  }
  std::string show(const std::string& file) {
    const std::string text = tree_.read(file);
    return text.starts_with("# Available") ? "" : text;
  }
  std::vector<HistData*> hists(const LiveEvent* event) {
    return tree_.triggers->hists().of(tree_.registry->top(), event);
  }
  const EventProgram* program(const LiveEvent* event) {
    const EventFile* file = tree_.registry->file(tree_.registry->top(), event);
    return file ? file->program : nullptr;
  }

  tracefs::ControlTree tree_;
  LiveEvent *one_ = nullptr, *two_ = nullptr;
};

TEST_F(HistTriggersTest, ATriggerIsAProgramOfItsEvent) {
  ASSERT_EQ(write(kOne, "hist:keys=pid if pid > 3"), 0);
  ASSERT_EQ(write(kOne, "traceoff"), 0);
  const TriggerProgram* triggers = program(one_)->triggers;
  ASSERT_EQ(triggers->nr_triggers, 2u);
  const Trigger& hist = triggers->trigger[1];
  EXPECT_EQ(hist.kind, TriggerKind::kHist);
  EXPECT_TRUE(hist.needs_record);
  EXPECT_NE(hist.filter, nullptr);
  EXPECT_EQ(hist.hist, hists(one_)[0]->program);
  EXPECT_EQ(show(kOne),
            "traceoff:unlimited\n"
            "hist:keys=pid:vals=hitcount:sort=hitcount:size=2048 if pid > 3 [active]\n");
  EXPECT_EQ(tree_.read("events/sched/one/enable"), "0*\n");
  EXPECT_EQ(write(kOne, "!hist:keys=pid if pid > 3"), 0);
  EXPECT_EQ(program(one_)->triggers->nr_triggers, 1u);
  EXPECT_EQ(write(kOne, "!traceoff"), 0);
  EXPECT_EQ(program(one_), nullptr);
}

TEST_F(HistTriggersTest, PausedByTheirTextAndByTheSwitchOfAll) {
  ASSERT_EQ(write(kOne, "hist:keys=pid"), 0);
  ASSERT_EQ(write(kOne, "hist:keys=comm:pause"), 0);
  const HistData *a = hists(one_)[0], *b = hists(one_)[1];
  EXPECT_FALSE(HistTriggers::is_paused(*a));
  EXPECT_TRUE(HistTriggers::is_paused(*b));
  uint32_t* all = tree_.triggers->hist_switch(tree_.registry->top(), one_);
  *all = kHistAllPaused;  // as a hit of disable_hist
  EXPECT_TRUE(HistTriggers::is_paused(*a) && HistTriggers::is_paused(*b));
  EXPECT_NE(show(kOne).find("keys=pid:vals=hitcount:sort=hitcount:size=2048 [paused]"),
            std::string::npos);
  ASSERT_EQ(write(kOne, "hist:keys=comm:cont"), 0);
  EXPECT_TRUE(HistTriggers::is_paused(*a));
  EXPECT_FALSE(HistTriggers::is_paused(*b));
  EXPECT_EQ(*all, uint32_t{kHistEach});
  *all = kHistAllPaused;
  ASSERT_EQ(write(kOne, "hist:keys=common_cpu"), 0);
  EXPECT_FALSE(HistTriggers::is_paused(*hists(one_)[2]));
  EXPECT_TRUE(HistTriggers::is_paused(*b));
}

TEST_F(HistTriggersTest, OnesOfANameShareATableUntilTheLastIsGone) {
  ASSERT_EQ(write(kOne, "hist:keys=pid:name=both:size=256"), 0);
  ASSERT_EQ(write(kTwo, "hist:keys=pid:name=both"), 0);
  HistTable* table = hists(one_)[0]->table;
  EXPECT_EQ(hists(two_)[0]->table, table);
  EXPECT_EQ(write(kTwo, "hist:keys=comm:name=both"), EINVAL);
  EXPECT_EQ(write(kOne, "!hist:keys=pid:name=both"), 0);
  EXPECT_EQ(show(kOne), "");
  EXPECT_EQ(show(kTwo), "hist:name=both:keys=pid:vals=hitcount:sort=hitcount:size=256 [active]\n");
  ASSERT_EQ(write(kOne, "hist:keys=pid:name=both:size=512"), 0);
  EXPECT_EQ(hists(one_)[0]->table, table);
  EXPECT_EQ(truncate(kOne), 0);
  EXPECT_EQ(truncate(kTwo), 0);
  ASSERT_EQ(write(kOne, "hist:keys=comm:name=both"), 0);
}

TEST_F(HistTriggersTest, NamesOutliveTheEventAndTheInstanceThatDefinedThem) {
  ASSERT_EQ(tree_.mkdir("instances/x"), 0);
  const std::string in_x = "instances/x/" + std::string(kOne);
  ASSERT_EQ(write(in_x, "hist:keys=pid:name=both:v=pid"), 0);
  ASSERT_EQ(write(kTwo, "hist:keys=pid:name=both:v=pid"), 0);
  EXPECT_EQ(tree_.rmdir("instances/x"), EBUSY);  // it has variables
  EXPECT_EQ(write(in_x, "!hist:keys=pid:name=both:v=pid"), 0);
  EXPECT_EQ(tree_.rmdir("instances/x"), EBUSY);
  ASSERT_TRUE(tree_.registry->remove_event(one_, true).ok());
  EXPECT_EQ(tree_.rmdir("instances/x"), 0);
  EXPECT_EQ(show(kTwo),
            "hist:name=both:keys=pid:vals=hitcount:v=pid:sort=hitcount:size=2048 [active]\n");
  EXPECT_EQ(truncate(kTwo), 0);
  EXPECT_EQ(show(kTwo), "");
}

TEST_F(HistTriggersTest, NothingGoesWhileOthersRefer) {
  ASSERT_EQ(write("synthetic_events", "sy s32 a"), 0);
  ASSERT_EQ(write(kOne, "hist:keys=pid:p=pid"), 0);
  ASSERT_EQ(write(kTwo, "hist:keys=pid:onmatch(sched.one).sy($p)"), 0);
  EXPECT_EQ(write(kOne, "!hist:keys=pid:p=pid"), EBUSY);
  EXPECT_EQ(truncate(kOne), 0);
  EXPECT_NE(show(kOne), "");
  EXPECT_EQ(write("synthetic_events", "!sy"), EBUSY);
  EXPECT_EQ(write(kTwo, "!hist:keys=pid:onmatch(sched.one).sy($p)"), 0);
  EXPECT_EQ(write("synthetic_events", "!sy"), 0);
  EXPECT_EQ(write(kOne, "!hist:keys=pid:p=pid"), 0);
}

TEST_F(HistTriggersTest, AuxiliaryOnesGoWithWhatNeedsThem) {
  ASSERT_EQ(write("synthetic_events", "sy pid_t a; s32 b"), 0);
  ASSERT_EQ(write("synthetic_events", "si int a"), 0);
  ASSERT_EQ(write(kOne, "hist:keys=pid:q=5"), 0);
  const std::string before = show(kOne);
  EXPECT_EQ(write(kTwo, "hist:keys=pid:onmatch(sched.one).si(sched.one.comm)"), EINVAL);
  EXPECT_EQ(show(kOne), before);
  ASSERT_EQ(write(kTwo, "hist:keys=pid:onmatch(sched.one).si(sched.one.pid)"), 0);
  EXPECT_NE(show(kOne).find("synthetic_pid=pid"), std::string::npos);
  EXPECT_EQ(truncate(kTwo), 0);
  EXPECT_EQ(show(kOne), before);
  ASSERT_EQ(write(kTwo, "hist:keys=pid:onmatch(sched.one).si(sched.one.pid)"), 0);
  ASSERT_TRUE(tree_.registry->remove_event(two_, true).ok());
  EXPECT_EQ(show(kOne), before);
}

TEST_F(HistTriggersTest, AnEventThatGoesTakesItsHistograms) {
  ASSERT_EQ(write(kOne, "hist:keys=pid:p=pid"), 0);
  ASSERT_EQ(write(kTwo, "hist:keys=pid:x=$p"), 0);
  ASSERT_TRUE(tree_.registry->remove_event(one_, true).ok());
  EXPECT_NE(show(kTwo).find("x=$p"), std::string::npos);
  EXPECT_EQ(write(kTwo, "hist:keys=pid:y=$p"), EINVAL);
  EXPECT_EQ(truncate(kTwo), 0);
  EXPECT_EQ(show(kTwo), "");
}

TEST_F(HistTriggersTest, AnInstanceThatGoesTakesItsHistograms) {
  for (int i = 0; i < 3; i++) {
    ASSERT_EQ(tree_.mkdir("instances/x"), 0);
    ASSERT_EQ(write("instances/x/" + std::string(kOne), "hist:keys=pid:vals=pid if pid > 1"), 0);
    ASSERT_EQ(tree_.rmdir("instances/x"), 0);
  }
  EXPECT_EQ(show(kOne), "");
}

TEST_F(HistTriggersTest, OneSnapshotOfAnInstance) {
  ASSERT_EQ(write(kOne, "hist:keys=pid:p=pid:onmax($p).snapshot()"), 0);
  EXPECT_EQ(write(kTwo, "hist:keys=pid:q=pid:onmax($q).snapshot()"), EBUSY);
  EXPECT_EQ(write("snapshot", "1"), EBUSY);
  EXPECT_EQ(write("snapshot", "0"), EBUSY);
  EXPECT_EQ(write(kOne, "snapshot"), EBUSY);
  EXPECT_EQ(truncate(kOne), 0);
  EXPECT_EQ(write("snapshot", "1"), 0);
  ASSERT_EQ(write(kTwo, "hist:keys=pid:q=pid:onmax($q).snapshot()"), 0);
}

TEST_F(HistTriggersTest, WhatCannotBePatchedLeavesNothing) {
  tree_.source.refuse = true;
  EXPECT_EQ(write(kOne, "hist:keys=pid:p=pid"), EPERM);
  tree_.source.refuse = false;
  EXPECT_EQ(show(kOne), "");
  EXPECT_EQ(write(kOne, "hist:keys=pid:p=pid"), 0);
  EXPECT_EQ(write(kOne, "!hist:keys=pid:p=pid"), 0);
}

TEST_F(HistTriggersTest, AThousandAtOnce) {
  std::string last;
  for (int i = 0; i < 1000; i++) {
    last = "hist:keys=pid:size=128:v" + std::to_string(i) + "=pid";
    ASSERT_EQ(write(kOne, last), 0) << i;
  }
  EXPECT_EQ(write(kOne, last), EINVAL);  // the variable is there
  EXPECT_EQ(hists(one_).size(), 1000u);
  EXPECT_EQ(program(one_)->triggers->nr_triggers, 1000u);
  EXPECT_EQ(write(kOne, "!" + last), 0);
  EXPECT_EQ(truncate(kOne), 0);
  EXPECT_EQ(program(one_), nullptr);
}

}  // namespace
}  // namespace patchbay
