// SPDX-License-Identifier: MIT
//
// Probe events over a real registry and patcher, on functions of this program: what a line makes of
// events and places, what it is refused for, and what is counted.
#include "registry/probes/probe_events.h"

#include <gtest/gtest.h>

#include <cstring>

#include "hot/rseq_testing.h"
#include "registry/event_requests.h"
#include "registry/registry_testing.h"

// Functions to probe: each of its own, called through a pointer that the compiler does not see
// through.
#if defined(__clang__)
#define PROBED extern "C" __attribute__((noinline, used, visibility("default")))
#else
#define PROBED extern "C" __attribute__((noipa, used, visibility("default")))
#endif

PROBED long probed_sum(long a, long b) {
  __asm__ volatile("" : "+r"(a));
  return a + 2 * b;
}
PROBED long probed_other(long a) {
  __asm__ volatile("" : "+r"(a));
  return a - 1;
}
PROBED long probed_glob_one(long a) {
  __asm__ volatile("" : "+r"(a));
  return a ^ 1;
}
PROBED long probed_glob_two(long a) {
  __asm__ volatile("" : "+r"(a));
  return a ^ 2;
}

namespace patchbay {
namespace {

using test::FakeSource;

constexpr ProbeFile kDynamic = ProbeFile::kDynamicEvents;
constexpr ProbeFile kKprobes = ProbeFile::kKprobeEvents;
constexpr ProbeFile kUprobes = ProbeFile::kUprobeEvents;

class ProbeEventsTest : public test::RegistryTest {
 protected:
  void SetUp() override {
    pb_rseq_offset = test::rseq_offset();
    RegistryTest::SetUp();
    patcher_ = make_patcher();
    sites_ = std::make_unique<ProbeSites>(*patcher_);
    probes_ = std::make_unique<ProbeEvents>(*registry_, *patcher_, *sites_);
  }
  void TearDown() override {
    EXPECT_TRUE(registry_->requests().clear(top()).ok());
    EXPECT_TRUE(probes_->clear(kDynamic).ok());
    probes_.reset();
    RegistryTest::TearDown();
  }

  // 0 or the errno.
  int write(const std::string& line, ProbeFile file = kDynamic) {
    Status status = probes_->write_line(file, line);
    sentence_ = status.ok() ? "" : status.error().message();
    return status.ok() ? 0 : status.error().errno_value;
  }
  LiveEvent* event(const std::string& group, const std::string& name) {
    return registry_->find_event(group, name);
  }
  int switch_event(const std::string& group, const std::string& name, bool on) {
    Status status = enable(top(), event(group, name), on);
    return status.ok() ? 0 : status.error().errno_value;
  }
  // Behind the time stamp: "LOCATION: error: TEXT" and the column of the caret.
  std::string last_error() {
    const std::string log = top().errors.show();
    const size_t entry = log.rfind("] ");
    if (entry == log.npos) return "";
    const std::string rest = log.substr(entry + 2);
    const size_t caret = rest.rfind('^');
    return rest.substr(0, rest.find('\n')) + " @" +
           std::to_string(caret - rest.rfind('\n', caret) - 12);
  }
  std::vector<std::string> taken() { return records(top().buffer.get()); }
  static uint64_t word(const std::string& record, size_t offset) {
    uint64_t value = 0;
    if (record.size() >= offset + sizeof value)
      std::memcpy(&value, record.data() + offset, sizeof value);
    return value;
  }

  std::unique_ptr<Patcher> patcher_;
  std::unique_ptr<ProbeSites> sites_;
  std::unique_ptr<ProbeEvents> probes_;
  std::string sentence_;
};

TEST_F(ProbeEventsTest, ADefinitionIsListedInTheFilesOfItsKind) {
  EXPECT_EQ(write("p:k probed_sum a=$arg1:s64"), 0);
  EXPECT_EQ(write("f probed_other"), 0);
  EXPECT_EQ(write("p:u /bin/sh:0x10"), 0);
  EXPECT_EQ(probes_->show(kKprobes), "p:kprobes/k probed_sum a=$arg1:s64\n");
  EXPECT_EQ(probes_->show(kUprobes), "p:uprobes/u /bin/sh:0x0000000000000010\n");
  EXPECT_EQ(probes_->show(kDynamic),
            "p:kprobes/k probed_sum a=$arg1:s64\n"
            "f:fprobes/probed_other__entry probed_other\n"
            "p:uprobes/u /bin/sh:0x0000000000000010\n");
}

TEST_F(ProbeEventsTest, EntryAndReturnRecordWhatTheyFetchAndAreCounted) {
  ASSERT_EQ(write("p:in probed_sum a=$arg1:s64"), 0);
  ASSERT_EQ(write("r:out probed_sum r=$retval:s64"), 0);
  ASSERT_EQ(switch_event("kprobes", "in", true), 0) << sentence_;
  ASSERT_EQ(switch_event("kprobes", "out", true), 0);
  EXPECT_EQ(probed_sum(5, 6), 17);
  EXPECT_EQ(probed_sum(1, 1), 3);
  ASSERT_EQ(switch_event("kprobes", "in", false), 0);
  ASSERT_EQ(switch_event("kprobes", "out", false), 0);
  EXPECT_EQ(probed_sum(7, 7), 21);
  const auto found = taken();
  ASSERT_EQ(found.size(), 4u);
  EXPECT_EQ(word(found[0], 8), reinterpret_cast<uint64_t>(&probed_sum));
  EXPECT_EQ(word(found[0], 16), 5u);
  EXPECT_EQ(word(found[1], 8), reinterpret_cast<uint64_t>(&probed_sum));
  EXPECT_EQ(word(found[1], 24), 17u);
  const std::string in = "  in" + std::string(42, ' ') + " " + std::string(14, ' ') + "2 " +
                         std::string(14, ' ') + "0\n";
  EXPECT_EQ(probes_->kprobe_profile().substr(0, in.size()), in);
}

TEST_F(ProbeEventsTest, OneNameTakesMorePlacesOfTheSameArguments) {
  ASSERT_EQ(write("p:m probed_sum a=$arg1:x64"), 0);
  ASSERT_EQ(write("p:m probed_other a=$arg1:x64"), 0);
  struct {
    const char* line;
    const char* error;
  } refused[] = {
      {"p:m probed_other a=$arg1:x64",
       "trace_kprobe: error: There is already the exact same probe event @0"},
      {"p:m probed_glob_one b=$arg1:x64",
       "trace_kprobe: error: Argument type or name is different from existing probe @20"},
      {"p:m probed_glob_one a=$arg1:x64 b=$arg2",
       "trace_kprobe: error: Argument type or name is different from existing probe @32"},
      {"r:m probed_glob_one",
       "trace_kprobe: error: Probe type is different from existing probe @0"},
      {"f:kprobes/m probed_sum",
       "trace_fprobe: error: Given group/event name is already used by another event @0"},
  };
  for (const auto& one : refused) {
    EXPECT_EQ(write(one.line), EEXIST) << one.line;
    EXPECT_EQ(last_error(), one.error) << one.line;
  }
  ASSERT_EQ(switch_event("kprobes", "m", true), 0);
  probed_sum(1, 2);
  probed_other(3);
  EXPECT_EQ(taken().size(), 2u);
  // One more goes to work at once, and one of several may go.
  EXPECT_EQ(write("p:m probed_glob_one a=$arg1:x64"), 0);
  EXPECT_EQ(write("-:m probed_other"), 0);
  probed_glob_one(4);
  probed_other(5);
  EXPECT_EQ(taken().size(), 3u);
  EXPECT_EQ(probes_->show(kDynamic),
            "p:kprobes/m probed_sum a=$arg1:x64\np:kprobes/m probed_glob_one a=$arg1:x64\n");
}

TEST_F(ProbeEventsTest, PlacesThatAreNoneAreRefusedWithTheReason) {
  EXPECT_EQ(write("p probed_sumx"), EINVAL);
  // The kernel's text, and why.
  EXPECT_EQ(last_error(),
            "trace_kprobe: error: Invalid probed address or symbol: no function \"probed_sumx\" in "
            "this program or its libraries; did you mean probed_sum? @2");
  EXPECT_NE(sentence_.find("probed_sum"), std::string::npos) << sentence_;
  EXPECT_EQ(write("p probed_sum-0x40000000"), EINVAL);
  EXPECT_EQ(last_error(),
            "trace_kprobe: error: Invalid probed address or symbol: there is no code so far before "
            "probed_sum @2");
  EXPECT_EQ(write("p probed_sum+0x10001"), EILSEQ);
  EXPECT_TRUE(last_error().starts_with(
      "trace_kprobe: error: Probe point is not an instruction boundary: probed_sum has "))
      << last_error();
  EXPECT_EQ(write("r probed_sum+1"), EINVAL);
  EXPECT_EQ(write("p _start"), EINVAL);
  EXPECT_EQ(last_error(),
            "trace_kprobe: error: Failed to register probe event: not entered by an ordinary call "
            "@2");
  EXPECT_EQ(write("f:g nosuch_glob_*"), EINVAL);
  EXPECT_EQ(last_error(),
            "trace_fprobe: error: Failed to register probe event: no function has such a name @4");
  EXPECT_EQ(probes_->show(kDynamic), "");
}

TEST_F(ProbeEventsTest, EveryInstructionOfAFunctionAndNothingBetweenThem) {
  int taken_places = 0;
  for (int offset = 0; offset < 8; offset++) {
    const int error = write("p:b probed_sum+" + std::to_string(offset));
    EXPECT_TRUE(error == 0 || error == EILSEQ) << offset << ": " << sentence_;
    taken_places += error == 0;
  }
  EXPECT_GE(taken_places, 2);
  EXPECT_LT(taken_places, 8);
}

// As in a kernel: an offset may lead to the entry of another function.
TEST_F(ProbeEventsTest, AnOffsetReachesTheNextFunction) {
  const auto sum = reinterpret_cast<uintptr_t>(&probed_sum);
  const auto other = reinterpret_cast<uintptr_t>(&probed_other);
  const bool up = sum < other;
  const std::string place = std::string(up ? "probed_sum" : "probed_other") + "+" +
                            std::to_string(up ? other - sum : sum - other);
  ASSERT_EQ(write("p:next " + place), 0) << sentence_;
  ASSERT_EQ(switch_event("kprobes", "next", true), 0);
  EXPECT_EQ(probed_sum(1, 2), 5);
  EXPECT_EQ(taken().size(), up ? 0u : 1u);
  EXPECT_EQ(probed_other(3), 2);
  EXPECT_EQ(taken().size(), 1u);
}

TEST_F(ProbeEventsTest, AGlobTakesAllThatMatch) {
  ASSERT_EQ(write("f:g probed_glob_*"), 0) << sentence_;
  ASSERT_EQ(switch_event("fprobes", "g", true), 0);
  probed_glob_one(1);
  probed_glob_two(2);
  probed_other(3);
  EXPECT_EQ(taken().size(), 2u);
  EXPECT_EQ(probes_->kprobe_profile(), "");
}

TEST_F(ProbeEventsTest, RemovalByNameByGroupAndByPlace) {
  for (const char* line : {"p:a probed_sum", "p:a probed_other", "p:b probed_sum",
                           "p:mine/c probed_sum", "p:mine/d probed_sum"})
    ASSERT_EQ(write(line), 0) << line;
  EXPECT_EQ(write("-:nosuch"), ENOENT);
  EXPECT_EQ(write("-:u/a"), ENOENT);
  EXPECT_EQ(write("-:b", kUprobes), ENOENT);
  EXPECT_EQ(write("-:a probed_glob_one"), ENOENT);
  EXPECT_EQ(write("-:mine/"), 0);
  EXPECT_EQ(write("!p:b probed_sum"), 0);
  EXPECT_EQ(probes_->show(kDynamic), "p:kprobes/a probed_sum\np:kprobes/a probed_other\n");
  EXPECT_EQ(event("mine", "c"), nullptr);
  EXPECT_EQ(write("-:kprobes/a", kKprobes), 0);
  EXPECT_EQ(probes_->show(kDynamic), "");
}

TEST_F(ProbeEventsTest, WhatIsEnabledStays) {
  ASSERT_EQ(write("p:a probed_sum"), 0);
  ASSERT_EQ(write("p:b probed_other"), 0);
  auto instance = registry_->create_array("i");
  ASSERT_TRUE(instance.ok());
  ASSERT_TRUE(enable(**instance, event("kprobes", "b")).ok());
  EXPECT_EQ(write("-:b"), EBUSY);
  Status cleared = probes_->clear(kKprobes);
  ASSERT_FALSE(cleared.ok());
  EXPECT_EQ(cleared.error().errno_value, EBUSY);
  EXPECT_NE(event("kprobes", "a"), nullptr);
  EXPECT_TRUE(probes_->clear(kUprobes).ok());
  ASSERT_TRUE(enable(**instance, event("kprobes", "b"), false).ok());
  EXPECT_TRUE(probes_->clear(kKprobes).ok());
  EXPECT_EQ(event("kprobes", "a"), nullptr);
}

TEST_F(ProbeEventsTest, TheBufferOfAnEventThatIsGoneIsEmptied) {
  ASSERT_EQ(write("p:a probed_sum"), 0);
  ASSERT_EQ(switch_event("kprobes", "a", true), 0);
  probed_sum(1, 1);
  ASSERT_EQ(switch_event("kprobes", "a", false), 0);
  ASSERT_EQ(write("-:a"), 0);
  EXPECT_TRUE(taken().empty());
}

TEST_F(ProbeEventsTest, PlacesOfWhatIsNotLoadedWait) {
  EXPECT_EQ(write("p:w libnosuchthing:func a=$arg1"), 0) << sentence_;
  EXPECT_EQ(write("p:x /bin/sh:0x1000"), 0) << sentence_;
  EXPECT_EQ(switch_event("kprobes", "w", true), 0);
  EXPECT_EQ(switch_event("uprobes", "x", true), 0);
  EXPECT_EQ(probes_->list(), "");
  EXPECT_EQ(switch_event("uprobes", "x", false), 0);
}

TEST_F(ProbeEventsTest, EventProbesStandAmongThePrograms) {
  FakeSource source;
  LiveEvent* live = add("sys", "src", &source);
  ASSERT_EQ(write("e:ep sys.src x=$a:s32"), 0) << sentence_;
  EXPECT_EQ(registry_->remove_event(live, false).error().errno_value, EBUSY);
  ASSERT_EQ(switch_event("eprobes", "ep", true), 0);
  ASSERT_EQ(source.running["src"].size(), 1u);
  const EventProgram* program = source.running["src"][0];
  EXPECT_TRUE(program->from_record);
  EXPECT_EQ(program->source_filter, nullptr);
  ASSERT_TRUE(enable(top(), live).ok());
  EXPECT_EQ(source.running["src"].size(), 2u);
  ASSERT_EQ(switch_event("eprobes", "ep", false), 0);
  ASSERT_EQ(source.running["src"].size(), 1u);
  EXPECT_FALSE(source.running["src"][0]->from_record);
  ASSERT_TRUE(enable(top(), live, false).ok());
  EXPECT_EQ(write("-:ep"), 0);
  EXPECT_TRUE(registry_->remove_event(live, false).ok());
}

TEST_F(ProbeEventsTest, AnEventProbeWaitsForItsSourceToComeBack) {
  FakeSource source;
  LiveEvent* live = add("sys", "src", &source);
  ASSERT_EQ(write("e:ep sys.src x=$a:s32"), 0) << sentence_;
  ASSERT_EQ(switch_event("eprobes", "ep", true), 0);
  ASSERT_TRUE(registry_->remove_event(live, true).ok());
  probes_->refresh();
  source.running.clear();
  add("sys", "src", &source);
  probes_->refresh();
  ASSERT_EQ(source.running["src"].size(), 1u);
  EXPECT_TRUE(source.running["src"][0]->from_record);
  EXPECT_EQ(switch_event("eprobes", "ep", false), 0);
}

TEST_F(ProbeEventsTest, WhereEventProbesMayNotStand) {
  FakeSource source;
  add("sys", "src", &source);
  ASSERT_EQ(write("p:k probed_sum a=$arg1"), 0);
  ASSERT_EQ(write("f:f probed_sum a=$arg1:x64"), 0);
  ASSERT_EQ(write("e:ep sys.src x=$a"), 0);
  EXPECT_EQ(write("e:no kprobes.k"), ENODEV);
  EXPECT_EQ(last_error(), "event_probe: error: Attached event does not exist @5");
  EXPECT_EQ(write("e:no eprobes.ep"), ENODEV);
  EXPECT_EQ(write("e:no ftrace.print"), ENODEV);
  EXPECT_EQ(write("e:ep sys.src x=$a"), EEXIST);
  EXPECT_EQ(last_error(),
            "event_probe: error: Given group/event name is already used by another event @0");
  EXPECT_EQ(write("e:bad sys.src if nosuch == 1"), EINVAL);
  EXPECT_EQ(last_error(), "event filter parse error: error: Field not found @7");
  // On a probe of a function it stands, and its record is made of that one's.
  ASSERT_EQ(write("e:on fprobes.f v=$a:x64 if a > 5"), 0) << sentence_;
  EXPECT_EQ(write("-:fprobes/f"), EBUSY);
  ASSERT_EQ(switch_event("eprobes", "on", true), 0);
  probed_sum(5, 0);
  probed_sum(6, 0);
  const auto found = taken();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(word(found[0], 8), 6u);
  // What stands on another goes first.
  ASSERT_EQ(switch_event("eprobes", "on", false), 0);
  EXPECT_TRUE(probes_->clear(kDynamic).ok());
}

TEST_F(ProbeEventsTest, AllOfThemAreTakenOutAndPutBack) {
  ASSERT_EQ(write("p:a probed_sum"), 0);
  EXPECT_NE(probes_->list().find("  k  probed_sum+0x0    [DISABLED]\n"), std::string::npos)
      << probes_->list();
  ASSERT_EQ(switch_event("kprobes", "a", true), 0);
  ASSERT_TRUE(probes_->set_armed(false).ok());
  EXPECT_FALSE(probes_->armed());
  probed_sum(1, 1);
  EXPECT_TRUE(taken().empty());
  ASSERT_TRUE(probes_->set_armed(true).ok());
  probed_sum(1, 1);
  EXPECT_EQ(taken().size(), 1u);
  EXPECT_EQ(probes_->list().find("DISABLED"), std::string::npos);
}

TEST_F(ProbeEventsTest, LinesStandInTheOrderOfAllDefinitions) {
  ASSERT_EQ(write("p:a probed_sum"), 0);
  FakeSource source;
  const LiveEvent* between = add("synthetic", "s", &source);
  ASSERT_EQ(write("p:a probed_other"), 0);
  ASSERT_EQ(write("p:b probed_other"), 0);
  const auto lines = probes_->lines(kDynamic);
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_LT(lines[0].rank, between->call.id);
  EXPECT_GE(lines[1].rank, between->call.id);
  EXPECT_GE(lines[2].rank, lines[1].rank);
}

}  // namespace
}  // namespace patchbay
