// SPDX-License-Identifier: MIT
// Synthetic events as the registry has them: what a 6.12 kernel answers to
// the same lines.
#include "registry/events/synthetic_events.h"

#include <algorithm>
#include <cerrno>

#include "probe/triggers/hist_hot.h"
#include "registry/event_filters.h"
#include "registry/event_requests.h"
#include "registry/markers.h"
#include "registry/registry_testing.h"

namespace patchbay {
namespace {

using test::RegistryTest;

class SyntheticEventsTest : public RegistryTest {
 protected:
  void SetUp() override {
    RegistryTest::SetUp();
    if (registry_) synthetic_ = std::make_unique<SyntheticEvents>(*registry_);
  }
  void TearDown() override {
    synthetic_.reset();
    RegistryTest::TearDown();
  }

  static int error_of(const Status& status) { return status.ok() ? 0 : status.error().errno_value; }
  int write(std::string_view line) { return error_of(synthetic_->write_line(line)); }
  int write_dynamic(std::string_view line) {
    return error_of(synthetic_->write_dynamic_line(line));
  }
  LiveEvent* find(std::string_view name) { return registry_->find_event("synthetic", name); }

  std::unique_ptr<SyntheticEvents> synthetic_;
};

TEST_F(SyntheticEventsTest, LinesComeAndGo) {
  EXPECT_EQ(write("one u64 a"), 0);
  EXPECT_EQ(write("two u64 a; char b[16]  # and a comment"), 0);
  EXPECT_EQ(write("# only a comment"), 0);
  EXPECT_EQ(write("   "), 0);
  EXPECT_EQ(synthetic_->show(), "one\tu64 a\ntwo\tu64 a; char[16] b\n");
  EXPECT_EQ(synthetic_->show_dynamic(),
            "s:synthetic/one\tu64 a\ns:synthetic/two\tu64 a; char[16] b\n");
  ASSERT_NE(find("two"), nullptr);
  EXPECT_NE(find("two")->call.format_text().find("field:char b[];\toffset:16;\tsize:16;"),
            std::string::npos);
  EXPECT_TRUE(synthetic_->has("one"));

  EXPECT_EQ(write("!nosuch u64 a"), ENOENT);
  EXPECT_EQ(write("!"), ENOENT);
  EXPECT_EQ(write("! one"), ENOENT);
  EXPECT_EQ(write("!one; u64 a"), ENOENT);
  EXPECT_EQ(write("!one whatever stands here"), 0);
  EXPECT_FALSE(synthetic_->has("one"));
  EXPECT_EQ(find("one"), nullptr);
  EXPECT_EQ(write("!two"), 0);
  EXPECT_EQ(synthetic_->show(), "");
  EXPECT_EQ(top().errors.show(), "") << "a removal that fails leaves no entry";
}

TEST_F(SyntheticEventsTest, LinesOfDynamicEvents) {
  EXPECT_EQ(write_dynamic("s:dy u64 a"), 0);
  EXPECT_EQ(write_dynamic("s:synthetic/dy2 u64 a; int b"), 0);
  EXPECT_EQ(write_dynamic("s:junk/ev u64 a"), EINVAL);
  EXPECT_EQ(synthetic_->show(), "dy\tu64 a\ndy2\tu64 a; int b\n");
  EXPECT_EQ(error_of(synthetic_->remove("dy2")), 0);
  EXPECT_EQ(error_of(synthetic_->remove("dy2")), ENOENT);
  EXPECT_EQ(error_of(synthetic_->clear()), 0);
  EXPECT_EQ(synthetic_->show_dynamic(), "");
}

TEST_F(SyntheticEventsTest, ErrorsHaveTheirEntry) {
  EXPECT_EQ(write("ev foo a"), EINVAL);
  std::string log = top().errors.show();
  EXPECT_NE(log.find("] synthetic_events: error: Invalid type\n  Command: ev foo a\n"
                     "              ^\n"),
            std::string::npos)
      << log;
  EXPECT_EQ(write("one u64 a"), 0);
  EXPECT_EQ(write("one u64 a; int b"), EEXIST);
  log = top().errors.show();
  EXPECT_NE(log.find("error: Event already exists\n  Command: one u64 a; int b\n           ^\n"),
            std::string::npos)
      << log;
}

TEST_F(SyntheticEventsTest, EventsInUseStay) {
  EXPECT_EQ(write("first u64 a"), 0);
  EXPECT_EQ(write("second u64 a"), 0);
  ASSERT_TRUE(enable(top(), find("second")).ok());
  ASSERT_EQ(find("second")->programs.size(), 1u) << "what makes its records finds them here";
  EXPECT_EQ(write("!second"), EBUSY);
  EXPECT_EQ(error_of(synthetic_->clear()), EBUSY);
  EXPECT_TRUE(synthetic_->has("first")) << "all or none";
  ASSERT_TRUE(enable(top(), find("second"), false).ok());
  find("first")->references++;
  EXPECT_EQ(write("!first"), EBUSY);
  EXPECT_EQ(error_of(synthetic_->clear()), EBUSY);
  find("first")->references--;
  EXPECT_EQ(error_of(synthetic_->clear()), 0);
}

TEST_F(SyntheticEventsTest, OnlyWhatGoesWithItsModuleIsOnAgain) {
  const int object = 0;
  auto other = registry_->create_array("other");
  ASSERT_TRUE(other.ok());
  const auto make = [&] {
    ASSERT_TRUE(synthetic_->run_command("ev int a;", {&object, "plug.so"}).ok());
    registry_->requests().module_loaded("plug.so");
  };
  make();
  ASSERT_TRUE(enable(top(), find("ev")).ok());
  ASSERT_TRUE(enable(**other, find("ev")).ok());
  EXPECT_TRUE(synthetic_->remove_forced(find("ev")));
  EXPECT_FALSE(registry_->requests().waiting()) << "ended by its owner";
  make();
  EXPECT_FALSE(registry_->is_enabled(top(), find("ev")));
  EXPECT_FALSE(registry_->is_enabled(**other, find("ev")));
  ASSERT_TRUE(enable(top(), find("ev")).ok());
  synthetic_->remove_owned(&object);
  EXPECT_TRUE(registry_->requests().waiting()) << "gone with its module";
  make();
  EXPECT_TRUE(registry_->is_enabled(top(), find("ev")));
}

// One target for all instances, there from the beginning; each records, with its own filter.
TEST_F(SyntheticEventsTest, HitsAreRecordedWhereTheyAreWanted) {
  EXPECT_EQ(write("ev u64 a"), 0);
  LiveEvent* event = find("ev");
  auto other = registry_->create_array("other");
  ASSERT_TRUE(other.ok());
  const auto* target = static_cast<const SyntheticTarget*>(event->data);
  ASSERT_NE(target, nullptr);
  const auto hit = [&](uint64_t value) {
    uint64_t record[2] = {0, value};
    synthetic_hit(target, {nullptr, nullptr, 42}, reinterpret_cast<uint8_t*>(record),
                  sizeof record);
  };
  hit(1);
  ASSERT_TRUE(enable(top(), event).ok());
  hit(2);
  ASSERT_TRUE(enable(**other, event).ok());
  ASSERT_TRUE(registry_->filters().set(**other, event, "a > 3").ok());
  hit(3);
  hit(4);
  ASSERT_TRUE(enable(top(), event, false).ok());
  hit(5);
  const auto values = [&](TraceArray& array) {
    std::vector<uint64_t> found;
    for (const std::string& record : records(array.buffer.get()))
      found.push_back(*reinterpret_cast<const uint64_t*>(record.data() + 8));
    std::sort(found.begin(), found.end());  // the thread may have moved
    return found;
  };
  EXPECT_EQ(values(top()), (std::vector<uint64_t>{2, 3, 4}));
  EXPECT_EQ(values(**other), (std::vector<uint64_t>{4, 5}));
  EXPECT_EQ(records((*other)->buffer.get())[0].substr(4, 4), std::string("\x2a\0\0\0", 4));
}

TEST_F(SyntheticEventsTest, InjectedRecords) {
  EXPECT_EQ(write("ev char c[16]; pid_t p; char d[]; long st[]"), 0);
  Markers::Writer writer;
  writer.tid = 7;
  writer.cpu = 0;
  ASSERT_TRUE(
      registry_->markers().inject(top(), find("ev"), "c=\"sh\" p=-5 d=\"text\"", writer).ok());
  std::vector<std::string> found = records(top().buffer.get());
  ASSERT_EQ(found.size(), 1u);
  // c at 8, p at 264, the words of d and st at 272 and 280, the text behind.
  EXPECT_EQ(found[0].substr(8, 3), std::string("sh\0", 3));
  EXPECT_EQ(found[0].substr(264, 4), "\xfb\xff\xff\xff");
  EXPECT_EQ(found[0].substr(272, 8), std::string("\x20\x01\x05\0\0\0\0\0", 8));
  EXPECT_EQ(found[0].substr(280, 8), std::string(8, '\0'));
  EXPECT_EQ(found[0].substr(288), std::string("text\0\0\0\0", 8));
}

TEST_F(SyntheticEventsTest, LargerThanASubBufferCanBeEnabled) {
  std::string line = "big";
  for (int i = 0; i < 64; i++) line += (i ? "; char a" : " char a") + std::to_string(i) + "[256]";
  EXPECT_EQ(write(line), 0);
  EXPECT_TRUE(enable(top(), find("big")).ok());
  EXPECT_FALSE(registry_->markers().inject(top(), find("big"), "a0=\"x\"", {}).ok());
}

}  // namespace
}  // namespace patchbay
