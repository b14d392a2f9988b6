// SPDX-License-Identifier: MIT
#include "base/own_heap.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

namespace patchbay {
namespace {

using Bytes = unsigned char;

TEST(OwnHeap, BlocksOfAllSizesLieApart) {
  auto heap = std::make_unique<OwnHeap>();
  std::vector<std::pair<Bytes*, size_t>> blocks;
  for (size_t size = 0; size <= OwnHeap::kLargest; size += size / 8 + 1) {
    auto* block = static_cast<Bytes*>(heap->take(size));
    ASSERT_TRUE(block) << size;
    EXPECT_EQ(reinterpret_cast<uintptr_t>(block) % 16, 0u) << size;
    EXPECT_TRUE(heap->has(block));
    EXPECT_GE(heap->size_of(block), size);
    EXPECT_LE(heap->size_of(block), size + size / 4 + 16);
    std::memset(block, int(blocks.size() & 0xff), heap->size_of(block));
    blocks.push_back({block, heap->size_of(block)});
  }
  for (size_t i = 0; i < blocks.size(); i++)
    for (size_t at = 0; at < blocks[i].second; at++)
      ASSERT_EQ(blocks[i].first[at], Bytes(i & 0xff)) << i << " at " << at;
  EXPECT_FALSE(heap->take(OwnHeap::kLargest + 1));
}

TEST(OwnHeap, WhatIsGivenBackIsTakenAgain) {
  auto heap = std::make_unique<OwnHeap>();
  void* const one = heap->take(100);
  void* const other = heap->take(100);
  heap->give(one);
  heap->give(other);
  EXPECT_EQ(heap->take(97), other);
  EXPECT_EQ(heap->take(112), one);
}

TEST(OwnHeap, OthersBlocksAreNotItsOwn) {
  auto heap = std::make_unique<OwnHeap>();
  int on_stack = 0;
  EXPECT_FALSE(heap->has(&on_stack));
  EXPECT_FALSE(heap->has(nullptr));
  void* const block = heap->take(10);
  EXPECT_FALSE(heap->has(static_cast<Bytes*>(block) + (256 << 10)));
}

TEST(OwnHeap, TheBreakStaysWhereItIs) {
  auto heap = std::make_unique<OwnHeap>();
  void* const before = ::sbrk(0);
  for (int i = 0; i < 1000; i++) ASSERT_TRUE(heap->take(5000));
  EXPECT_EQ(::sbrk(0), before);
}

// Each writes its number over its blocks, and finds it there.
TEST(OwnHeap, ThreadsHaveBlocksOfTheirOwn) {
  auto heap = std::make_unique<OwnHeap>();
  constexpr int kThreads = 4, kRounds = 20000;
  std::vector<std::thread> threads;
  std::vector<int> wrong(kThreads);
  for (int t = 0; t < kThreads; t++)
    threads.emplace_back([&heap, &wrong, t] {
      uint64_t* held[8] = {};
      for (int i = 0; i < kRounds; i++) {
        uint64_t*& block = held[i % 8];
        if (block) {
          wrong[size_t(t)] += block[0] != uint64_t(t) || block[1] != uint64_t(i - 8);
          heap->give(block);
        }
        block = static_cast<uint64_t*>(heap->take(i % 3 ? 16 : 40));
        block[0] = uint64_t(t);
        block[1] = uint64_t(i);
      }
    });
  for (std::thread& thread : threads) thread.join();
  for (int t = 0; t < kThreads; t++) EXPECT_EQ(wrong[size_t(t)], 0) << t;
}

}  // namespace
}  // namespace patchbay
