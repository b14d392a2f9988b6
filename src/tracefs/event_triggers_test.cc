// SPDX-License-Identifier: MIT
// Commands of `trigger`, what they leave behind, and what goes with what. The kernel's answers to
// more of them are in tests/oracle (242 to 259).
#include "trigger/event_triggers.h"

#include <gtest/gtest.h>

#include "probe/triggers/action_hot.h"
#include "tracefs/control_tree_fixture.h"

namespace patchbay {
namespace {

constexpr const char* kAvailable =
    "# Available triggers:\n"
    "# traceon traceoff snapshot stacktrace enable_event disable_event enable_hist disable_hist "
    "hist\n";
constexpr const char* kFile = "events/sched/one/trigger";

class EventTriggersTest : public ::testing::Test {
 protected:
  void SetUp() override {
    one_ = tree_.add_event("sched", "one");
    two_ = tree_.add_event("sched", "two");
  }
  long write(const std::string& text, const char* file = kFile) { return tree_.write(file, text); }
  std::string show(const char* file = kFile) { return tree_.read(file); }
  std::string enabled(const char* event) {
    return tree_.read("events/sched/" + std::string(event) + "/enable");
  }
  const EventProgram* program(const LiveEvent* event) {
    const EventFile* file = tree_.registry->file(tree_.registry->top(), event);
    return file ? file->program : nullptr;
  }

  tracefs::ControlTree tree_;
  LiveEvent *one_ = nullptr, *two_ = nullptr;
};

TEST_F(EventTriggersTest, Commands) {
  struct Case {
    const char* command;
    int error;
    const char* shown;  // null: as before
  };
  const Case cases[] = {
      {"traceoff", 0, "traceoff:unlimited\n"},
      {"!traceon", 0, kAvailable},
      {"traceon:5\n", 0, "traceon:count=5\n"},
      {"traceoff", EEXIST, nullptr},
      {"!traceoff:1 if nonsense", 0, kAvailable},
      {"  stacktrace 0x10  if  pid == 3 \n", 0, "stacktrace:count=16 if  pid == 3\n"},
      {"!stacktrace:x", 0, kAvailable},
      {"!stacktrace", 0, kAvailable},
      {"snapshot:1:2", 0, "snapshot:count=1\n"},
      {"!snapshot", 0, kAvailable},
      {"enable_event:sched:two:3 if pid > 1", 0, "enable_event:sched:two:count=3 if pid > 1\n"},
      {"disable_event:sched:two", EEXIST, nullptr},
      {"!disable_event:sched:two", 0, kAvailable},
      {"enable_hist:sched:two", 0, "enable_hist:sched:two:unlimited\n"},
      {"disable_hist:sched:two:1", EEXIST, nullptr},
      {"!disable_hist:sched:two", 0, kAvailable},
      {"traceoff:-1", EINVAL, nullptr},
      {"traceoff:3x", EINVAL, nullptr},
      {"traceoff:99999999999999999999", ERANGE, nullptr},
      {"traceoff stacktrace", EINVAL, nullptr},
      {"traceoff if", EINVAL, nullptr},
      {"traceoff if nosuch == 1", EINVAL, nullptr},
      {"traceoff if 0", EINVAL, nullptr},
      {"nosuch", EINVAL, nullptr},
      {"!nosuch", EINVAL, nullptr},
      {"!", EINVAL, nullptr},
      {" \n", EINVAL, nullptr},
      {"enable_event", EINVAL, nullptr},
      {"enable_event:sched", EINVAL, nullptr},
      {"enable_event:sched:none", EINVAL, nullptr},
      {"!enable_event:sched:none", EINVAL, nullptr},
      {"enable_event:sched:two:", EINVAL, nullptr},
      {"enable_event:ftrace:print", EINVAL, nullptr},
  };
  std::string before = show();
  for (const Case& one : cases) {
    const std::string command = one.command;
    EXPECT_EQ(write(command), one.error ? -one.error : long(command.size())) << command;
    const std::string now = show();
    EXPECT_EQ(now, one.shown ? one.shown : before) << command;
    before = now;
  }
  EXPECT_EQ(enabled("one"), "0\n");
  EXPECT_EQ(enabled("two"), "0\n");
}

TEST_F(EventTriggersTest, TheNewestStandsOnTop) {
  for (const char* command : {"traceoff", "stacktrace:2", "enable_event:sched:two", "snapshot"})
    EXPECT_GT(write(command), 0) << command;
  EXPECT_EQ(show(),
            "snapshot:unlimited\nenable_event:sched:two:unlimited\nstacktrace:count=2\n"
            "traceoff:unlimited\n");
}

TEST_F(EventTriggersTest, EventAndTargetAreHeldInSoftMode) {
  write("enable_event:sched:two");
  EXPECT_EQ(enabled("one"), "0*\n");
  EXPECT_EQ(enabled("two"), "0*\n");
  write("1", "events/sched/two/enable");
  EXPECT_EQ(enabled("two"), "1*\n");
  EXPECT_EQ(write("enable_event:sched:two:7"), -EEXIST);
  write("!enable_event:sched:two");
  EXPECT_EQ(enabled("one"), "0\n");
  EXPECT_EQ(enabled("two"), "1\n");
}

TEST_F(EventTriggersTest, AnEventMayBeItsOwnTarget) {
  write("enable_event:sched:one");
  EXPECT_EQ(enabled("one"), "0*\n");
  const TriggerProgram* triggers = program(one_)->triggers;
  ASSERT_NE(triggers, nullptr);
  EXPECT_TRUE(triggers->has_early);
  EXPECT_EQ(triggers->trigger[0].action->soft, program(one_)->soft);
  write("!enable_event:sched:one");
  EXPECT_EQ(enabled("one"), "0\n");
  EXPECT_EQ(program(one_), nullptr);
}

TEST_F(EventTriggersTest, OneThatNeedsTheRecordMakesAllWait) {
  write("enable_event:sched:two");
  EXPECT_TRUE(program(one_)->triggers->has_early);
  write("stacktrace");
  EXPECT_FALSE(program(one_)->triggers->has_early);
  EXPECT_TRUE(program(one_)->triggers->trigger[0].after);
  write("!stacktrace");
  EXPECT_TRUE(program(one_)->triggers->has_early);
}

TEST_F(EventTriggersTest, ASourceThatRefusesLeavesNothing) {
  tree_.source.refuse = true;
  EXPECT_EQ(write("traceoff"), -EPERM);
  EXPECT_EQ(write("enable_event:sched:two"), -EPERM);
  tree_.source.refuse = false;
  EXPECT_EQ(show(), kAvailable);
  EXPECT_EQ(enabled("one"), "0\n");
  EXPECT_EQ(enabled("two"), "0\n");
  EXPECT_GT(write("traceon"), 0);
}

TEST_F(EventTriggersTest, ErrorsOfFiltersAreInTheInstancesLog) {
  ASSERT_EQ(tree_.mkdir("instances/x"), 0);
  const std::string file = "instances/x/" + std::string(kFile);
  EXPECT_EQ(write("traceoff if  nosuch == 1", file.c_str()), -EINVAL);
  EXPECT_EQ(tree_.read("error_log"), "");
  const std::string log = tree_.read("instances/x/error_log");
  EXPECT_NE(log.find("event filter parse error: error: Field not found\n"
                     "  Command:  nosuch == 1\n             "),
            log.npos)
      << log;
}

TEST_F(EventTriggersTest, TruncationDropsOnlyWhatBelongsToHists) {
  write("enable_hist:sched:two");
  write("traceoff");
  EXPECT_EQ(tree_.write(kFile, "stacktrace", O_WRONLY | O_TRUNC), 10);
  EXPECT_EQ(show(), "stacktrace:unlimited\ntraceoff:unlimited\n");
  EXPECT_EQ(enabled("two"), "0\n");
}

TEST_F(EventTriggersTest, AnInstanceTakesItsTriggersAlong) {
  ASSERT_EQ(tree_.mkdir("instances/x"), 0);
  const std::string file = "instances/x/" + std::string(kFile);
  write("traceoff:3", file.c_str());
  write("enable_event:sched:two", file.c_str());
  EXPECT_EQ(show(), kAvailable);
  EXPECT_FALSE(one_->programs.empty());
  EXPECT_EQ(tree_.rmdir("instances/x"), 0);
  EXPECT_TRUE(one_->programs.empty());
  EXPECT_TRUE(two_->programs.empty());
  ASSERT_EQ(tree_.mkdir("instances/x"), 0);
  EXPECT_EQ(show(file.c_str()), kAvailable);
}

TEST_F(EventTriggersTest, EventsThatAreNeededStayUnlessByForce) {
  write("enable_event:sched:two");
  write("traceoff");
  const Status refused = tree_.registry->remove_event(two_, false);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().errno_value, EBUSY);
  ASSERT_TRUE(tree_.registry->remove_event(two_, true).ok());
  EXPECT_EQ(show(), "traceoff:unlimited\n") << "its target is gone";
  ASSERT_TRUE(tree_.registry->remove_event(one_, true).ok());
  tree_.add_event("sched", "one");
  EXPECT_EQ(show(), kAvailable);
}

TEST_F(EventTriggersTest, ASnapshotIsAllocatedAtOnceAndStays) {
  EXPECT_EQ(tree_.registry->top().snapshot, nullptr);
  write("snapshot:1");
  EXPECT_NE(tree_.registry->top().snapshot, nullptr);
  write("!snapshot");
  EXPECT_NE(tree_.registry->top().snapshot, nullptr);
}

TEST_F(EventTriggersTest, Markers) {
  constexpr const char* kPrint = "events/ftrace/print/trigger";
  EXPECT_GT(write("traceoff if buf == \"end\"", kPrint), 0);
  EXPECT_EQ(tree_.write("trace_marker", "end\n"), 4);
  EXPECT_EQ(tree_.read("tracing_on"), "1\n") << "the writer's newline counts";
  EXPECT_EQ(tree_.write("trace_marker", "end"), 3);
  EXPECT_EQ(tree_.read("tracing_on"), "0\n");
  EXPECT_EQ(tree_.write("trace_marker", "end"), -EBADF);
  const std::string trace = tree_.read("trace");
  EXPECT_NE(trace.find("entries-in-buffer/entries-written: 2/2"), trace.npos) << trace;
}

TEST_F(EventTriggersTest, MarkersSwitchEventsAndTakeSnapshots) {
  constexpr const char* kPrint = "events/ftrace/print/trigger";
  write("enable_event:sched:two:1", kPrint);
  tree_.write("trace_marker", "x");
  EXPECT_EQ(enabled("two"), "1*\n");
  EXPECT_EQ(show(kPrint), "enable_event:sched:two:count=0\n");
  write("snapshot:1", kPrint);
  tree_.write("trace_marker", "now");
  EXPECT_NE(tree_.read("snapshot").find("now"), std::string::npos);
  EXPECT_EQ(tree_.read("trace").find("now"), std::string::npos);
  write("stacktrace:1", kPrint);
  tree_.write("trace_marker", "deep");
  EXPECT_NE(tree_.read("trace").find("<stack trace"), std::string::npos);
}

}  // namespace
}  // namespace patchbay
