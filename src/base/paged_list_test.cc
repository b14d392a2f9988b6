// SPDX-License-Identifier: MIT
#include "base/paged_list.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace patchbay {
namespace {

struct Counted {
  explicit Counted(uint32_t* alive, uint64_t value) : alive(alive), value(value) { ++*alive; }
  ~Counted() { --*alive; }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;
  uint32_t* alive;
  uint64_t value;
  char rest[200] = {};
};

TEST(PagedList, ObjectsStayWhereTheyAreAndGoTogether) {
  uint32_t alive = 0;
  {
    PagedList<Counted> list;
    for (int round = 0; round < 2; round++) {
      std::vector<Counted*> places;
      for (uint64_t i = 0; i < 1000; i++) places.push_back(&list.emplace_back(&alive, i));
      ASSERT_EQ(list.size(), 1000u);
      uint64_t at = 0;
      for (Counted& one : list) {
        ASSERT_EQ(&one, places[at]);
        ASSERT_EQ(one.value, at++);
      }
      EXPECT_EQ(at, 1000u);
      EXPECT_EQ(alive, 1000u);
      if (round != 0) continue;
      list.clear();
      EXPECT_EQ(alive, 0u);
    }
  }
  EXPECT_EQ(alive, 0u);
}

}  // namespace
}  // namespace patchbay
