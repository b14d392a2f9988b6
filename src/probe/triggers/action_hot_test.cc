// SPDX-License-Identifier: MIT
// What hits do beside recording: one word is switched, counts are exact however many threads and
// processes hit at once.
#include "probe/triggers/action_hot.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <thread>
#include <vector>

#include "base/shared_memory.h"
#include "base/testing.h"
#include "ring_buffer/ring_buffer.h"

namespace patchbay {
namespace {

class ActionTest : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/dev/shm/patchbay_action_XXXXXX";
    ASSERT_NE(::mkdtemp(name), nullptr);
    directory_ = name;
    RingBufferOptions options;
    options.path = directory_ + "/buffer";
    options.bytes_per_cpu = 64 * 1024;
    auto made = RingBuffer::create(options);
    ASSERT_TRUE(made.ok()) << made.error().message();
    buffer_ = std::move(*made);
    pb_action_bell = make_shared_forever<ActionBell>();
  }
  void TearDown() override {
    buffer_->remove_file();
    buffer_.reset();
    ::rmdir(directory_.c_str());
  }
  HitAction* action(ActionKind kind, int64_t count = -1) {
    auto* made = make_shared_forever<HitAction>();
    made->kind = kind;
    made->limited = count >= 0;
    made->count = count;
    made->stops = buffer_->rings_word();
    return made;
  }
  EventProgram program(HitAction* action) {
    EventProgram made = {};
    made.rings = buffer_->rings();
    made.kind = ConsumerKind::kAction;
    made.action = action;
    return made;
  }
  void hit(const EventProgram& program, uint64_t function = 0) {
    action_run(&program, function, {}, 1);
  }
  void in_threads(int count, const std::function<void()>& body) {
    std::atomic<bool> go{false};
    std::vector<std::thread> threads;
    for (int i = 0; i < count; i++) {
      threads.emplace_back([&] {
        while (!go) std::this_thread::yield();
        body();
      });
    }
    go = true;
    for (std::thread& thread : threads) thread.join();
  }

  std::string directory_;
  std::unique_ptr<RingBuffer> buffer_;
};

TEST_F(ActionTest, SwitchesRecordingAndCountsOnlyChanges) {
  HitAction* off = action(ActionKind::kTraceOff, 2);
  const EventProgram turns_off = program(off), turns_on = program(action(ActionKind::kTraceOn));
  hit(turns_on);
  EXPECT_EQ(off->count, 2);
  hit(turns_off);
  EXPECT_FALSE(buffer_->is_recording());
  hit(turns_off);
  EXPECT_EQ(off->count, 1) << "it was off";
  hit(turns_on);
  EXPECT_TRUE(buffer_->is_recording());
  hit(turns_off);
  EXPECT_EQ(off->count, 0);
  hit(turns_on);
  hit(turns_off);
  EXPECT_TRUE(buffer_->is_recording()) << "nothing is left of the count";
  EXPECT_EQ(off->count, 0);
}

TEST_F(ActionTest, ACountIsExactUnderContention) {
  for (int round = 0; round < 50; round++) {
    HitAction* off = action(ActionKind::kTraceOff, 1);
    const EventProgram turns_off = program(off);
    ring_switch(buffer_->rings(), true);
    in_threads(64, [&] { hit(turns_off); });
    ASSERT_EQ(off->count, 0);
    ASSERT_FALSE(buffer_->is_recording());
  }
}

// Each change of the state is one of the counts: changes to off and to on alternate.
TEST_F(ActionTest, WhatIsLeftIsTheCountLessTheChanges) {
  constexpr int64_t kMany = 1 << 20;
  HitAction *off = action(ActionKind::kTraceOff, kMany), *on = action(ActionKind::kTraceOn, kMany);
  const EventProgram turns_off = program(off), turns_on = program(on);
  std::atomic<int> next{0};
  in_threads(8, [&] {
    const EventProgram& mine = next++ % 2 ? turns_off : turns_on;
    for (int i = 0; i < 20000; i++) hit(mine);
  });
  const int64_t changes_off = kMany - off->count, changes_on = kMany - on->count;
  EXPECT_GT(changes_off, 0);
  EXPECT_EQ(changes_off - changes_on, buffer_->is_recording() ? 0 : 1);
}

TEST_F(ActionTest, ForkedChildrenShareTheCount) {
  HitAction* off = action(ActionKind::kTraceOff, 1);
  const EventProgram turns_off = program(off);
  const int status = test::status_of_child([&] {
    hit(turns_off);
    return 0;
  });
  ASSERT_EQ(status, 0);
  EXPECT_EQ(off->count, 0);
  EXPECT_FALSE(buffer_->is_recording());
}

TEST_F(ActionTest, EventsAreSwitchedByTheirWord) {
  auto* soft = make_shared_forever<uint32_t>();
  HitAction *enable = action(ActionKind::kEnableEvent, 2),
            *disable = action(ActionKind::kDisableEvent);
  enable->soft = disable->soft = soft;
  const EventProgram enables = program(enable), disables = program(disable);
  hit(disables);
  EXPECT_EQ(*soft, 0u);
  hit(enables);
  EXPECT_EQ(*soft, 1u);
  hit(enables);
  EXPECT_EQ(enable->count, 1) << "it was on";
  hit(disables);
  EXPECT_EQ(*soft, 0u);
  in_threads(16, [&] { hit(enables); });
  EXPECT_EQ(*soft, 1u);
  EXPECT_EQ(enable->count, 0);
}

TEST_F(ActionTest, EachFunctionHasItsOwnAction) {
  std::vector<uint64_t> room(2 + 2 * 8);
  auto* table = reinterpret_cast<ActionTable*>(room.data());
  table->mask = 7;
  HitAction* first = action(ActionKind::kTraceOff, 3);
  add_action(table, 0x1000, first);
  add_action(table, 0x2000, action(ActionKind::kTraceOn, 3));
  HitAction* top = action(ActionKind::kTraceOff);
  top->by_function = table;
  const EventProgram commands = program(top);
  hit(commands, 0x3000);
  EXPECT_TRUE(buffer_->is_recording()) << "it has none";
  hit(commands, 0x1000);
  EXPECT_FALSE(buffer_->is_recording());
  EXPECT_EQ(first->count, 2);
  hit(commands, 0x2000);
  EXPECT_TRUE(buffer_->is_recording());
  first->off = 1;
  hit(commands, 0x1000);
  EXPECT_TRUE(buffer_->is_recording()) << "removed";
}

TEST_F(ActionTest, TheControlThreadIsAsked) {
  HitAction *snapshot = action(ActionKind::kSnapshot, 2), *dump = action(ActionKind::kDump, 1);
  const EventProgram snaps = program(snapshot), dumps = program(dump);
  for (int i = 0; i < 3; i++) hit(snaps);
  EXPECT_EQ(snapshot->asked, 2u);
  EXPECT_EQ(pb_action_bell->asked, 2u);
  EXPECT_TRUE(buffer_->is_recording());
  hit(dumps);
  hit(dumps);
  EXPECT_EQ(dump->asked, 1u);
  EXPECT_EQ(pb_action_bell->asked, 3u);
  EXPECT_FALSE(buffer_->is_recording()) << "what is printed ends at the hit";
}

}  // namespace
}  // namespace patchbay
