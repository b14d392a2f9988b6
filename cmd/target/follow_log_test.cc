// SPDX-License-Identifier: MIT
#include "cmd/target/follow_log.h"

#include <cstring>

#include <gtest/gtest.h>

namespace patchbay::cmd {
namespace {

using abi::FollowKind;

std::string record_of(FollowKind kind, pid_t pid, std::string_view texts = {}) {
  abi::FollowRecord record{};
  record.size = uint32_t(sizeof record + texts.size());
  record.kind = kind;
  record.pid = pid;
  std::memcpy(record.comm, "name", 5);
  std::string bytes(reinterpret_cast<const char*>(&record), sizeof record);
  return bytes + std::string(texts);
}
std::string_view texts(const char* bytes, size_t size) { return {bytes, size}; }

TEST(FollowLog, WholeRecordsAreTakenAndTheRestWaits) {
  const std::string first = record_of(FollowKind::kWaits, 7, texts("/bin/a\0a\0-x\0", 12));
  const std::string second = record_of(FollowKind::kForked, 8);
  const std::string both = first + second;
  for (size_t size = 0; size <= both.size(); size++) {
    std::vector<FollowSaid> said;
    const size_t whole = size < first.size() ? 0 : size < both.size() ? first.size() : both.size();
    EXPECT_EQ(take_follow_records(both.substr(0, size), &said), whole) << size;
    EXPECT_EQ(said.size(), whole == 0 ? 0u : whole == both.size() ? 2u : 1u);
  }
  std::vector<FollowSaid> said;
  take_follow_records(both, &said);
  EXPECT_EQ(said[0].exe(), "/bin/a");
  EXPECT_EQ(said[0].words(), (std::vector<std::string>{"a", "-x"}));
  EXPECT_EQ(said[0].comm, "name");
  EXPECT_EQ(said[1].pid, 8);
}

TEST(FollowLog, TextsForWhichThereWasNoRoomAreEmpty) {
  std::vector<FollowSaid> said;
  EXPECT_TRUE(take_follow_records(record_of(FollowKind::kNotFollowed, 7), &said));
  ASSERT_EQ(said.size(), 1u);
  EXPECT_EQ(said[0].texts, (std::vector<std::string>{"", ""}));
}

TEST(FollowLog, WhatNoAgentWritesIsDamage) {
  const std::string good = record_of(FollowKind::kForked, 7);
  std::string bad[5] = {good, good, good, good, record_of(FollowKind::kSays, 7, "no end")};
  const uint32_t small = sizeof(abi::FollowRecord) - 1, large = abi::kMostFollowRecord + 1;
  const uint32_t kind = 8;
  const int32_t pid = 0;
  std::memcpy(&bad[0][offsetof(abi::FollowRecord, size)], &small, sizeof small);
  std::memcpy(&bad[1][offsetof(abi::FollowRecord, size)], &large, sizeof large);
  std::memcpy(&bad[2][offsetof(abi::FollowRecord, kind)], &kind, sizeof kind);
  std::memcpy(&bad[3][offsetof(abi::FollowRecord, pid)], &pid, sizeof pid);
  for (const std::string& one : bad) {
    std::vector<FollowSaid> said;
    EXPECT_FALSE(take_follow_records(good + one + good, &said));
    EXPECT_EQ(said.size(), 1u) << "what stands before it counts";
  }
  // A disk was full in the middle of a record, and then it was not.
  std::vector<FollowSaid> said;
  const std::string cut = record_of(FollowKind::kWaits, 7, texts("/bin/a\0a\0", 9)).substr(0, 50);
  EXPECT_FALSE(take_follow_records(cut + good + good + good, &said));
}

}  // namespace
}  // namespace patchbay::cmd
