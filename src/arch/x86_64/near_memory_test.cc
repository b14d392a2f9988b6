// SPDX-License-Identifier: MIT

#include "arch/x86_64/near_memory.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/mman.h>

#include <cstring>

#include "arch/x86_64/text_memory.h"

namespace patchbay {
namespace {

TEST(NearMemory, IsInReachOfTheExecutableAndOfALibrary) {
  for (const uint64_t code :
       {reinterpret_cast<uint64_t>(&map_near), reinterpret_cast<uint64_t>(&getenv)}) {
    const uint64_t place = map_near(code, 65536);
    ASSERT_NE(place, 0u);
    EXPECT_TRUE(within_reach(place, code));
    EXPECT_EQ(place % 4096, 0u);
    ::munmap(reinterpret_cast<void*>(place), 65536);
  }
}

TEST(TextMemory, WritesMemoryThatIsNotWritableAndItRuns) {
  const uint64_t place = map_near(reinterpret_cast<uint64_t>(&map_near), 4096);
  ASSERT_NE(place, 0u);
  static const uint8_t kReturn42[] = {0xb8, 42, 0, 0, 0, 0xc3};
  TextMemory memory;
  ASSERT_TRUE(memory.write(place, kReturn42, sizeof(kReturn42)));
  sync_all_cores();
  EXPECT_EQ(reinterpret_cast<int (*)()>(place)(), 42);
  uint8_t back[6];
  ASSERT_TRUE(memory.read(place, back, sizeof(back)));
  EXPECT_EQ(std::memcmp(back, kReturn42, sizeof(back)), 0);
  ::munmap(reinterpret_cast<void*>(place), 4096);
  EXPECT_FALSE(memory.read(place, back, sizeof(back)));
  EXPECT_FALSE(memory.write(place, back, sizeof(back)));
}

}  // namespace
}  // namespace patchbay
