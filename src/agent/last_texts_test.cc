// SPDX-License-Identifier: MIT
//
// The unit is part of the agent, not of the library that tests link, so it is compiled into this
// test.
#include "agent/last_texts.cc"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <thread>

namespace patchbay {
namespace {

TEST(LastTexts, TheLockIsWaitedForAWhile) {
  std::recursive_mutex mutex;
  std::atomic<bool> is_held = false;
  std::thread holder([&] {
    const std::lock_guard held(mutex);
    is_held = true;
    std::this_thread::sleep_for(std::chrono::milliseconds(400));
  });
  while (!is_held) std::this_thread::yield();
  std::unique_lock guard(mutex, std::defer_lock);
  EXPECT_TRUE(take_lock_at_end(&guard));
  EXPECT_TRUE(guard.owns_lock());
  holder.join();
}

TEST(LastTexts, ButNotForEver) {
  std::recursive_mutex mutex;
  std::atomic<bool> is_held = false, is_over = false;
  std::thread holder([&] {
    const std::lock_guard held(mutex);
    is_held = true;
    while (!is_over) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  });
  while (!is_held) std::this_thread::yield();
  std::unique_lock guard(mutex, std::defer_lock);
  EXPECT_FALSE(take_lock_at_end(&guard));
  is_over = true;
  holder.join();
}

TEST(LastTexts, AFileHasAllOfATextOrItIsSaid) {
  const std::string path = testing::TempDir() + "last_texts." + std::to_string(::getpid());
  EXPECT_TRUE(keep_text(path, std::string(100'000, 'a')));
  EXPECT_EQ(std::filesystem::file_size(path), 100'000u);
  EXPECT_TRUE(keep_text(path, "b"));
  EXPECT_EQ(std::filesystem::file_size(path), 1u);
  std::filesystem::remove(path);
  EXPECT_FALSE(keep_text("/dev/full", "a"));
  EXPECT_FALSE(keep_text(path + "/none", "a"));
}

}  // namespace
}  // namespace patchbay
