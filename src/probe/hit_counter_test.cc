// SPDX-License-Identifier: MIT
//
// Not one hit too few or too many: threads on few CPUs, interrupted by storms of signals whose
// handlers count too, moved from CPU to CPU, with rseq and without.
#include "probe/hit_counter.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <ctime>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "base/testing.h"
#include "hot/rseq_testing.h"
#include "probe/probe_abi.h"
#include "ring_buffer/ring_write_hot.h"

namespace patchbay {
namespace {

uint64_t* g_counter;
std::atomic<uint64_t> g_in_handler;

void count_in_handler(int) {
  count_hit(g_counter);
  g_in_handler.fetch_add(1, std::memory_order_relaxed);
}

class HitCounter : public ::testing::Test {
 protected:
  void SetUp() override {
    pb_rseq_offset = test::rseq_offset();
    RecordProperty("seed", std::to_string(seed_));
    g_counter = new_hit_counter();
    ASSERT_NE(g_counter, nullptr);
    ASSERT_EQ(read_hit_counter(g_counter), 0u);
    g_in_handler = 0;
  }
  void TearDown() override {
    pb_rseq_offset = 0;
    pb_thread = {};
  }
  uint64_t locked() const { return g_counter[pb_locked_row / sizeof(uint64_t)]; }

  const uint64_t seed_ = uint64_t(std::time(nullptr));
};

// Every now and then to another CPU of those allowed.
void hop(std::mt19937_64& random, const cpu_set_t& allowed) {
  cpu_set_t one;
  CPU_ZERO(&one);
  const auto skip = random() % uint64_t(CPU_COUNT(&allowed));
  uint64_t seen = 0;
  for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
    if (CPU_ISSET(cpu, &allowed) && seen++ == skip) CPU_SET(cpu, &one);
  ::sched_setaffinity(0, sizeof one, &one);
}

TEST_F(HitCounter, OneByOne) {
  uint64_t* other = new_hit_counter();
  ASSERT_NE(other, g_counter);
  for (int i = 0; i < 1000; i++) count_hit(g_counter);
  count_hit(other);
  EXPECT_EQ(read_hit_counter(g_counter), 1000u);
  EXPECT_EQ(read_hit_counter(other), 1u);
}

TEST_F(HitCounter, ThreadsWithoutRseqAddWithALock) {
  pb_thread.no_rseq = 1;
  for (int i = 0; i < 10; i++) count_hit(g_counter);
  EXPECT_EQ(locked(), 10u);
  pb_thread.no_rseq = 0;
  pb_rseq_offset = 0;
  for (int i = 0; i < 10; i++) count_hit(g_counter);
  EXPECT_EQ(locked(), 20u);
  EXPECT_EQ(read_hit_counter(g_counter), 20u);
}

TEST_F(HitCounter, ForkedChildrenCountInTheSameTable) {
  count_hit(g_counter);
  const int status = test::status_of_child([] {
    for (int i = 0; i < 100; i++) count_hit(g_counter);
    return 0;
  });
  ASSERT_EQ(status, 0);
  EXPECT_EQ(read_hit_counter(g_counter), 101u);
}

TEST_F(HitCounter, ExactUnderSignalsPreemptionAndMigration) {
  constexpr int kThreads = 6;
  constexpr uint64_t kHits = 5000000, kSignals = 100;  // at least
  struct sigaction action = {}, before = {};
  action.sa_handler = count_in_handler;
  action.sa_flags = SA_RESTART;
  ::sigaction(SIGPROF, &action, &before);
  itimerval storm = {{0, 50}, {0, 50}}, none = {};
  ::setitimer(ITIMER_PROF, &storm, nullptr);
  cpu_set_t allowed;
  ASSERT_EQ(::sched_getaffinity(0, sizeof allowed, &allowed), 0);
  std::vector<std::thread> threads;
  std::atomic<int> running = kThreads;
  std::atomic<uint64_t> counted = 0;
  for (int t = 0; t < kThreads; t++)
    threads.emplace_back([this, t, &allowed, &running, &counted] {
      std::mt19937_64 random(seed_ + uint64_t(t));
      pb_thread.no_rseq = t == 0;
      uint64_t next_hop = 0;
      uint64_t i = 0;
      for (; i < kHits || g_in_handler <= kSignals; i++) {
        count_hit(g_counter);
        if (i < next_hop) continue;
        t % 2 ? hop(random, allowed) : void(::sched_yield());
        next_hop = i + random() % 5000;
      }
      counted += i;
      running--;
    });
  for (size_t i = 0; running > 0; i++) {
    ::pthread_kill(threads[i % kThreads].native_handle(), SIGPROF);
    ::usleep(50);
  }
  for (std::thread& thread : threads) thread.join();
  ::setitimer(ITIMER_PROF, &none, nullptr);
  ::sigaction(SIGPROF, &before, nullptr);
  EXPECT_EQ(read_hit_counter(g_counter), counted + g_in_handler) << "seed " << seed_;
  if (pb_rseq_offset) {
    EXPECT_LT(locked(), counted / 2) << "rseq is hardly used";
  }
}

}  // namespace
}  // namespace patchbay
