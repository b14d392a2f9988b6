// SPDX-License-Identifier: MIT
#include <sys/stat.h>

#include <cerrno>
#include <cstring>

#include "registry/event_filters.h"
#include "registry/event_requests.h"
#include "registry/registry_testing.h"
#include "registry/settings.h"
#include "ring_buffer/buffer_file.h"

namespace patchbay {
namespace {

using test::error_of;
using test::FakeSource;

class Registries : public test::OneSourceTest {
 protected:
  std::vector<BufferFile::Meta> meta() {
    auto file = BufferFile::open(top().buffer->path(), false);
    auto log = (*file)->meta();
    return *log;
  }
};

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
  EXPECT_EQ(registry_->requests().show(top()), "");
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
  ASSERT_TRUE(registry_->filters().set(top(), a, "a == 1").ok());
  const EventProgram* before = running("a");
  source_.refuse = 1;
  EXPECT_EQ(error_of(registry_->filters().set(top(), a, "a == 2")), EIO);
  EXPECT_EQ(a->programs, std::vector<const EventProgram*>{before});
  EXPECT_EQ(registry_->filters().show(top(), a), "a == 1\n");
  EXPECT_EQ(record(before, 1), kRingPublished);
}

// --- instances

TEST_F(Registries, InstancesAreIndependent) {
  LiveEvent* a = add("sys", "a", &source_);
  TraceArray* one = *registry_->create_array("one");
  TraceArray* two = *registry_->create_array("two");
  ASSERT_TRUE(enable(*one, a).ok());
  ASSERT_TRUE(registry_->filters().set(*two, a, "a == 2").ok());
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
  ASSERT_TRUE(registry_->settings().set_option(top(), TraceOption::kSymOffset, true).ok());
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
  EXPECT_EQ(error_of(registry_->requests().set(*one, "sys:b")), EINVAL);
  EXPECT_EQ(registry_->systems(top()), (std::vector<std::string>{"ftrace", "net", "sys"}));
}

}  // namespace
}  // namespace patchbay
