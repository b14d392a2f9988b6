// SPDX-License-Identifier: MIT
#include <sys/stat.h>

#include <cerrno>
#include <cstring>

#include "registry/registry_testing.h"
#include "ring_buffer/buffer_file.h"

namespace patchbay {
namespace {

using test::FakeSource;
using PidList = Registry::PidList;

class Registries : public test::RegistryTest {
 protected:
  FakeSource source_;
  const EventProgram* running(const std::string& name, size_t n = 0) {
    const auto& programs = source_.running[name];
    return n < programs.size() ? programs[n] : nullptr;
  }
  int set_event(TraceArray& array, std::string_view word) {
    Status status = registry_->set_event(array, word);
    return status.ok() ? 0 : status.error().errno_value;
  }
  std::vector<BufferFile::Meta> meta() {
    auto file = BufferFile::open(top().buffer->path(), false);
    auto log = (*file)->meta();
    return *log;
  }
};

int error_of(const Status& status) { return status.ok() ? 0 : status.error().errno_value; }

// --- events

TEST_F(Registries, GivesIdsAndDescribesEvents) {
  LiveEvent* a = add("sys", "a", &source_);
  LiveEvent* b = add("sys", "b", &source_);
  EXPECT_EQ(a->call.id, 512);
  EXPECT_EQ(b->call.id, 513);
  EXPECT_EQ(registry_->find_event("sys", "b"), b);
  EXPECT_EQ(registry_->find_event_by_id(513), b);
  EXPECT_EQ(registry_->find_event_by_id(5)->call.name, "print");
  EXPECT_EQ(registry_->find_event_by_id(19)->call.name, "raw_data");
  std::vector<uint32_t> described;
  for (const auto& record : meta()) {
    uint32_t id = 0;
    if (record.type != abi::kMetaEventFormat) continue;
    std::memcpy(&id, record.payload.data(), sizeof id);
    described.push_back(id);
  }
  EXPECT_EQ(described, (std::vector<uint32_t>{1, 11, 12, 10, 4, 13, 20, 5, 6, 15, 19, 512, 513}));
}

TEST_F(Registries, RefusesASecondEventOfAName) {
  add("sys", "a", &source_);
  auto twin = std::make_unique<LiveEvent>();
  twin->call.system = "sys";
  twin->call.name = "a";
  auto added = registry_->add_event(std::move(twin));
  ASSERT_FALSE(added.ok());
  EXPECT_EQ(added.error().errno_value, EEXIST);
}

TEST_F(Registries, RemovesOnlyWhatNobodyUses) {
  LiveEvent* a = add("sys", "a", &source_);
  ASSERT_TRUE(enable(top(), a).ok());
  EXPECT_EQ(error_of(registry_->remove_event(a, false)), EBUSY);
  const uint64_t before = registry_->generation();
  ASSERT_TRUE(registry_->remove_event(a, true).ok());
  EXPECT_GT(registry_->generation(), before);
  EXPECT_EQ(registry_->find_event("sys", "a"), nullptr);
  EXPECT_EQ(registry_->find_event_by_id(512), nullptr);
  EXPECT_TRUE(source_.running["a"].empty());
  EXPECT_EQ(registry_->show_set_event(top()), "");
}

TEST_F(Registries, GivesAnIdTwiceOnlyToTheSameEventOfAModule) {
  LiveEvent* a = add("sys", "a", &source_, "lib.so");
  ASSERT_TRUE(registry_->remove_event(a, false).ok());
  EXPECT_EQ(add("sys", "a", &source_, "other.so")->call.id, 513);
  ASSERT_TRUE(registry_->remove_event(registry_->find_event("sys", "a"), false).ok());
  const size_t records = meta().size();
  EXPECT_EQ(add("sys", "a", &source_, "lib.so")->call.id, 512);
  EXPECT_EQ(meta().size(), records);
  LiveEvent* plain = add("sys", "plain", &source_);
  ASSERT_TRUE(registry_->remove_event(plain, false).ok());
  EXPECT_EQ(add("sys", "plain", &source_)->call.id, 515);
}

// --- enabling

TEST_F(Registries, EnablesASpanInOneTransaction) {
  std::vector<LiveEvent*> events;
  for (const char* name : {"a", "b", "c"}) events.push_back(add("sys", name, &source_));
  EXPECT_EQ(registry_->summary(top(), "sys"), '0');
  ASSERT_TRUE(registry_->set_enabled(top(), events, true).ok());
  EXPECT_EQ(source_.updates, 1);
  EXPECT_EQ(source_.events, 3u);
  EXPECT_EQ(registry_->summary(top(), "sys"), '1');
  EXPECT_EQ(registry_->summary(top(), ""), '1');
  ASSERT_TRUE(enable(top(), events[1], false).ok());
  EXPECT_EQ(registry_->summary(top(), "sys"), 'X');
  EXPECT_EQ(registry_->summary(top(), "ftrace"), '?');
  ASSERT_TRUE(enable(top(), events[1], false).ok());
  EXPECT_EQ(source_.updates, 2) << "an event that is off stays off without a word";
}

TEST_F(Registries, NoRecordComesAfterAnEventWentOff) {
  LiveEvent* a = add("sys", "a", &source_);
  ASSERT_TRUE(enable(top(), a).ok());
  const EventProgram* program = running("a");
  EXPECT_EQ(record(program, 1), kRingPublished);
  ASSERT_TRUE(enable(top(), a, false).ok());
  EXPECT_EQ(record(program, 2), kRingOff) << "a thread that is late with the old program";
  EXPECT_EQ(records(top().buffer.get()).size(), 1u);
  ASSERT_TRUE(enable(top(), a).ok());
  EXPECT_EQ(running("a"), program) << "nothing changed: the same program again";
  EXPECT_EQ(record(program, 3), kRingPublished);
}

TEST_F(Registries, GoesOnBehindAnEventThatItsSourceRefuses) {
  FakeSource other;
  LiveEvent* a = add("sys", "a", &source_);
  LiveEvent* b = add("sys", "b", &other);
  std::vector<LiveEvent*> both{a, b};
  other.always_refuse = true;  // with the other one, and alone
  Status status = registry_->set_enabled(top(), both, true);
  other.always_refuse = false;
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().message(), "could not patch");
  EXPECT_EQ(source_.running["a"].size(), 1u);
  EXPECT_TRUE(b->programs.empty());
  EXPECT_EQ(registry_->summary(top(), "sys"), 'X');
  ASSERT_TRUE(registry_->set_enabled(top(), both, true).ok());
  EXPECT_EQ(registry_->summary(top(), "sys"), '1');
}

TEST_F(Registries, ARefusedFilterLeavesTheOldOneInForce) {
  LiveEvent* a = add("sys", "a", &source_);
  ASSERT_TRUE(enable(top(), a).ok());
  ASSERT_TRUE(registry_->set_filter(top(), a, "a == 1").ok());
  const EventProgram* before = running("a");
  source_.refuse = 1;
  EXPECT_EQ(error_of(registry_->set_filter(top(), a, "a == 2")), EIO);
  EXPECT_EQ(a->programs, std::vector<const EventProgram*>{before});
  EXPECT_EQ(registry_->show_filter(top(), a), "a == 1\n");
  EXPECT_EQ(record(before, 1), kRingPublished);
}

// --- set_event

TEST_F(Registries, UnderstandsTheWordsOfSetEvent) {
  add("sched", "switch", &source_);
  add("sched", "wakeup", &source_);
  add("net", "rx", &source_);
  const std::string all = "sched:switch\nsched:wakeup\nnet:rx\n";
  const struct {
    const char* word;
    int error;
    const char* shown;
  } rows[] = {
      {"switch", 0, "sched:switch\n"},
      {"sched", 0, "sched:switch\nsched:wakeup\n"},
      {"sched:", 0, "sched:switch\nsched:wakeup\n"},
      {"sched:*", 0, "sched:switch\nsched:wakeup\n"},
      {"*:*", 0, all.c_str()},
      {"*:", 0, all.c_str()},
      {":", 0, all.c_str()},
      {":rx", 0, "net:rx\n"},
      {"*:rx", 0, "net:rx\n"},
      {"net:rx", 0, "net:rx\n"},
      {"*", EINVAL, ""},
      {"sw*", EINVAL, ""},
      {"sched:rx", EINVAL, ""},
      {"ftrace:print", EINVAL, ""},
      {"nosuch", EINVAL, ""},
      {"!nosuch", EINVAL, ""},
      {"!switch", 0, ""},
  };
  for (const auto& row : rows) {
    EXPECT_EQ(set_event(top(), row.word), row.error) << row.word;
    EXPECT_EQ(registry_->show_set_event(top()), row.shown) << row.word;
    ASSERT_TRUE(registry_->clear_set_event(top()).ok());
  }
}

TEST_F(Registries, RequestsWaitForTheirModule) {
  EXPECT_EQ(set_event(top(), "sys:*:mod:lib-x"), 0);
  EXPECT_EQ(set_event(top(), ":mod:lib-y"), 0);
  EXPECT_EQ(set_event(top(), "ev:mod:lib-x"), 0);
  EXPECT_EQ(registry_->show_set_event(top()), "sys:*:mod:lib_x\n*:*:mod:lib_y\nev:mod:lib_x\n");
  EXPECT_EQ(set_event(top(), "!ev:mod:lib_x"), 0);
  EXPECT_EQ(set_event(top(), "!ev:mod:lib_x"), EINVAL);
  add("sys", "ev", &source_, "lib-x.so.2");
  add("other", "ev", &source_, "lib-x.so.2");
  registry_->module_loaded("lib-x.so.2");
  EXPECT_EQ(registry_->show_set_event(top()), "sys:ev\n*:*:mod:lib_y\n");
  EXPECT_EQ(set_event(top(), "nosuch:mod:lib-x"), EINVAL) << "it is loaded and has no such event";
  EXPECT_EQ(set_event(top(), "!:mod:lib-x.so.2"), 0);
  ASSERT_TRUE(registry_->clear_set_event(top()).ok());
  EXPECT_EQ(registry_->show_set_event(top()), "");
}

// --- filters

TEST_F(Registries, FiltersAreShownAndRun) {
  LiveEvent* a = add("sys", "a", &source_);
  EXPECT_EQ(registry_->show_filter(top(), a), "none\n");
  ASSERT_TRUE(registry_->set_filter(top(), a, " a > 3 && text == \"x\"  \n").ok());
  EXPECT_EQ(registry_->show_filter(top(), a), " a > 3 && text == \"x\"\n");
  ASSERT_TRUE(enable(top(), a).ok());
  ASSERT_NE(running("a")->filter, nullptr);
  const EventProgram* filtered = running("a");
  ASSERT_TRUE(registry_->set_filter(top(), a, " 0 ").ok());
  EXPECT_EQ(registry_->show_filter(top(), a), "none\n");
  EXPECT_EQ(running("a")->filter, nullptr);
  EXPECT_EQ(record(filtered, 9), kRingOff);
}

TEST_F(Registries, AFailedFilterSwitchesFilteringOff) {
  LiveEvent* a = add("sys", "a", &source_);
  ASSERT_TRUE(enable(top(), a).ok());
  ASSERT_TRUE(registry_->set_filter(top(), a, "a == 1").ok());
  EXPECT_EQ(error_of(registry_->set_filter(top(), a, "nosuch == 1")), EINVAL);
  EXPECT_EQ(running("a")->filter, nullptr);
  EXPECT_EQ(registry_->show_filter(top(), a),
            "nosuch == 1\n       ^\nparse_error: Field not found\n\n");
  const std::string log = top().errors.show();
  EXPECT_NE(log.find("] event filter parse error: error: Field not found\n"
                     "  Command: nosuch == 1\n                  ^\n"),
            log.npos)
      << log;
  EXPECT_EQ(error_of(registry_->set_filter(top(), a, "\n")), EINVAL);
  EXPECT_NE(top().errors.show().find("parse error: error: Error\n  Command: \n           ^\n"),
            std::string::npos);
}

TEST_F(Registries, ASystemFilterKeepsWhatItDoesNotFit) {
  LiveEvent* a = add("sys", "a", &source_);
  LiveEvent* b = add("sys", "b", &source_);
  b->call.fields[0].name = "b";
  ASSERT_TRUE(registry_->set_filter(top(), b, "b == 7").ok());
  ASSERT_TRUE(registry_->set_system_filter(top(), "sys", "a == 5").ok());
  EXPECT_EQ(registry_->show_filter(top(), a), "a == 5\n");
  EXPECT_EQ(registry_->show_filter(top(), b), "b == 7\n");
  EXPECT_NE(
      top().errors.show().find("error: Couldn't find or set field in one of a subsystem's events\n"
                               "  Command: a == 5\n           ^\n"),
      std::string::npos);
  ASSERT_TRUE(registry_->set_system_filter(top(), "sys", "nosuch = 5").ok());
  EXPECT_EQ(registry_->show_filter(top(), a), "a == 5\n");
  ASSERT_TRUE(registry_->set_system_filter(top(), "sys", "0").ok());
  EXPECT_EQ(registry_->show_filter(top(), a), "none\n");
  EXPECT_EQ(registry_->show_filter(top(), b), "none\n");
}

// --- tasks

TEST_F(Registries, ListsOfTasks) {
  EXPECT_EQ(error_of(registry_->add_pids(top(), PidList::kTrace, "7 0x10 010\n")), 0);
  EXPECT_EQ(top().pids, (std::vector<uint32_t>{7, 8, 16}));
  for (const char* bad : {"1 2 x", "-1", "1x", "99999999999999999999999"})
    EXPECT_EQ(error_of(registry_->add_pids(top(), PidList::kTrace, bad)), EINVAL) << bad;
  EXPECT_EQ(error_of(registry_->add_pids(top(), PidList::kTrace, "4000000000")), EPERM);
  EXPECT_EQ(top().pids, (std::vector<uint32_t>{7, 8, 16}));
  LiveEvent* a = add("sys", "a", &source_);
  ASSERT_TRUE(enable(top(), a).ok());
  ASSERT_NE(running("a")->pids, nullptr);
  EXPECT_TRUE(pid_set_has(running("a")->pids, 16));
  EXPECT_FALSE(pid_set_has(running("a")->pids, 17));
  ASSERT_TRUE(registry_->add_pids(top(), PidList::kNotrace, "17").ok());
  EXPECT_TRUE(pid_set_has(running("a")->notrace_pids, 17));
  ASSERT_TRUE(registry_->clear_pids(top(), PidList::kTrace).ok());
  EXPECT_EQ(running("a")->pids, nullptr);
  EXPECT_NE(running("a")->notrace_pids, nullptr);
}

TEST_F(Registries, ChildrenOfListedTasksAreFollowed) {
  LiveEvent* a = add("sys", "a", &source_);
  ASSERT_TRUE(enable(top(), a).ok());
  ASSERT_TRUE(registry_->add_pids(top(), PidList::kTrace, "100").ok());
  registry_->task_forked(100, 101);
  EXPECT_EQ(top().pids, std::vector<uint32_t>{100}) << "only with event-fork";
  ASSERT_TRUE(registry_->set_option(top(), TraceOption::kEventFork, true).ok());
  const int updates = source_.updates;
  registry_->task_forked(100, 101);
  registry_->task_forked(101, 102);
  registry_->task_forked(7, 8);
  EXPECT_EQ(source_.updates, updates) << "the table changes in place";
  EXPECT_EQ(top().pids, (std::vector<uint32_t>{100, 101, 102}));
  EXPECT_TRUE(pid_set_has(running("a")->pids, 102));
  for (uint32_t pid : {100u, 101u, 102u}) registry_->task_exited(pid);
  EXPECT_TRUE(top().pids.empty());
  ASSERT_NE(running("a")->pids, nullptr) << "nobody left is not everybody";
  EXPECT_FALSE(pid_set_has(running("a")->pids, 100));
}

TEST_F(Registries, ManyChildrenGetALargerTable) {
  LiveEvent* a = add("sys", "a", &source_);
  ASSERT_TRUE(enable(top(), a).ok());
  ASSERT_TRUE(registry_->set_option(top(), TraceOption::kEventFork, true).ok());
  ASSERT_TRUE(registry_->add_pids(top(), PidList::kTrace, "1").ok());
  for (uint32_t child = 2; child < 3000; child++) {
    registry_->task_forked(1, child);
    if (child % 3 == 0) registry_->task_exited(child);
  }
  for (uint32_t child = 2; child < 3000; child++)
    ASSERT_EQ(pid_set_has(running("a")->pids, child), child % 3 != 0) << child;
}

TEST_F(Registries, BothTasksOfASwitchCount) {
  auto event = std::make_unique<LiveEvent>();
  event->call.system = "sched";
  event->call.name = "sched_switch";
  event->call.fields = {{"pid_t", "prev_pid", 24, 4, true, 0, {}},
                        {"pid_t", "next_pid", 56, 4, true, 0, {}}};
  event->source = &source_;
  event->max_size = 64;
  LiveEvent* live = *registry_->add_event(std::move(event));
  ASSERT_TRUE(enable(top(), live).ok());
  EXPECT_EQ(running("sched_switch")->pid_field[0], 24);
  EXPECT_EQ(running("sched_switch")->pid_field[1], 56);
}

// --- instances

TEST_F(Registries, InstancesAreIndependent) {
  LiveEvent* a = add("sys", "a", &source_);
  TraceArray* one = *registry_->create_array("one");
  TraceArray* two = *registry_->create_array("two");
  ASSERT_TRUE(enable(*one, a).ok());
  ASSERT_TRUE(registry_->set_filter(*two, a, "a == 2").ok());
  ASSERT_TRUE(enable(*two, a).ok());
  ASSERT_EQ(source_.running["a"].size(), 2u);
  EXPECT_EQ(running("a", 0)->filter, nullptr);
  EXPECT_NE(running("a", 1)->filter, nullptr);
  EXPECT_EQ(record(running("a", 0), 1), kRingPublished);
  EXPECT_EQ(records(one->buffer.get()).size(), 1u);
  EXPECT_EQ(records(two->buffer.get()).size(), 0u);
  EXPECT_EQ(records(top().buffer.get()).size(), 0u);
  EXPECT_FALSE(registry_->is_enabled(top(), a));
}

TEST_F(Registries, InstancesComeAndGo) {
  LiveEvent* a = add("sys", "a", &source_);
  ASSERT_TRUE(registry_->set_option(top(), TraceOption::kSymOffset, true).ok());
  TraceArray* one = *registry_->create_array("one");
  EXPECT_TRUE(one->options[TraceOption::kSymOffset]);
  EXPECT_FALSE(one->options[TraceOption::kCopyTraceMarker]);
  EXPECT_EQ(registry_->create_array("one").error().errno_value, EEXIST);
  for (std::string bad : {"", ".", "..", "a/b"})
    EXPECT_EQ(registry_->create_array(bad).error().errno_value, EINVAL) << bad;
  ASSERT_TRUE(enable(*one, a).ok());
  const EventProgram* program = running("a");
  one->references++;
  EXPECT_EQ(error_of(registry_->remove_array("one")), EBUSY);
  one->references--;
  ASSERT_TRUE(registry_->remove_array("one").ok());
  EXPECT_EQ(error_of(registry_->remove_array("one")), ENOENT);
  EXPECT_EQ(registry_->find_array("one"), nullptr);
  EXPECT_TRUE(source_.running["a"].empty());
  EXPECT_EQ(record(program, 1), kRingOff);
  EXPECT_FALSE(std::filesystem::exists(directory_ + "/instances/one"));
  EXPECT_TRUE(registry_->create_array("one").ok());
}

TEST_F(Registries, AnInstanceThatNeverRecordedReservesNothing) {
  TraceArray* one = *registry_->create_array("one");
  struct stat before = {}, after = {};
  ASSERT_EQ(::stat(one->buffer->path().c_str(), &before), 0);
  EXPECT_LT(before.st_blocks * 512, 64 * 1024);
  ASSERT_TRUE(enable(*one, add("sys", "a", &source_)).ok());
  ASSERT_EQ(::stat(one->buffer->path().c_str(), &after), 0);
  EXPECT_GT(after.st_blocks * 512, 64 * 1024);
}

TEST_F(Registries, AnInstanceMayHaveSomeSystemsOnly) {
  LiveEvent* a = add("net", "a", &source_);
  LiveEvent* b = add("sys", "b", &source_);
  TraceArray* one = *registry_->create_array("one", {"net"});
  EXPECT_EQ(registry_->systems(*one), std::vector<std::string>{"net"});
  EXPECT_EQ(registry_->events_of(*one, ""), std::vector<LiveEvent*>{a});
  ASSERT_TRUE(enable(*one, b).ok());
  EXPECT_FALSE(registry_->is_enabled(*one, b));
  EXPECT_EQ(set_event(*one, "sys:b"), EINVAL);
  EXPECT_EQ(registry_->systems(top()), (std::vector<std::string>{"ftrace", "net", "sys"}));
}

// --- settings

TEST_F(Registries, RecordingIsSwitchedPerInstance) {
  LiveEvent* a = add("sys", "a", &source_);
  EXPECT_FALSE(top().buffer->expanded());
  ASSERT_TRUE(registry_->set_tracing_on(top(), false).ok());
  ASSERT_TRUE(enable(top(), a).ok());
  EXPECT_TRUE(top().buffer->expanded());
  EXPECT_EQ(record(running("a"), 1), kRingOff);
  ASSERT_TRUE(registry_->set_tracing_on(top(), true).ok());
  EXPECT_EQ(record(running("a"), 1), kRingPublished);
  ASSERT_TRUE(registry_->set_paused(top(), true).ok());
  EXPECT_EQ(record(running("a"), 1), kRingOff);
  ASSERT_TRUE(registry_->set_tracing_on(top(), true).ok());
  EXPECT_EQ(record(running("a"), 1), kRingOff) << "still paused";
  ASSERT_TRUE(registry_->set_paused(top(), false).ok());
  EXPECT_EQ(record(running("a"), 1), kRingPublished);
}

TEST_F(Registries, ResizingPointsProgramsToTheNewRings) {
  LiveEvent* a = add("sys", "a", &source_);
  ASSERT_TRUE(enable(top(), a).ok());
  EXPECT_EQ(record(running("a"), 1), kRingPublished);
  ASSERT_TRUE(registry_->resize(top(), {}, 256).ok());
  EXPECT_EQ(running("a")->rings, top().buffer->rings());
  EXPECT_EQ(record(running("a"), 2), kRingPublished);
  EXPECT_EQ(records(top().buffer.get()).size(), 2u);
  EXPECT_EQ(error_of(registry_->resize(top(), {}, 0)), EINVAL);
  top().trace_readers++;
  EXPECT_EQ(error_of(registry_->resize(top(), {}, 64)), EBUSY);
  EXPECT_EQ(error_of(registry_->set_subbuf_size(top(), 8)), EBUSY);
  top().trace_readers--;
  ASSERT_TRUE(registry_->set_subbuf_size(top(), 5).ok());
  EXPECT_EQ(top().buffer->rings()->subbuf_size, 8192u);
  EXPECT_EQ(error_of(registry_->set_subbuf_size(top(), 0)), EINVAL);
  EXPECT_EQ(error_of(registry_->set_subbuf_size(top(), 513)), EINVAL);
}

// A thread may be on its way with the old program; the one in its place decides what it records.
TEST_F(Registries, WhatIsReplacedGoesOnByWhatTakesItsPlace) {
  LiveEvent* a = add("sys", "a", &source_);
  ASSERT_TRUE(enable(top(), a).ok());
  const EventProgram* first = running("a");
  ASSERT_TRUE(registry_->set_option(top(), TraceOption::kStackTrace, true).ok());
  const EventProgram* second = running("a");
  ASSERT_NE(first, second);
  EXPECT_EQ(record_late(first, 1), kRingPublished);
  ASSERT_TRUE(registry_->resize(top(), {}, 256).ok());
  EXPECT_EQ(record_late(first, 2), kRingPublished);
  ASSERT_TRUE(registry_->set_filter(top(), a, "a == 3").ok());
  for (const EventProgram* old : {first, second}) {
    EXPECT_EQ(old->rings, RingBuffer::dead_rings()) << "it would record what the filter rejects";
    EXPECT_EQ(record_late(old, 3), kRingPublished);
    EXPECT_EQ(record_late(old, 4), kRingOff);
  }
  ASSERT_TRUE(registry_->add_pids(top(), Registry::PidList::kTrace, "1").ok());
  EXPECT_EQ(record_late(first, 3), kRingOff) << "of another thread";
  ASSERT_TRUE(registry_->clear_pids(top(), Registry::PidList::kTrace).ok());
  EXPECT_EQ(record_late(first, 3), kRingPublished);
  ASSERT_TRUE(registry_->set_enabled(top(), std::span(&a, 1), false).ok());
  EXPECT_EQ(record_late(first, 3), kRingOff);
  EXPECT_EQ(records(top().buffer.get()).size(), 5u);
}

TEST_F(Registries, SnapshotMatrix) {
  LiveEvent* a = add("sys", "a", &source_);
  ASSERT_TRUE(enable(top(), a).ok());
  record(running("a"), 1);
  EXPECT_EQ(error_of(registry_->write_snapshot(top(), {}, 2)), 0);
  EXPECT_EQ(top().snapshot, nullptr) << "clearing allocates nothing";
  EXPECT_EQ(error_of(registry_->write_snapshot(top(), 0, 0)), EINVAL);
  EXPECT_EQ(error_of(registry_->write_snapshot(top(), 0, 1)), EINVAL);
  top().snapshot_readers++;
  EXPECT_EQ(error_of(registry_->write_snapshot(top(), {}, 1)), EBUSY);
  top().snapshot_readers--;
  top().trace_readers++;  // does not matter: the main buffer keeps its size
  ASSERT_TRUE(registry_->write_snapshot(top(), {}, 1).ok());
  ASSERT_NE(top().snapshot, nullptr);
  EXPECT_EQ(records(top().snapshot.get()).size(), 1u);
  EXPECT_EQ(records(top().buffer.get()).size(), 0u);
  const std::string path = top().snapshot->path();
  top().trace_readers--;
  top().snapshot_readers++;
  EXPECT_EQ(error_of(registry_->write_snapshot(top(), {}, 1)), 0) << "the memory is there";
  ASSERT_TRUE(registry_->write_snapshot(top(), {}, 2).ok());
  EXPECT_EQ(records(top().snapshot.get()).size(), 0u);
  ASSERT_TRUE(registry_->write_snapshot(top(), {}, 0).ok());
  EXPECT_EQ(top().snapshot, nullptr);
  EXPECT_FALSE(std::filesystem::exists(path));
  top().snapshot_readers--;
}

TEST_F(Registries, OneInstanceIsWhereTracePrintkGoes) {
  TraceArray* one = *registry_->create_array("one");
  EXPECT_EQ(error_of(registry_->set_option(top(), TraceOption::kTracePrintkDest, false)), EINVAL);
  ASSERT_TRUE(registry_->set_option(*one, TraceOption::kTracePrintkDest, true).ok());
  EXPECT_FALSE(top().options[TraceOption::kTracePrintkDest]);
  ASSERT_TRUE(registry_->remove_array("one").ok());
  EXPECT_TRUE(top().options[TraceOption::kTracePrintkDest]);
}

TEST_F(Registries, NumbersOfSavedCmdlines) {
  for (uint64_t bad : {0ul, 32769ul})
    EXPECT_EQ(error_of(registry_->set_saved_cmdlines_size(bad)), EINVAL);
  ASSERT_TRUE(registry_->set_saved_cmdlines_size(32768).ok());
  EXPECT_EQ(registry_->saved_cmdlines_size(), 32768u);
}

}  // namespace
}  // namespace patchbay
