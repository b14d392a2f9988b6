// SPDX-License-Identifier: MIT
//
// The sentences of refused calls, one a thread, in a small table: the entry of the thread, or the
// oldest one. No thread-local memory (an agent that is loaded late has little of it), nothing to
// free when a thread ends. A thread whose entry was taken by 31 others before it asked is told the
// errno alone.
//
// The table is under a flag that no thread waits for long: a signal handler may have interrupted
// its holder, and in a forked child the holder may not exist. A thread that does not get the flag
// keeps no sentence.
#include "agent/last_error.h"

#include <sched.h>
#include <sys/syscall.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>

#include "base/raw_syscall.h"

namespace patchbay {

namespace {

constexpr size_t kRoom = 1000, kThreads = 32;

struct KeptError {
  uint32_t tid = 0;  // 0: free
  uint64_t turn = 0;
  size_t length = 0;
  char text[kRoom] = {};
};

constinit std::array<KeptError, kThreads> g_kept;
constinit std::atomic<uint32_t> g_nr_kept{0};
constinit std::atomic_flag g_busy;
constinit uint64_t g_turn = 0;

class TableScope {
 public:
  TableScope() {
    constexpr int kTries = 200;
    for (int i = 0; i < kTries && !held_; i++) {
      held_ = !g_busy.test_and_set(std::memory_order_acquire);
      if (!held_) raw_syscall(SYS_sched_yield);
    }
  }
  ~TableScope() {
    if (held_) g_busy.clear(std::memory_order_release);
  }
  TableScope(const TableScope&) = delete;
  TableScope& operator=(const TableScope&) = delete;
  explicit operator bool() const { return held_; }

 private:
  bool held_ = false;
};

uint32_t own_tid() { return uint32_t(raw_syscall(SYS_gettid)); }

KeptError* find(uint32_t tid) {
  auto found = std::find_if(g_kept.begin(), g_kept.end(),
                            [tid](const KeptError& one) { return one.tid == tid; });
  return found == g_kept.end() ? nullptr : &*found;
}

KeptError* place_for(uint32_t tid) {
  if (KeptError* own = find(tid)) return own;
  return &*std::min_element(g_kept.begin(), g_kept.end(),
                            [](const KeptError& a, const KeptError& b) { return a.turn < b.turn; });
}

void count_kept() {
  const auto free = std::count_if(g_kept.begin(), g_kept.end(),
                                  [](const KeptError& one) { return one.tid == 0; });
  g_nr_kept.store(uint32_t(kThreads - size_t(free)), std::memory_order_relaxed);
}

}  // namespace

void forget_error() {
  if (!g_nr_kept.load(std::memory_order_relaxed)) return;  // our own entry would be seen
  const TableScope table;
  KeptError* own = table ? find(own_tid()) : nullptr;
  if (!own) return;
  own->tid = 0;
  own->turn = 0;
  count_kept();
}

void keep_error(std::string_view sentence) {
  const TableScope table;
  if (!table) return;
  const uint32_t tid = own_tid();
  KeptError* own = place_for(tid);
  own->tid = tid;
  own->turn = ++g_turn;
  own->length = std::min(sentence.size(), kRoom);
  std::memcpy(own->text, sentence.data(), own->length);
  count_kept();
}

size_t copy_error(char* buffer, size_t size) {
  if (buffer && size) buffer[0] = '\0';
  if (!g_nr_kept.load(std::memory_order_relaxed)) return 0;
  const TableScope table;
  const KeptError* own = table ? find(own_tid()) : nullptr;
  if (!own) return 0;
  if (buffer && size) {
    const size_t stored = std::min(own->length, size - 1);
    std::memcpy(buffer, own->text, stored);
    buffer[stored] = '\0';
  }
  return own->length;
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
