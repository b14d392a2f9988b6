// SPDX-License-Identifier: MIT

#include "patch/trap_gate.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <thread>

#include "base/testing.h"

namespace patchbay {
namespace {

constexpr uint64_t kSoon = 2000;          // microseconds; for what must not come
constexpr uint64_t kInTheEnd = 10000000;  // for what must

struct Shut {
  explicit Shut(uint64_t limit_us) : empty(trap_gate_shut(limit_us)) {}
  ~Shut() { trap_gate_open(); }
  bool empty;
};

TEST(TrapGate, WhoIsInsideIsWaitedFor) {
  EXPECT_TRUE(Shut(kSoon).empty);
  trap_gate_enter();
  EXPECT_FALSE(Shut(kSoon).empty);
  trap_gate_enter();  // a signal handler's call
  trap_gate_leave();
  EXPECT_FALSE(Shut(kSoon).empty);
  trap_gate_leave();
  EXPECT_TRUE(Shut(kSoon).empty);
}

TEST(TrapGate, ANewThreadIsInsideUntilItArrives) {
  trap_gate_enter();
  trap_gate_expect();
  trap_gate_leave();
  EXPECT_FALSE(Shut(kSoon).empty);
  std::thread thread([] { trap_gate_arrived(); });
  EXPECT_TRUE(Shut(kInTheEnd).empty);
  thread.join();
}

TEST(TrapGate, WhoComesWhileItIsShutWaits) {
  std::atomic<bool> comes = false, inside = false;
  std::thread thread;
  {
    Shut shut(kSoon);
    ASSERT_TRUE(shut.empty);
    thread = std::thread([&] {
      comes = true;
      trap_gate_enter();
      inside = true;
      trap_gate_leave();
    });
    while (!comes) std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_FALSE(inside);
  }
  thread.join();
  EXPECT_TRUE(inside);
}

TEST(TrapGate, WhoIsInsideIsNotHeldUp) {
  trap_gate_enter();
  {
    Shut shut(kSoon);
    EXPECT_FALSE(shut.empty);
    trap_gate_enter();  // hangs for seconds if it were
    trap_gate_leave();
  }
  trap_gate_leave();
}

TEST(TrapGate, AThreadThatEndsIsInsideUntilItIsGone) {
  std::atomic<bool> marked = false, end = false;
  std::thread thread([&] {
    trap_gate_ends(static_cast<uint32_t>(gettid()));
    marked = true;
    while (!end) std::this_thread::yield();
  });
  while (!marked) std::this_thread::yield();
  EXPECT_FALSE(Shut(kSoon).empty);
  end = true;
  EXPECT_TRUE(Shut(kInTheEnd).empty);
  thread.join();
}

TEST(TrapGate, SystemIsInsideUntilItWaitsForItsChild) {
  std::atomic<bool> begin = false, marked = false;
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  std::thread thread([&] {
    TrapGateSystem inside(static_cast<uint32_t>(gettid()));
    marked = true;
    while (!begin) std::this_thread::yield();
    const pid_t child = fork();
    if (child == 0) {
      char byte;
      _exit(read(ends[0], &byte, 1) == 1 ? 0 : 1);
    }
    int status;
    waitpid(child, &status, 0);
  });
  while (!marked) std::this_thread::yield();
  EXPECT_FALSE(Shut(kSoon).empty);
  begin = true;
  EXPECT_TRUE(Shut(kInTheEnd).empty);
  EXPECT_EQ(write(ends[1], "x", 1), 1);
  thread.join();
  EXPECT_TRUE(Shut(kSoon).empty);
}

TEST(TrapGate, AForkedChildHasNoOtherThreadsInside) {
  trap_gate_enter();
  trap_gate_expect();
  const int status = test::status_of_child([] {
    trap_gate_after_fork();
    trap_gate_leave();
    return trap_gate_shut(kInTheEnd) ? 0 : 1;
  });
  EXPECT_EQ(status, 0);
  trap_gate_arrived();
  trap_gate_leave();
}

}  // namespace
}  // namespace patchbay
