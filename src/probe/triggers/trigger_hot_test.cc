// SPDX-License-Identifier: MIT
// In which order triggers run, what of them runs, and that their counts are exact.
#include "probe/triggers/trigger_hot.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <deque>
#include <thread>
#include <vector>

#include "base/shared_memory.h"
#include "probe/triggers/action_hot.h"
#include "ring_buffer/ring_buffer.h"

namespace patchbay {
namespace {

// "The first byte behind the header is 7", without a compiler of filters.
bool is_seven(const uint8_t* record, uint32_t size) { return size > 8 && record[8] == 7; }
const FilterProgram kIsSeven = {is_seven, nullptr, 0, 9};

class TriggerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/dev/shm/patchbay_trigger_XXXXXX";
    ASSERT_NE(::mkdtemp(name), nullptr);
    directory_ = name;
    RingBufferOptions options;
    options.path = directory_ + "/buffer";
    options.bytes_per_cpu = 64 * 1024;
    auto made = RingBuffer::create(options);
    ASSERT_TRUE(made.ok()) << made.error().message();
    buffer_ = std::move(*made);
    ASSERT_TRUE(buffer_->enable().ok());
    soft_ = make_shared_forever<uint32_t>();
    event_.rings = buffer_->rings();
  }
  void TearDown() override {
    buffer_->remove_file();
    buffer_.reset();
    ::rmdir(directory_.c_str());
  }
  HitAction* action(ActionKind kind, int64_t count = -1) {
    auto* made = make_shared_forever<HitAction>();
    made->kind = kind;
    made->of_trigger = true;
    made->limited = count != -1;
    made->count = count;
    made->soft = soft_;
    return made;
  }
  void use(std::vector<Trigger> list) {
    const size_t bytes = sizeof(TriggerProgram) + list.size() * sizeof(Trigger);
    memory_.push_back(std::make_unique<uint64_t[]>((bytes + 7) / 8));
    auto* program = reinterpret_cast<TriggerProgram*>(memory_.back().get());
    program->has_early = 1;
    for (const Trigger& one : list) {
      program->trigger[program->nr_triggers++] = one;
      if (one.filter || one.after) program->has_early = 0;
    }
    event_.triggers = program;
  }
  static Trigger trigger(HitAction* action, bool after = false,
                         const FilterProgram* filter = nullptr) {
    Trigger made = {};
    made.kind = TriggerKind::kAction;
    made.after = after;
    made.filter = filter;
    made.action = action;
    return made;
  }
  // All of a hit but the record. The answer: would it have been made?
  bool hit(uint8_t value = 7) {
    const TriggerHit one = {&event_, &start_, 1};
    if (!trigger_early(one)) return false;
    const uint8_t record[12] = {0, 0, 0, 0, 0, 0, 0, 0, value};
    const uint64_t matched = trigger_before(one, record, sizeof record);
    const bool is_on = buffer_->is_recording() && (!event_.has_soft || *soft_);
    trigger_after(one, record, sizeof record, matched);
    return is_on;
  }

  std::string directory_;
  std::unique_ptr<RingBuffer> buffer_;
  uint32_t* soft_ = nullptr;
  EventProgram event_ = {};
  const StackStart start_ = {};
  std::deque<std::unique_ptr<uint64_t[]>> memory_;
};

TEST_F(TriggerTest, TraceoffComesBehindTheRecord) {
  use({trigger(action(ActionKind::kTraceOff), true)});
  EXPECT_TRUE(hit());
  EXPECT_FALSE(buffer_->is_recording());
}

TEST_F(TriggerTest, TraceonComesBeforeTheRecord) {
  ring_switch(buffer_->rings(), false);
  use({trigger(action(ActionKind::kTraceOn))});
  EXPECT_TRUE(hit());
}

TEST_F(TriggerTest, AFilterDecides) {
  HitAction* on = action(ActionKind::kEnableEvent, 5);
  use({trigger(on, false, &kIsSeven)});
  hit(6);
  EXPECT_EQ(*soft_, 0u);
  hit(7);
  EXPECT_EQ(*soft_, 1u);
  EXPECT_EQ(on->count, 4);
}

// The kernel's: without a trigger that needs the record, the event looks first whether it is off.
TEST_F(TriggerTest, AnEventThatSwitchesItselfOn) {
  event_.has_soft = 1;
  event_.soft = soft_;
  use({trigger(action(ActionKind::kEnableEvent))});
  EXPECT_FALSE(hit()) << "from the next one on";
  EXPECT_TRUE(hit());
  *soft_ = 0;
  use({trigger(action(ActionKind::kEnableEvent), false, &kIsSeven)});
  EXPECT_FALSE(hit(6));
  EXPECT_TRUE(hit(7)) << "at once";
}

TEST_F(TriggerTest, AnEventThatSwitchesItselfOff) {
  event_.has_soft = 1;
  event_.soft = soft_;
  for (const FilterProgram* filter : {static_cast<const FilterProgram*>(nullptr), &kIsSeven}) {
    *soft_ = 1;
    use({trigger(action(ActionKind::kDisableEvent), false, filter)});
    EXPECT_FALSE(hit());
  }
}

// A filter of one makes all of them wait for the record.
TEST_F(TriggerTest, AllRunOnce) {
  HitAction *first = action(ActionKind::kEnableHist, 9),
            *second = action(ActionKind::kEnableHist, 9),
            *third = action(ActionKind::kEnableHist, 9);
  first->word = second->word = third->word = 1;
  use({trigger(first), trigger(second, false, &kIsSeven), trigger(third)});
  hit(6);
  EXPECT_EQ(first->count, 8);
  EXPECT_EQ(second->count, 9);
  EXPECT_EQ(third->count, 8);
  use({trigger(first), trigger(third)});
  hit(6);
  EXPECT_EQ(first->count, 7);
  EXPECT_EQ(third->count, 7);
}

TEST_F(TriggerTest, WhatIsRemovedDoesNothing) {
  HitAction* off = action(ActionKind::kTraceOff);
  use({trigger(off, true)});
  off->off = 1;
  hit();
  EXPECT_TRUE(buffer_->is_recording());
}

TEST_F(TriggerTest, LateOnesAreFoundBehindManyOthers) {
  std::vector<Trigger> list;
  for (int i = 0; i < 100; i++) list.push_back(trigger(action(ActionKind::kEnableEvent)));
  list.push_back(trigger(action(ActionKind::kTraceOff), true));
  use(list);
  EXPECT_TRUE(hit());
  EXPECT_FALSE(buffer_->is_recording());
}

TEST_F(TriggerTest, HoweverManyAreLateTheyStayBehindTheRecord) {
  std::vector<HitAction*> always, of_seven;
  std::vector<Trigger> list;
  for (int i = 0; i < 100; i++) {
    HitAction* counted = action(ActionKind::kEnableHist, 9);
    counted->word = 1;
    (i % 2 ? of_seven : always).push_back(counted);
    list.push_back(trigger(counted, true, i % 2 ? &kIsSeven : nullptr));
  }
  list.push_back(trigger(action(ActionKind::kTraceOff), true, &kIsSeven));
  use(list);
  EXPECT_TRUE(hit(6));
  EXPECT_TRUE(buffer_->is_recording());
  EXPECT_TRUE(hit(7)) << "it goes off behind this record";
  EXPECT_FALSE(buffer_->is_recording());
  for (const HitAction* one : always) EXPECT_EQ(one->count, 7);
  for (const HitAction* one : of_seven) EXPECT_EQ(one->count, 8);
}

TEST_F(TriggerTest, ACountBelowZeroActs) {
  HitAction* on = action(ActionKind::kTraceOff, -2);
  use({trigger(on, true)});
  hit();
  EXPECT_EQ(on->count, -3);
  EXPECT_FALSE(buffer_->is_recording());
}

TEST_F(TriggerTest, StacksCountAtEveryHit) {
  HitAction* stack = action(ActionKind::kStackTrace, 2);
  use({trigger(stack, true)});
  ring_switch(buffer_->rings(), false);
  hit();
  EXPECT_EQ(stack->count, 1);
}

TEST_F(TriggerTest, CountsAreExactUnderContention) {
  constexpr int kThreads = 8, kHits = 20000;
  HitAction* counted = action(ActionKind::kDisableHist, kThreads * kHits + 5);
  HitAction* few = action(ActionKind::kDisableHist, 1000);
  use({trigger(counted, false, &kIsSeven), trigger(few)});
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; i++)
    threads.emplace_back([&] {
      for (int n = 0; n < kHits; n++) hit();
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(counted->count, 5);
  EXPECT_EQ(few->count, 0);
}

TEST_F(TriggerTest, ForkedChildrenShareCounts) {
  HitAction* counted = action(ActionKind::kDisableHist, 3000);
  use({trigger(counted)});
  std::vector<pid_t> children;
  for (int i = 0; i < 2; i++) {
    const pid_t child = ::fork();
    if (child == 0) {
      for (int n = 0; n < 1000; n++) hit();
      ::_exit(0);
    }
    children.push_back(child);
  }
  for (int n = 0; n < 500; n++) hit();
  for (pid_t child : children) ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  EXPECT_EQ(counted->count, 500);
}

}  // namespace
}  // namespace patchbay
