// SPDX-License-Identifier: MIT
//
// Memory that comes from mmap() alone, for the agent in a program that has a malloc() of its own:
// libc's would move the program break, which is the program's there. No lock: a signal handler, and
// the child of a fork() in the middle of anything, go on with it.
//
//   spans_  base | kind, base | kind, 0, …    256 KiB each, found by a hash of the address
//              |
//              +--> [block][block][block] …   all of one size; kinds of size are a quarter of a
//                                             power of two apart
//   kinds_[kind].free    the blocks that came back, a list: each holds the number of the next
//   kinds_[kind].fresh   where blocks of the newest span begin that nobody has had
//
// Both words change by compare-and-swap, the list's with a count beside it, so that a block that
// was taken and came back meanwhile is not the same. A thread may read a block that another one has
// just taken; its swap then fails. Hence no span is ever given back.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace patchbay {

class OwnHeap {
 public:
  static constexpr size_t kLargest = size_t{64} * 1024;

  constexpr OwnHeap() = default;
  OwnHeap(const OwnHeap&) = delete;
  OwnHeap& operator=(const OwnHeap&) = delete;

  // At a multiple of 16. Null: it is larger than kLargest, or there is no memory.
  void* take(size_t size);
  bool has(const void* memory) const { return span_of(memory) != kNone; }
  // Of a block that it has: what there is room for.
  size_t size_of(const void* block) const;
  void give(void* block);

 private:
  static constexpr size_t kUnit = 16, kSpan = size_t{256} * 1024, kUnits = kSpan / kUnit;
  static constexpr uint32_t kSpans = 16384, kNone = ~uint32_t{0};
  static constexpr uint32_t kKinds = 44;

  struct alignas(8) Free {
    uint32_t block = 0;  // its number (span * kUnits + unit) + 1; 0: none
    uint32_t swaps = 0;
  };
  struct alignas(8) Fresh {
    uint32_t span = 0;  // + 1; 0: none
    uint32_t unit = 0;
  };
  static_assert(std::atomic<Free>::is_always_lock_free);
  static_assert(std::atomic<Fresh>::is_always_lock_free);
  static_assert(uint64_t{kSpans} * kUnits < ~uint32_t{0});
  struct Kind {
    std::atomic<Free> free{Free{}};
    std::atomic<Fresh> fresh{Fresh{}};
  };

  static uint32_t kind_of(size_t size);
  static uint32_t units_of(uint32_t kind);
  uint32_t span_of(const void* memory) const;  // kNone: it is not in one
  uintptr_t base_of(uint32_t span) const;
  uint32_t* at(uint32_t block) const;
  uint32_t make_span(uint32_t kind);
  void* take_freed(Kind* kind);
  void* take_fresh(uint32_t kind);

  std::array<std::atomic<uintptr_t>, kSpans> spans_{};
  std::array<Kind, kKinds> kinds_{};
};

}  // namespace patchbay
