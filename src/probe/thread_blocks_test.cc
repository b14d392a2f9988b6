// SPDX-License-Identifier: MIT
#include "probe/thread_blocks.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include <atomic>
#include <barrier>
#include <cstring>
#include <set>
#include <thread>
#include <vector>

#include "hot/fault.h"

using namespace patchbay;

namespace {

void continue_after_fault(int, siginfo_t*, void* raw) {
  auto& rip = static_cast<ucontext_t*>(raw)->uc_mcontext.gregs[REG_RIP];
  const uint64_t target = fault_fixup(uint64_t(rip));
  if (!target) ::_exit(99);
  rip = greg_t(target);
}

// With what the agent's handler does, for owners whose memory is gone.
class ThreadBlocks : public ::testing::Test {
 protected:
  void SetUp() override {
    struct sigaction action = {};
    action.sa_sigaction = continue_after_fault;
    // As the agent's: another signal's handler that runs within this one may fault, too.
    action.sa_flags = SA_SIGINFO | SA_NODEFER;
    ::sigaction(SIGSEGV, &action, &old_[0]);
    ::sigaction(SIGBUS, &action, &old_[1]);
  }
  void TearDown() override {
    pb_thread_block = nullptr;
    ::sigaction(SIGSEGV, &old_[0], nullptr);
    ::sigaction(SIGBUS, &old_[1], nullptr);
  }

 private:
  struct sigaction old_[2];
};

TEST_F(ThreadBlocks, AThreadKeepsItsBlockWhichBeginsEmpty) {
  ThreadBlock* block = thread_block();
  ASSERT_NE(block, nullptr);
  EXPECT_EQ(pb_thread_block, block);
  EXPECT_EQ(block->owner, reinterpret_cast<uint64_t>(&pb_thread_block));
  EXPECT_EQ(played_task(), 0u);
  EXPECT_EQ(played_comm(), nullptr);
  block->played = {12, 1, "player"};
  EXPECT_EQ(thread_block(), block);
  EXPECT_EQ(played_task(), 12u);
  EXPECT_STREQ(played_comm(), "player");
}

// Runs `body(index)` on `count` threads that all live until the last one is done with it.
template <typename Body>
void on_threads(int count, Body body) {
  struct Run {
    std::barrier<> all;
    Body* body;
  } run{std::barrier<>(count), &body};
  struct One {
    Run* run;
    int index;
    pthread_t thread;
  };
  std::vector<One> threads(static_cast<size_t>(count));
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, 65536);
  for (int i = 0; i < count; i++) {
    threads[size_t(i)] = {&run, i, 0};
    auto start = [](void* argument) -> void* {
      auto* one = static_cast<One*>(argument);
      (*one->run->body)(one->index);
      one->run->all.arrive_and_wait();
      return nullptr;
    };
    ASSERT_EQ(pthread_create(&threads[size_t(i)].thread, &attributes, start, &threads[size_t(i)]),
              0);
  }
  for (One& one : threads) pthread_join(one.thread, nullptr);
  pthread_attr_destroy(&attributes);
}

// More than there are from the start.
TEST_F(ThreadBlocks, ThreadsThatLiveHaveBlocksOfTheirOwn) {
  constexpr int kThreads = 1100;
  std::vector<ThreadBlock*> blocks(kThreads);
  on_threads(kThreads, [&](int i) {
    blocks[size_t(i)] = thread_block();
    if (blocks[size_t(i)]) blocks[size_t(i)]->played.id = uint32_t(i) + 1;
  });
  EXPECT_EQ(std::set<ThreadBlock*>(blocks.begin(), blocks.end()).size(), size_t(kThreads));
  for (int i = 0; i < kThreads; i++) {
    ASSERT_NE(blocks[size_t(i)], nullptr);
    EXPECT_EQ(blocks[size_t(i)]->played.id, uint32_t(i) + 1);
  }
}

TEST_F(ThreadBlocks, ThoseOfThreadsThatEndedAreTakenAgainAndEmpty) {
  std::set<ThreadBlock*> blocks;
  uint32_t left_over = 0;
  for (int i = 0; i < 2000; i++) {
    std::thread([&] {
      ThreadBlock* block = thread_block();
      blocks.insert(block);
      left_over += block->played.id + block->played.has_comm + block->tables.next;
      left_over += uint32_t(block->exceptions[0] + block->exceptions[1]);
      block->played = {1, 1, "it"};
      block->tables.next = 1;
      block->exceptions[0] = block->exceptions[1] = 1;
    }).join();
  }
  EXPECT_EQ(left_over, 0u);
  EXPECT_LT(blocks.size(), 100u);  // that of the thread before, or of one a little earlier
}

// What a thread leaves whose TLS is no memory any more.
TEST_F(ThreadBlocks, ABlockWhoseOwnerIsNotMappedIsTakenAgain) {
  void* page = ::mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(page, MAP_FAILED);
  ThreadBlock* block = thread_block();
  __atomic_store_n(&block->owner, reinterpret_cast<uint64_t>(page), __ATOMIC_RELEASE);
  pb_thread_block = nullptr;
  bool is_taken = false;
  for (int round = 0; round < 100 && !is_taken; round++)  // each goes on behind the one before
    on_threads(300, [&](int) {
      if (thread_block() == block) __atomic_store_n(&is_taken, true, __ATOMIC_RELAXED);
    });
  EXPECT_TRUE(is_taken);
  ::munmap(page, 4096);
}

// As many threads at a time as make each take what others have just left.
TEST_F(ThreadBlocks, NoTwoThreadsHaveOneWhileOthersComeAndGo) {
  std::atomic<int> shared{0};
  std::vector<std::thread> makers;
  for (int m = 0; m < 4; m++)
    makers.emplace_back([&] {
      for (int i = 0; i < 1000; i++)
        std::thread([&] {
          ThreadBlock* block = thread_block();
          auto* marks = reinterpret_cast<uint64_t*>(block->exceptions);
          if (__atomic_exchange_n(marks, 1, __ATOMIC_SEQ_CST)) shared++;
          std::this_thread::yield();
          if (thread_block() != block) shared++;
          if (!__atomic_exchange_n(marks, 0, __ATOMIC_SEQ_CST)) shared++;
        }).join();
    });
  for (std::thread& maker : makers) maker.join();
  EXPECT_EQ(shared.load(), 0);
}

std::atomic<int> g_handled;
void take_in_handler(int) {
  if (thread_block() == pb_thread_block) g_handled++;
}

// Signals come all the time, their handler takes a block as well.
TEST_F(ThreadBlocks, AHandlerThatTakesOneInTheMiddleAgreesWithItsThread) {
  constexpr int kSignals = 100;
  struct sigaction action = {}, before = {};
  action.sa_handler = take_in_handler;
  ::sigaction(SIGUSR1, &action, &before);
  g_handled = 0;
  const pthread_t self = ::pthread_self();
  std::thread sender([self] {
    for (int i = 0; i < kSignals; i++) {
      ::pthread_kill(self, SIGUSR1);
      while (g_handled <= i) std::this_thread::yield();
    }
  });
  int differ = 0;
  while (g_handled < kSignals) {
    pb_thread_block = nullptr;
    ThreadBlock* block = thread_block();
    differ += block != pb_thread_block;
    differ += block->owner != reinterpret_cast<uint64_t>(&pb_thread_block);
  }
  sender.join();
  EXPECT_EQ(differ, 0);
  ::sigaction(SIGUSR1, &before, nullptr);
}

TEST_F(ThreadBlocks, AForkedChildGoesOnWithItsCopy) {
  ThreadBlock* block = thread_block();
  block->played = {5, 1, "parent"};
  const pid_t child = ::fork();
  if (child == 0) {
    const bool same = thread_block() == block && std::strcmp(played_comm(), "parent") == 0;
    block->played.id = 6;
    ::_exit(same ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(played_task(), 5u);
}

}  // namespace
