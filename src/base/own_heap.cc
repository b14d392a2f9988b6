// SPDX-License-Identifier: MIT
#include "base/own_heap.h"

#include <sys/mman.h>
#include <sys/syscall.h>

#include <algorithm>
#include <bit>

#include "base/raw_syscall.h"

namespace patchbay {
namespace {

constexpr uint32_t kExact = 8;  // so many kinds are one unit apart
constexpr uint32_t kSteps = 4;  // then so many to each power of two

long map(size_t size) {
  return raw_syscall(SYS_mmap, 0, long(size), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                     -1, 0);
}
void unmap(uintptr_t from, uintptr_t to) {
  if (from != to) raw_syscall(SYS_munmap, long(from), long(to - from));
}

// At a multiple of its size, a power of two; 0: no memory.
uintptr_t map_aligned(size_t size) {
  const long mapped = map(2 * size);
  if (mapped < 0 && mapped > -4096) return 0;
  const auto start = uintptr_t(mapped), base = (start + size - 1) & ~(size - 1);
  unmap(start, base);
  unmap(base + size, start + 2 * size);
  return base;
}

}  // namespace

uint32_t OwnHeap::kind_of(size_t size) {
  const auto units = uint32_t(std::max<size_t>((size + kUnit - 1) / kUnit, 1));
  if (units <= kExact) return units - 1;
  const auto power = uint32_t(std::bit_width(units - 1)) - 3;
  const uint32_t steps = ((units - 1) >> power) + 1;  // 5 to 8
  return kExact + (power - 1) * kSteps + steps - kSteps - 1;
}

uint32_t OwnHeap::units_of(uint32_t kind) {
  if (kind < kExact) return kind + 1;
  const uint32_t power = (kind - kExact) / kSteps + 1;
  return (kSteps + 1 + (kind - kExact) % kSteps) << power;
}

uint32_t OwnHeap::span_of(const void* memory) const {
  const uintptr_t base = reinterpret_cast<uintptr_t>(memory) & ~(kSpan - 1);
  for (uint32_t i = 0; i < kSpans; i++) {
    const auto span = uint32_t((base / kSpan + i) % kSpans);
    const uintptr_t word = spans_[span].load(std::memory_order_acquire);
    if (!word) return kNone;
    if ((word & ~(kSpan - 1)) == base) return span;
  }
  return kNone;
}

uintptr_t OwnHeap::base_of(uint32_t span) const {
  return spans_[span].load(std::memory_order_relaxed) & ~(kSpan - 1);
}

uint32_t* OwnHeap::at(uint32_t block) const {
  const uint32_t number = block - 1;
  return reinterpret_cast<uint32_t*>(base_of(number / kUnits) + number % kUnits * kUnit);
}

uint32_t OwnHeap::make_span(uint32_t kind) {
  const uintptr_t base = map_aligned(kSpan);
  for (uint32_t i = 0; base && i < kSpans; i++) {
    const auto span = uint32_t((base / kSpan + i) % kSpans);
    uintptr_t free = 0;
    if (spans_[span].compare_exchange_strong(free, base | kind, std::memory_order_release))
      return span;
  }
  if (base) unmap(base, base + kSpan);
  return kNone;
}

void* OwnHeap::take_freed(Kind* kind) {
  Free now = kind->free.load(std::memory_order_acquire), next;
  do {
    if (!now.block) return nullptr;
    next = {__atomic_load_n(at(now.block), __ATOMIC_RELAXED), now.swaps + 1};
  } while (!kind->free.compare_exchange_weak(now, next, std::memory_order_acquire));
  return at(now.block);
}

// Where two threads make a span at the same time, what is left of the one's is not used.
void* OwnHeap::take_fresh(uint32_t kind) {
  const uint32_t units = units_of(kind);
  std::atomic<Fresh>& fresh = kinds_[kind].fresh;
  Fresh now = fresh.load(std::memory_order_acquire), taken, next;
  uint32_t made = kNone;
  do {
    if (now.span && now.unit + units <= kUnits) {
      taken = now;
    } else {
      if (made == kNone) made = make_span(kind);
      if (made == kNone) return nullptr;
      taken = {made + 1, 0};
    }
    next = {taken.span, taken.unit + units};
  } while (!fresh.compare_exchange_weak(now, next, std::memory_order_acq_rel));
  return reinterpret_cast<void*>(base_of(taken.span - 1) + taken.unit * kUnit);
}

void* OwnHeap::take(size_t size) {
  if (size > kLargest) return nullptr;
  const uint32_t kind = kind_of(size);
  void* const freed = take_freed(&kinds_[kind]);
  return freed ? freed : take_fresh(kind);
}

size_t OwnHeap::size_of(const void* block) const {
  const uintptr_t word = spans_[span_of(block)].load(std::memory_order_relaxed);
  return units_of(uint32_t(word & (kSpan - 1))) * kUnit;
}

void OwnHeap::give(void* block) {
  const uint32_t span = span_of(block);
  const uintptr_t word = spans_[span].load(std::memory_order_relaxed);
  Kind& kind = kinds_[word & (kSpan - 1)];
  const auto unit = uint32_t((reinterpret_cast<uintptr_t>(block) & (kSpan - 1)) / kUnit);
  Free now = kind.free.load(std::memory_order_relaxed), next;
  do {
    __atomic_store_n(static_cast<uint32_t*>(block), now.block, __ATOMIC_RELAXED);
    next = {uint32_t(span * kUnits + unit + 1), now.swaps + 1};
  } while (!kind.free.compare_exchange_weak(now, next, std::memory_order_release));
}

}  // namespace patchbay
