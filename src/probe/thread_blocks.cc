// SPDX-License-Identifier: MIT
//
// The blocks of threads (hot/thread_block.h). A block and its owner name each other:
//
//     the thread's TLS                        block
//     pb_thread_block  ---------------------> owner: 0              free
//                      <---------------------        kTaken         being taken
//                                                    address        of the owner's pb_thread_block
//
// Nobody gives a block back. A block is dead, and anybody may take it, when the word at its owner's
// address is not there any more or names another block: the thread has ended, and its TLS is gone
// or a new thread's, which libc begins with zeroes.
//
// - Against other threads: a block is taken by one compare-and-exchange. Who takes a dead one looks
//   again when he has it: meanwhile a new thread with its TLS at the same address may have taken
//   this block, and is alive with the same owner word. Then that is put back.
// - Against signal handlers of the thread: one may come while the thread takes a block, and take
//   one itself. The thread's word says which came first; the other block goes back.
// - A handler that leaves by longjmp out of the middle costs a block, and gives it to nobody.
// - fork: the child has a copy of all blocks, and its thread goes on with its own. Those of the
//   parent's other threads are dead as soon as libc gives their stacks to new ones.
// - A vfork child runs on its parent's TLS and memory: it uses, or takes, its parent's block.
//
// The first blocks are there from the start, so that no system call is needed for them: a program
// may forbid those to its threads.
#include "probe/thread_blocks.h"

#include <sys/mman.h>
#include <sys/syscall.h>

#include "base/raw_syscall.h"
#include "hot/safe_load.h"
#include "probe/open_signals.h"

namespace patchbay {
namespace {

constexpr uint64_t kFree = 0, kTaken = 1;
constexpr uint32_t kChunk = 1024, kChunks = 64;
constexpr uint32_t kShortSweep = 64;  // blocks that are looked at before a new one is begun

ThreadBlock g_first[kChunk];    // of no memory until used
ThreadBlock* g_chunk[kChunks];  // atomic; from the second one on
uint32_t g_used;                // atomic; no block from here on was ever taken
uint32_t g_hand;                // atomic; where the next sweep begins

ThreadBlock* block_at(uint32_t index) {
  if (index < kChunk) return &g_first[index];
  return &__atomic_load_n(&g_chunk[index / kChunk], __ATOMIC_ACQUIRE)[index % kChunk];
}

// False: there is no memory.
bool make_chunk(uint32_t chunk) {
  if (chunk == 0 || __atomic_load_n(&g_chunk[chunk], __ATOMIC_ACQUIRE)) return true;
  constexpr size_t kSize = sizeof(ThreadBlock) * kChunk;
  const long made = raw_syscall(SYS_mmap, 0, kSize, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (made < 0 && made > -4096) return false;
  ThreadBlock* none = nullptr;
  auto* blocks = reinterpret_cast<ThreadBlock*>(made);
  if (!__atomic_compare_exchange_n(&g_chunk[chunk], &none, blocks, false, __ATOMIC_ACQ_REL,
                                   __ATOMIC_ACQUIRE))
    raw_syscall(SYS_munmap, made, kSize);  // another thread was first
  return true;
}

bool exchange(uint64_t* owner, uint64_t from, uint64_t to) {
  return __atomic_compare_exchange_n(owner, &from, to, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

bool names(uint64_t owner, const ThreadBlock* block) {
  uint64_t found;
  return try_load8(owner, &found) && found == reinterpret_cast<uint64_t>(block);
}

bool take(ThreadBlock* block) {
  const uint64_t owner = __atomic_load_n(&block->owner, __ATOMIC_ACQUIRE);
  if (owner == kFree) return exchange(&block->owner, kFree, kTaken);
  if (owner == kTaken || names(owner, block)) return false;
  if (!exchange(&block->owner, owner, kTaken)) return false;
  if (!names(owner, block)) return true;
  __atomic_store_n(&block->owner, owner, __ATOMIC_RELEASE);
  return false;
}

// The next one begins where this one has found a block: of threads that come and go one after the
// other each takes that of the one before.
ThreadBlock* sweep(uint32_t count, uint32_t used) {
  if (count > used) count = used;
  const uint32_t at = __atomic_load_n(&g_hand, __ATOMIC_RELAXED);
  for (uint32_t i = 0; i < count; i++) {
    ThreadBlock* block = block_at((at + i) % used);
    if (!take(block)) continue;
    __atomic_store_n(&g_hand, (at + i) % used, __ATOMIC_RELAXED);
    return block;
  }
  if (used) __atomic_store_n(&g_hand, (at + count) % used, __ATOMIC_RELAXED);
  return nullptr;
}

ThreadBlock* begin_block() {
  uint32_t index = __atomic_load_n(&g_used, __ATOMIC_ACQUIRE);
  while (index < kChunk * kChunks && make_chunk(index / kChunk)) {
    if (!__atomic_compare_exchange_n(&g_used, &index, index + 1, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_ACQUIRE))
      continue;
    ThreadBlock* block = block_at(index);
    if (take(block)) return block;  // else a sweep was faster
    index = __atomic_load_n(&g_used, __ATOMIC_ACQUIRE);
  }
  return nullptr;
}

// The word of a thread that is gone may be gone, too: the load is a fault, whose signals are open.
ThreadBlock* find_block() {
  const OpenSignals open;
  const uint32_t used = __atomic_load_n(&g_used, __ATOMIC_ACQUIRE);
  ThreadBlock* block = sweep(kShortSweep, used);
  if (!block) block = begin_block();
  return block ? block : sweep(used, used);
}

}  // namespace

ThreadBlock* thread_block() {
  if (pb_thread_block) return pb_thread_block;
  ThreadBlock* block = find_block();
  if (!block) return nullptr;
  block->exceptions[0] = block->exceptions[1] = 0;
  block->halted_at = 0;
  block->played = {};
  block->child = {};
  block->tables.next = 0;
  ThreadBlock* none = nullptr;
  if (!__atomic_compare_exchange_n(&pb_thread_block, &none, block, false, __ATOMIC_RELAXED,
                                   __ATOMIC_RELAXED)) {
    __atomic_store_n(&block->owner, kFree, __ATOMIC_RELEASE);
    return none;
  }
  __atomic_store_n(&block->owner, reinterpret_cast<uint64_t>(&pb_thread_block), __ATOMIC_RELEASE);
  return block;
}

}  // namespace patchbay
