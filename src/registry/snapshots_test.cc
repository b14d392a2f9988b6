// SPDX-License-Identifier: MIT
#include "registry/snapshots.h"

#include <cerrno>
#include <cstring>

#include "registry/registry_testing.h"

namespace patchbay {
namespace {

using test::error_of;

using SnapshotsTest = test::OneSourceTest;

TEST_F(SnapshotsTest, SnapshotMatrix) {
  LiveEvent* a = add("sys", "a", &source_);
  ASSERT_TRUE(enable(top(), a).ok());
  record(running("a"), 1);
  EXPECT_EQ(error_of(registry_->snapshots().write(top(), {}, 2)), 0);
  EXPECT_EQ(top().snapshot, nullptr) << "clearing allocates nothing";
  EXPECT_EQ(error_of(registry_->snapshots().write(top(), 0, 0)), EINVAL);
  EXPECT_EQ(error_of(registry_->snapshots().write(top(), 0, 1)), EINVAL);
  top().snapshot_readers++;
  EXPECT_EQ(error_of(registry_->snapshots().write(top(), {}, 1)), EBUSY);
  top().snapshot_readers--;
  top().trace_readers++;  // does not matter: the main buffer keeps its size
  ASSERT_TRUE(registry_->snapshots().write(top(), {}, 1).ok());
  ASSERT_NE(top().snapshot, nullptr);
  EXPECT_EQ(records(top().snapshot.get()).size(), 1u);
  EXPECT_EQ(records(top().buffer.get()).size(), 0u);
  const std::string path = top().snapshot->path();
  top().trace_readers--;
  top().snapshot_readers++;
  EXPECT_EQ(error_of(registry_->snapshots().write(top(), {}, 1)), 0) << "the memory is there";
  ASSERT_TRUE(registry_->snapshots().write(top(), {}, 2).ok());
  EXPECT_EQ(records(top().snapshot.get()).size(), 0u);
  ASSERT_TRUE(registry_->snapshots().write(top(), {}, 0).ok());
  EXPECT_EQ(top().snapshot, nullptr);
  EXPECT_FALSE(std::filesystem::exists(path));
  top().snapshot_readers--;
}

}  // namespace
}  // namespace patchbay
