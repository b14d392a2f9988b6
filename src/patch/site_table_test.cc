// SPDX-License-Identifier: MIT
#include "patch/site_table.h"

#include <gtest/gtest.h>

#include <random>

#include "patch/site_layout.h"

namespace patchbay {
namespace {

// Where no code is: nothing is ever written there.
constexpr uint64_t kNowhere = uint64_t{0x123} << 32;

uint64_t keys_one_by_one(uint64_t address) {
  uint64_t keys = 0;
  for (int distance = -32; distance < 32; distance++)
    if (site_find(address + uint64_t(distance))) keys |= uint64_t{1} << (32 + distance);
  return keys;
}

// On both sides of a page's end, with pages between that have none.
TEST(SiteTable, KnowsWhatIsAroundAnAddress) {
  std::mt19937 random(7);
  EXPECT_EQ(sites_around(kNowhere), 0u);
  for (uint64_t page : {0, 1, 2, 9}) {
    for (int i = 0; i < 40; i++) {
      Site* site = site_find_or_add(kNowhere + page * 4096 + random() % 4096);
      const uint64_t alias = site->address - 5;
      if (i % 4 == 0 && !site_find(alias)) site_set_alias(site, alias);
    }
  }
  site_find_or_add(kNowhere + 2 * 4096 - 1);
  site_find_or_add(kNowhere + 2 * 4096);
  for (uint64_t at = kNowhere - 100; at < kNowhere + 10 * 4096 + 100; at++)
    ASSERT_EQ(sites_around(at), keys_one_by_one(at)) << std::hex << at;
}

TEST(SiteTable, AroundFindsWhatTheTableFinds) {
  const uint64_t base = kNowhere + (uint64_t{1} << 20);
  Site* site = site_find_or_add(base + 70);
  site_set_alias(site, base + 65);
  for (int64_t distance = -32; distance < 32; distance++) {
    const uint64_t at = base + 64 + uint64_t(distance);
    EXPECT_EQ(Around(base + 64).find(distance), site_find(at)) << distance;
    EXPECT_EQ(Around(base + 64).at(distance), site_at(at)) << distance;
  }
  EXPECT_TRUE(site_near(base + 66, 5));
  EXPECT_TRUE(site_near(base + 74, 5)) << "a jump there would reach as far";
  EXPECT_FALSE(site_near(base + 75, 5));
  EXPECT_TRUE(site_near(base + 61, 5));
  EXPECT_FALSE(site_near(base + 60, 5));
}

}  // namespace
}  // namespace patchbay
