// SPDX-License-Identifier: MIT
#include "agent/last_error.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <string>
#include <thread>
#include <vector>

namespace patchbay {
namespace {

std::string last_error() {
  char text[64];
  return std::string(text, std::min(copy_error(text, sizeof text), sizeof text - 1));
}

TEST(LastError, IsOfTheCallThatWasRefusedLast) {
  keep_error("one");
  keep_error("two");
  EXPECT_EQ(last_error(), "two");
  EXPECT_EQ(last_error(), "two");
  forget_error();
  EXPECT_EQ(last_error(), "");
}

TEST(LastError, ABufferThatIsTooSmallTakesItsBeginning) {
  keep_error("sentence");
  char text[4] = "xyz";
  EXPECT_EQ(copy_error(text, sizeof text), 8u);
  EXPECT_STREQ(text, "sen");
  EXPECT_EQ(copy_error(nullptr, 0), 8u);
  forget_error();
}

// More threads than processors: some are preempted while they write their sentence.
TEST(LastError, NoThreadTakesAwayAnothersSentence) {
  constexpr int kThreads = 16, kRounds = 20000;
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; i++)
    threads.emplace_back([i, &wrong] {
      for (int k = 0; k < kRounds; k++) {
        const std::string sentence = std::to_string(i) + ":" + std::to_string(k);
        keep_error(sentence);
        if (last_error() != sentence) wrong++;
        if (k % 3 == 0) forget_error();
      }
      forget_error();
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

// A thread that is off the CPU in the middle, as one of a virtual machine that its host holds up.
TEST(LastError, AThreadThatIsHeldUpHoldsUpNobody) {
  struct sigaction action = {}, before;
  action.sa_handler = [](int) {
    const timespec pause = {0, 2'000'000};
    ::nanosleep(&pause, nullptr);
  };
  ::sigaction(SIGUSR1, &action, &before);
  std::atomic<bool> ends{false};
  std::thread held([&ends] {
    while (!ends) keep_error("held");
    forget_error();
  });
  int wrong = 0;
  for (int round = 0; round < 200; round++) {
    ::pthread_kill(held.native_handle(), SIGUSR1);
    for (int k = 0; k < 20; k++) {
      keep_error("own");
      if (last_error() != "own") wrong++;
    }
  }
  ends = true;
  held.join();
  ::sigaction(SIGUSR1, &before, nullptr);
  forget_error();
  EXPECT_EQ(wrong, 0);
}

// 40 threads have one each: 32 of them still know it, and no entry is lost for good.
TEST(LastError, TheOldestMakeRoom) {
  constexpr int kThreads = 40;
  for (int round = 0; round < 3; round++) {
    std::atomic<int> kept{0}, known{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < kThreads; i++)
      threads.emplace_back([i, &kept, &known] {
        keep_error(std::to_string(i));
        kept++;
        while (kept < kThreads) std::this_thread::yield();
        const std::string text = last_error();
        if (text == std::to_string(i)) known++;
        EXPECT_TRUE(text.empty() || text == std::to_string(i)) << text;
        forget_error();
      });
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(known, 32);
  }
}

}  // namespace
}  // namespace patchbay
