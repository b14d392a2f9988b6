// SPDX-License-Identifier: MIT
#include "registry/pid_lists.h"

#include <cerrno>

#include "registry/registry_testing.h"
#include "registry/settings.h"

namespace patchbay {
namespace {

using test::error_of;

using PidListsTest = test::OneSourceTest;

TEST_F(PidListsTest, ListsOfTasks) {
  EXPECT_EQ(error_of(registry_->pid_lists().add(top(), PidList::kTrace, "7 0x10 010\n")), 0);
  EXPECT_EQ(top().pids, (std::vector<uint32_t>{7, 8, 16}));
  for (const char* bad : {"1 2 x", "-1", "1x", "99999999999999999999999"})
    EXPECT_EQ(error_of(registry_->pid_lists().add(top(), PidList::kTrace, bad)), EINVAL) << bad;
  EXPECT_EQ(error_of(registry_->pid_lists().add(top(), PidList::kTrace, "4000000000")), EPERM);
  EXPECT_EQ(top().pids, (std::vector<uint32_t>{7, 8, 16}));
  LiveEvent* a = add("sys", "a", &source_);
  ASSERT_TRUE(enable(top(), a).ok());
  ASSERT_NE(running("a")->pids, nullptr);
  EXPECT_TRUE(pid_set_has(running("a")->pids, 16));
  EXPECT_FALSE(pid_set_has(running("a")->pids, 17));
  ASSERT_TRUE(registry_->pid_lists().add(top(), PidList::kNotrace, "17").ok());
  EXPECT_TRUE(pid_set_has(running("a")->notrace_pids, 17));
  ASSERT_TRUE(registry_->pid_lists().clear(top(), PidList::kTrace).ok());
  EXPECT_EQ(running("a")->pids, nullptr);
  EXPECT_NE(running("a")->notrace_pids, nullptr);
}

TEST_F(PidListsTest, ChildrenOfListedTasksAreFollowed) {
  LiveEvent* a = add("sys", "a", &source_);
  ASSERT_TRUE(enable(top(), a).ok());
  ASSERT_TRUE(registry_->pid_lists().add(top(), PidList::kTrace, "100").ok());
  registry_->pid_lists().task_forked(100, 101);
  EXPECT_EQ(top().pids, std::vector<uint32_t>{100}) << "only with event-fork";
  ASSERT_TRUE(registry_->settings().set_option(top(), TraceOption::kEventFork, true).ok());
  const int updates = source_.updates;
  registry_->pid_lists().task_forked(100, 101);
  registry_->pid_lists().task_forked(101, 102);
  registry_->pid_lists().task_forked(7, 8);
  EXPECT_EQ(source_.updates, updates) << "the table changes in place";
  EXPECT_EQ(top().pids, (std::vector<uint32_t>{100, 101, 102}));
  EXPECT_TRUE(pid_set_has(running("a")->pids, 102));
  for (uint32_t pid : {100u, 101u, 102u}) registry_->pid_lists().task_exited(pid);
  EXPECT_TRUE(top().pids.empty());
  ASSERT_NE(running("a")->pids, nullptr) << "nobody left is not everybody";
  EXPECT_FALSE(pid_set_has(running("a")->pids, 100));
}

TEST_F(PidListsTest, ManyChildrenGetALargerTable) {
  LiveEvent* a = add("sys", "a", &source_);
  ASSERT_TRUE(enable(top(), a).ok());
  ASSERT_TRUE(registry_->settings().set_option(top(), TraceOption::kEventFork, true).ok());
  ASSERT_TRUE(registry_->pid_lists().add(top(), PidList::kTrace, "1").ok());
  for (uint32_t child = 2; child < 3000; child++) {
    registry_->pid_lists().task_forked(1, child);
    if (child % 3 == 0) registry_->pid_lists().task_exited(child);
  }
  for (uint32_t child = 2; child < 3000; child++)
    ASSERT_EQ(pid_set_has(running("a")->pids, child), child % 3 != 0) << child;
}

TEST_F(PidListsTest, BothTasksOfASwitchCount) {
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

}  // namespace
}  // namespace patchbay
