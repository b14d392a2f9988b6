// SPDX-License-Identifier: MIT
#include "registry/settings.h"

#include <cerrno>

#include "registry/event_filters.h"
#include "registry/pid_lists.h"
#include "registry/registry_testing.h"

namespace patchbay {
namespace {

using test::error_of;

using SettingsTest = test::OneSourceTest;

TEST_F(SettingsTest, RecordingIsSwitchedPerInstance) {
  LiveEvent* a = add("sys", "a", &source_);
  EXPECT_FALSE(top().buffer->expanded());
  ASSERT_TRUE(registry_->settings().set_tracing_on(top(), false).ok());
  ASSERT_TRUE(enable(top(), a).ok());
  EXPECT_TRUE(top().buffer->expanded());
  EXPECT_EQ(record(running("a"), 1), kRingOff);
  ASSERT_TRUE(registry_->settings().set_tracing_on(top(), true).ok());
  EXPECT_EQ(record(running("a"), 1), kRingPublished);
  ASSERT_TRUE(registry_->settings().set_paused(top(), true).ok());
  EXPECT_EQ(record(running("a"), 1), kRingOff);
  ASSERT_TRUE(registry_->settings().set_tracing_on(top(), true).ok());
  EXPECT_EQ(record(running("a"), 1), kRingOff) << "still paused";
  ASSERT_TRUE(registry_->settings().set_paused(top(), false).ok());
  EXPECT_EQ(record(running("a"), 1), kRingPublished);
}

TEST_F(SettingsTest, ResizingPointsProgramsToTheNewRings) {
  LiveEvent* a = add("sys", "a", &source_);
  ASSERT_TRUE(enable(top(), a).ok());
  EXPECT_EQ(record(running("a"), 1), kRingPublished);
  ASSERT_TRUE(registry_->settings().resize(top(), {}, 256).ok());
  EXPECT_EQ(running("a")->rings, top().buffer->rings());
  EXPECT_EQ(record(running("a"), 2), kRingPublished);
  EXPECT_EQ(records(top().buffer.get()).size(), 2u);
  EXPECT_EQ(error_of(registry_->settings().resize(top(), {}, 0)), EINVAL);
  top().trace_readers++;
  EXPECT_EQ(error_of(registry_->settings().resize(top(), {}, 64)), EBUSY);
  EXPECT_EQ(error_of(registry_->settings().set_subbuf_size(top(), 8)), EBUSY);
  top().trace_readers--;
  ASSERT_TRUE(registry_->settings().set_subbuf_size(top(), 5).ok());
  EXPECT_EQ(top().buffer->rings()->subbuf_size, 8192u);
  EXPECT_EQ(error_of(registry_->settings().set_subbuf_size(top(), 0)), EINVAL);
  EXPECT_EQ(error_of(registry_->settings().set_subbuf_size(top(), 513)), EINVAL);
}

// A thread may be on its way with the old program; the one in its place decides what it records.
TEST_F(SettingsTest, WhatIsReplacedGoesOnByWhatTakesItsPlace) {
  LiveEvent* a = add("sys", "a", &source_);
  ASSERT_TRUE(enable(top(), a).ok());
  const EventProgram* first = running("a");
  ASSERT_TRUE(registry_->settings().set_option(top(), TraceOption::kStackTrace, true).ok());
  const EventProgram* second = running("a");
  ASSERT_NE(first, second);
  EXPECT_EQ(record_late(first, 1), kRingPublished);
  ASSERT_TRUE(registry_->settings().resize(top(), {}, 256).ok());
  EXPECT_EQ(record_late(first, 2), kRingPublished);
  ASSERT_TRUE(registry_->filters().set(top(), a, "a == 3").ok());
  for (const EventProgram* old : {first, second}) {
    EXPECT_EQ(old->rings, RingBuffer::dead_rings()) << "it would record what the filter rejects";
    EXPECT_EQ(record_late(old, 3), kRingPublished);
    EXPECT_EQ(record_late(old, 4), kRingOff);
  }
  ASSERT_TRUE(registry_->pid_lists().add(top(), PidList::kTrace, "1").ok());
  EXPECT_EQ(record_late(first, 3), kRingOff) << "of another thread";
  ASSERT_TRUE(registry_->pid_lists().clear(top(), PidList::kTrace).ok());
  EXPECT_EQ(record_late(first, 3), kRingPublished);
  ASSERT_TRUE(registry_->set_enabled(top(), std::span(&a, 1), false).ok());
  EXPECT_EQ(record_late(first, 3), kRingOff);
  EXPECT_EQ(records(top().buffer.get()).size(), 5u);
}

TEST_F(SettingsTest, OneInstanceIsWhereTracePrintkGoes) {
  TraceArray* one = *registry_->create_array("one");
  EXPECT_EQ(error_of(registry_->settings().set_option(top(), TraceOption::kTracePrintkDest, false)),
            EINVAL);
  ASSERT_TRUE(registry_->settings().set_option(*one, TraceOption::kTracePrintkDest, true).ok());
  EXPECT_FALSE(top().options[TraceOption::kTracePrintkDest]);
  ASSERT_TRUE(registry_->remove_array("one").ok());
  EXPECT_TRUE(top().options[TraceOption::kTracePrintkDest]);
}

TEST_F(SettingsTest, NumbersOfSavedCmdlines) {
  for (uint64_t bad : {0ul, 32769ul})
    EXPECT_EQ(error_of(registry_->settings().set_saved_cmdlines_size(bad)), EINVAL);
  ASSERT_TRUE(registry_->settings().set_saved_cmdlines_size(32768).ok());
  EXPECT_EQ(registry_->settings().saved_cmdlines_size(), 32768u);
}

}  // namespace
}  // namespace patchbay
