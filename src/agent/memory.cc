// SPDX-License-Identifier: MIT
//
// Memory of the agent's own code, in a program that may have none left (RLIMIT_AS, a full control
// group) and lives with that. Three steps, so that we never end it:
//
//   malloc()        as long as the program has memory; large blocks are mappings of their own, so
//                   that what a large program's functions took goes back to the system, and lies
//                   nowhere between the program's blocks
//   the reserve     small blocks: the agent goes on for a while, and its functions at exit, fork
//                   and the end of a thread, which cannot report an error, do their work
//   bad_alloc       large blocks, or the reserve is used up. Every function by which the program or
//                   the control thread enters the agent catches it, leaves the thing undone and
//                   says so once
//
// The linker puts these functions in the place of malloc() and its like (--wrap), for all that is
// in the library: operator new, the C++ runtime (its exceptions too), the demangler. The program
// keeps its own. Where it exports a malloc() (own_imports.cc) the program break is its own as well,
// and libc's would move it: there the agent has a heap of mappings (base/own_heap.h). Until its
// references are bound the reserve gives what it needs. No lock: a signal handler and every thread
// may be here. The state of the reserve is one word that changes by compare-and-swap; the last
// block that comes back makes all of it free again.
//
// A large block begins with its page, and its address stands in a table: nothing is read in front
// of a block that may be malloc's. Where the table is full, malloc() gives large ones, too.
//
// What has to be aligned more is a piece of a larger block of these: a program that has a malloc()
// of its own need not have an aligned_alloc(), and its free() does not know libc's blocks.
#include <sys/mman.h>
#include <sys/syscall.h>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <new>

#include "agent/agent.h"
#include "agent/own_imports.h"
#include "base/leak_checker.h"
#include "base/own_heap.h"
#include "base/raw_syscall.h"

extern "C" {
void* __real_malloc(size_t size);
void* __real_calloc(size_t count, size_t size);
void* __real_realloc(void* memory, size_t size);
void __real_free(void* memory);
void __wrap_free(void* memory);
}

namespace patchbay {
namespace {

constexpr uint32_t kReserveSize = 512 * 1024;
constexpr size_t kLargestFromReserve = 16 * 1024;
constexpr size_t kHead = 16;  // holds the size of its block, keeps what is behind it aligned

struct alignas(8) State {  // one word for compare-and-swap
  uint32_t end = 0;        // of what is taken
  uint32_t blocks = 0;     // that are in use
};

alignas(kHead) constinit unsigned char g_reserve[kReserveSize];  // of no memory until used
constinit std::atomic<State> g_state{State{}};
static_assert(std::atomic<State>::is_always_lock_free);

void* take_from_reserve(size_t size) {
  if (size > kLargestFromReserve) return nullptr;
  const auto whole = uint32_t((size + 2 * kHead - 1) & ~(kHead - 1));
  State now = g_state.load(std::memory_order_relaxed), next;
  do {
    if (now.end + whole > kReserveSize) return nullptr;
    next = {now.end + whole, now.blocks + 1};
  } while (!g_state.compare_exchange_weak(now, next, std::memory_order_acquire));
  unsigned char* block = g_reserve + now.end;
  *reinterpret_cast<uint32_t*>(block) = whole;
  return block + kHead;
}

bool is_of_reserve(const void* memory) {
  const auto at = reinterpret_cast<uintptr_t>(memory);
  return at - reinterpret_cast<uintptr_t>(g_reserve) < kReserveSize;
}

void give_to_reserve(void* memory) {
  unsigned char* block = static_cast<unsigned char*>(memory) - kHead;
  const uint32_t whole = *reinterpret_cast<uint32_t*>(block);
  const auto start = uint32_t(block - g_reserve);
  State now = g_state.load(std::memory_order_relaxed), next;
  do {
    next = {now.end == start + whole ? start : now.end, now.blocks - 1};
    if (next.blocks == 0) next.end = 0;
  } while (!g_state.compare_exchange_weak(now, next, std::memory_order_release));
}

size_t size_in_reserve(const void* memory) {
  const unsigned char* block = static_cast<const unsigned char*>(memory) - kHead;
  return *reinterpret_cast<const uint32_t*>(block) - kHead;
}

constexpr size_t kLarge = 64 * 1024, kPage = 4096;
constexpr uintptr_t kTaken = 1;  // by a thread that is about to write it

// Its block belongs to whoever has it: `at` is 0 (free) -> kTaken -> the block -> 0.
struct LargeBlock {
  std::atomic<uintptr_t> at{0};
  size_t whole = 0;
};
constexpr size_t kMostLarge = 512;
constinit LargeBlock g_large[kMostLarge];
constinit std::atomic<size_t> g_large_end{0};  // of those that were ever taken

LargeBlock* take_slot() {
  for (size_t i = 0; i < kMostLarge; i++) {
    uintptr_t free = 0;
    if (!g_large[i].at.compare_exchange_strong(free, kTaken, std::memory_order_acquire)) continue;
    for (size_t end = g_large_end.load(std::memory_order_relaxed); end <= i;)
      if (g_large_end.compare_exchange_weak(end, i + 1, std::memory_order_release)) break;
    return &g_large[i];
  }
  return nullptr;
}

void* take_large(size_t size) {
  const size_t whole = (size + kPage - 1) & ~(kPage - 1);
  if (size < kLarge || whole < size || has_leak_checker()) return nullptr;
  LargeBlock* const block = take_slot();
  if (!block) return nullptr;
  const long made = raw_syscall(SYS_mmap, 0, long(whole), PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  const bool is_good = made >= 0 || made < -long{kPage};
  block->whole = whole;
  block->at.store(is_good ? uintptr_t(made) : 0, std::memory_order_release);
  return is_good ? reinterpret_cast<void*>(made) : nullptr;
}

// Null: another block.
LargeBlock* large_block(const void* memory) {
  const auto at = reinterpret_cast<uintptr_t>(memory);
  if (at == 0 || at % kPage != 0) return nullptr;
  const size_t end = g_large_end.load(std::memory_order_acquire);
  for (size_t i = 0; i < end; i++)
    if (g_large[i].at.load(std::memory_order_acquire) == at) return &g_large[i];
  return nullptr;
}

// In this order: as soon as it is unmapped another thread may have the same address.
void give_large(LargeBlock* block) {
  const uintptr_t at = block->at.load(std::memory_order_relaxed);
  const size_t whole = block->whole;
  block->at.store(0, std::memory_order_release);
  raw_syscall(SYS_munmap, long(at), long(whole));
}

constinit OwnHeap g_heap;

// Not where it would move the program's break. Of blocks that the heap has no room for libc makes
// mappings, too.
bool may_ask_malloc(size_t size) {
  return imports_are_bound() && (!program_has_malloc() || size > OwnHeap::kLargest);
}

void* take_without_malloc(size_t size) {
  if (imports_are_bound() && program_has_malloc())
    if (void* memory = g_heap.take(size)) return memory;
  return take_from_reserve(size);
}

// 0: a block that is malloc's.
size_t size_without_malloc(const void* memory) {
  if (is_of_reserve(memory)) return size_in_reserve(memory);
  if (g_heap.has(memory)) return g_heap.size_of(memory);
  const LargeBlock* const large = large_block(memory);
  return large ? large->whole : 0;
}

}  // namespace

void say_no_memory() {
  static std::atomic<bool> said{false};
  if (said.exchange(true)) return;
  say("out of memory; the program runs on, but what the agent has to do may be left undone");
}

}  // namespace patchbay

extern "C" {

// The first call is that of the C++ runtime's constructor, for its emergency pool: at a time when a
// tool may have enabled events of malloc already, and outside of every scope of ours.
void* __wrap_malloc(size_t size) {
  if (void* memory = patchbay::take_large(size)) return memory;
  if (!patchbay::may_ask_malloc(size)) return patchbay::take_without_malloc(size);
  patchbay::AgentScope scope;
  if (void* memory = __real_malloc(size)) return memory;
  return patchbay::take_without_malloc(size);
}

void* __wrap_calloc(size_t count, size_t size) {
  size_t whole;
  if (__builtin_mul_overflow(count, size, &whole)) return nullptr;
  if (void* memory = patchbay::take_large(whole)) return memory;  // of zeros
  if (patchbay::may_ask_malloc(whole))
    if (void* memory = __real_calloc(count, size)) return memory;
  void* memory = patchbay::take_without_malloc(whole);
  return memory ? std::memset(memory, 0, whole) : nullptr;
}

void* __wrap_realloc(void* memory, size_t size) {
  if (!memory) return __wrap_malloc(size);
  const size_t before = patchbay::size_without_malloc(memory);
  if (!before) return __real_realloc(memory, size);
  if (size <= before) return memory;
  void* larger = __wrap_malloc(size);
  if (!larger) return nullptr;
  std::memcpy(larger, memory, before);
  __wrap_free(memory);
  return larger;
}

void __wrap_free(void* memory) {
  if (patchbay::is_of_reserve(memory)) return patchbay::give_to_reserve(memory);
  if (patchbay::g_heap.has(memory)) return patchbay::g_heap.give(memory);
  patchbay::LargeBlock* const large = patchbay::large_block(memory);
  if (large) return patchbay::give_large(large);
  __real_free(memory);
}

}  // extern "C"

// Of these two the C++ runtime makes all others. In front of what they give stands the block's
// beginning.
void* operator new(size_t size, std::align_val_t alignment) {
  const auto align = size_t(alignment);
  size_t whole;
  if (__builtin_add_overflow(size, align + sizeof(void*), &whole)) throw std::bad_alloc();
  void* const block = ::operator new(whole);
  const auto first = reinterpret_cast<uintptr_t>(block) + sizeof(void*);
  auto** const given = reinterpret_cast<void**>((first + align - 1) & ~uintptr_t(align - 1));
  given[-1] = block;
  return given;
}

void operator delete(void* given, std::align_val_t) noexcept {
  if (given) ::operator delete(static_cast<void**>(given)[-1]);
}
