// SPDX-License-Identifier: MIT
//
// The sentences of refused calls, one a thread, in a small table: the entry of the thread, or the
// oldest one. No thread-local memory (an agent that is loaded late has little of it), nothing to
// free when a thread ends. A thread whose entry was taken by 31 others before it asked is told the
// errno alone.
//
// No thread waits for another one, and none loses its sentence because another one is preempted:
//
//   owner:   0 (free)  ->  TID | busy (its thread writes or reads)  ->  TID  ->  0
//                            ^ another thread takes the oldest entry that is not busy
//
// Only thread TID makes an entry of its own busy, and only it writes and reads a busy one. A signal
// handler that interrupts that, and the child of a fork in it, do not find the entry: they are as
// a thread that has none.
#include "agent/last_error.h"

#include <sys/syscall.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>

#include "base/raw_syscall.h"

namespace patchbay {

namespace {

constexpr size_t kRoom = 1000, kThreads = 32;
constexpr uint32_t kBusy = uint32_t{1} << 31;  // no number of a thread has it

struct KeptError {
  std::atomic<uint32_t> owner{0};  // as drawn above
  std::atomic<uint64_t> turn{0};   // when it was written last
  size_t length = 0;
  char text[kRoom] = {};
};

constinit std::array<KeptError, kThreads> g_kept;
constinit std::atomic<uint32_t> g_nr_kept{0};  // entries with an owner
constinit std::atomic<uint64_t> g_turn{0};

uint32_t own_tid() { return uint32_t(raw_syscall(SYS_gettid)); }

// Makes an entry that `owner` has this thread's and busy. Acquires what its last owner has left,
// with the release of give_back().
bool take(KeptError* entry, uint32_t owner, uint32_t tid) {
  return entry->owner.compare_exchange_strong(owner, tid | kBusy, std::memory_order_acquire,
                                              std::memory_order_relaxed);
}

void give_back(KeptError* entry, uint32_t owner) {
  entry->owner.store(owner, std::memory_order_release);
}

// The entry of the thread, busy now; null: it has none.
KeptError* take_own(uint32_t tid) {
  for (KeptError& one : g_kept)
    if (one.owner.load(std::memory_order_relaxed) == tid && take(&one, tid, tid)) return &one;
  return nullptr;
}

// A free entry or the oldest one. Each failure to take it is another thread's success.
KeptError* take_another(uint32_t tid) {
  for (size_t tries = 0; tries < 4 * kThreads; tries++) {
    KeptError* oldest = nullptr;
    uint32_t owner_of_oldest = 0;
    for (KeptError& one : g_kept) {
      const uint32_t owner = one.owner.load(std::memory_order_relaxed);
      if (owner & kBusy) continue;
      if (oldest && owner != 0 && one.turn.load(std::memory_order_relaxed) >=
                                      oldest->turn.load(std::memory_order_relaxed))
        continue;
      oldest = &one;
      owner_of_oldest = owner;
      if (owner == 0) break;
    }
    if (!oldest) return nullptr;
    if (!take(oldest, owner_of_oldest, tid)) continue;
    if (owner_of_oldest == 0) g_nr_kept.fetch_add(1, std::memory_order_relaxed);
    return oldest;
  }
  return nullptr;
}

// A signal handler that has interrupted its thread here may have taken a second one.
void forget_all_of(uint32_t tid) {
  while (KeptError* own = take_own(tid)) {
    g_nr_kept.fetch_sub(1, std::memory_order_relaxed);
    give_back(own, 0);
  }
}

}  // namespace

void forget_error() {
  if (!g_nr_kept.load(std::memory_order_relaxed)) return;  // our own entry would be counted
  forget_all_of(own_tid());
}

void keep_error(std::string_view sentence) {
  const uint32_t tid = own_tid();
  forget_all_of(tid);
  KeptError* const own = take_another(tid);
  if (!own) return;
  own->turn.store(g_turn.fetch_add(1, std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  own->length = std::min(sentence.size(), kRoom);
  std::memcpy(own->text, sentence.data(), own->length);
  give_back(own, tid);
}

size_t copy_error(char* buffer, size_t size) {
  if (buffer && size) buffer[0] = '\0';
  if (!g_nr_kept.load(std::memory_order_relaxed)) return 0;
  const uint32_t tid = own_tid();
  KeptError* own = take_own(tid);
  if (!own) return 0;
  const size_t length = own->length;
  if (buffer && size) {
    const size_t stored = std::min(length, size - 1);
    std::memcpy(buffer, own->text, stored);
    buffer[stored] = '\0';
  }
  give_back(own, tid);
  return length;
}

int refuse(const Error& error) {
  keep_error(error.message());
  return -error.errno_value;
}

int refuse_plain(int answer) {
  forget_error();
  return answer;
}

int answer_of(const Status& status) { return status.ok() ? 0 : refuse(status.error()); }

}  // namespace patchbay
