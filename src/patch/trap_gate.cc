// SPDX-License-Identifier: MIT
//
//   g_gate:  | shut | how many are inside (31 bits) |   one word, so that nobody slips in
//
// Threads that end cannot say when they are gone. Each leaves its id in a table by its number; the
// patcher asks the kernel which of them still live. Two that have the same place there were made
// hundreds of threads apart.

#include "patch/trap_gate.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <time.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/raw_syscall.h"

namespace patchbay {
namespace {

constexpr uint32_t kShut = uint32_t{1} << 31;
constexpr uint64_t kHoldUpNs = 2000000000;  // for one thread before the gate
constexpr size_t kEnding = 256, kSystems = 64;

std::atomic<uint32_t> g_gate;
std::atomic<uint32_t> g_ending[kEnding];
std::atomic<uint32_t> g_systems[kSystems];
__thread uint32_t t_inside __attribute__((tls_model("initial-exec")));

// Until the gate is open; false: kHoldUpNs later.
bool wait_before_gate() {
  const uint64_t end = raw_monotonic_ns() + kHoldUpNs;
  for (;;) {
    const uint32_t gate = g_gate.load(std::memory_order_acquire);
    if (!(gate & kShut)) return true;
    if (raw_monotonic_ns() >= end) return false;
    const timespec pause{0, 50000000};  // the count in the word may change unseen
    raw_syscall(SYS_futex, raw_pointer(&g_gate), FUTEX_WAIT_PRIVATE, gate, raw_pointer(&pause));
  }
}

// Bytes of /proc/self/task/TID/FILE; 0 when there are none.
size_t read_task(uint32_t tid, const char* file, char* out, size_t size) {
  char path[64];
  std::snprintf(path, sizeof(path), "/proc/self/task/%u/%s", tid, file);
  const long fd = raw_syscall(SYS_openat, AT_FDCWD, raw_pointer(path), O_RDONLY | O_CLOEXEC, 0);
  if (fd < 0) return 0;
  const long n = raw_syscall(SYS_read, fd, raw_pointer(out), long(size - 1));
  raw_syscall(SYS_close, fd);
  out[n > 0 ? n : 0] = 0;
  return n > 0 ? size_t(n) : 0;
}

// The process's first thread stays as a zombie.
bool is_gone(uint32_t tid) {
  char text[512];
  if (read_task(tid, "stat", text, sizeof(text)) == 0) return true;
  const char* state = std::strrchr(text, ')');
  return state && (state[2] == 'Z' || state[2] == 'X');
}

bool waits_for_child(uint32_t tid) {
  char text[256];
  if (read_task(tid, "syscall", text, sizeof(text)) == 0) return true;
  return std::strtol(text, nullptr, 10) == SYS_wait4 && std::strncmp(text, "running", 7) != 0;
}

bool nobody_inside() {
  if (g_gate.load(std::memory_order_acquire) & ~kShut) return false;
  for (std::atomic<uint32_t>& slot : g_ending) {
    const uint32_t tid = slot.load(std::memory_order_acquire);
    if (!tid) continue;
    if (!is_gone(tid)) return false;
    uint32_t expected = tid;
    slot.compare_exchange_strong(expected, 0);
  }
  for (const std::atomic<uint32_t>& slot : g_systems) {
    const uint32_t tid = slot.load(std::memory_order_acquire);
    if (tid && !waits_for_child(tid)) return false;
  }
  return true;
}

}  // namespace

void trap_gate_enter() {
  bool held_up = t_inside != 0;
  uint32_t gate = g_gate.load(std::memory_order_acquire);
  do {
    if (!(gate & kShut) || held_up) continue;
    held_up = !wait_before_gate();
    gate = g_gate.load(std::memory_order_acquire) & ~kShut;  // shut again: the exchange fails
  } while (!g_gate.compare_exchange_weak(gate, gate + 1));
  t_inside++;
}

void trap_gate_leave() {
  t_inside--;
  g_gate.fetch_sub(1, std::memory_order_release);
}

void trap_gate_expect() { g_gate.fetch_add(1, std::memory_order_acq_rel); }

void trap_gate_arrived() { g_gate.fetch_sub(1, std::memory_order_release); }

void trap_gate_ends(uint32_t tid) {
  trap_gate_enter();
  g_ending[tid % kEnding].store(tid, std::memory_order_release);
  trap_gate_leave();
}

void trap_gate_after_fork() {
  g_gate.store(t_inside, std::memory_order_relaxed);
  for (std::atomic<uint32_t>& slot : g_ending) slot.store(0, std::memory_order_relaxed);
  for (std::atomic<uint32_t>& slot : g_systems) slot.store(0, std::memory_order_relaxed);
}

TrapGateSystem::TrapGateSystem(uint32_t tid) {
  trap_gate_enter();
  for (size_t i = 0; i < kSystems && slot_ < 0; i++) {
    uint32_t expected = 0;
    if (g_systems[i].compare_exchange_strong(expected, tid)) slot_ = int(i);
  }
  trap_gate_leave();
}

TrapGateSystem::~TrapGateSystem() {
  if (slot_ >= 0) g_systems[slot_].store(0, std::memory_order_release);
}

bool trap_gate_shut(uint64_t limit_us) {
  g_gate.fetch_or(kShut, std::memory_order_acq_rel);
  const uint64_t end = raw_monotonic_ns() + limit_us * 1000;
  for (long pause_ns = 20000;; pause_ns = pause_ns < 1000000 ? pause_ns * 2 : pause_ns) {
    if (nobody_inside()) return true;
    if (raw_monotonic_ns() >= end) return false;
    const timespec pause{0, pause_ns};
    raw_syscall(SYS_nanosleep, raw_pointer(&pause), 0);
  }
}

void trap_gate_open() {
  g_gate.fetch_and(~kShut, std::memory_order_acq_rel);
  raw_syscall(SYS_futex, raw_pointer(&g_gate), FUTEX_WAKE_PRIVATE, 1 << 30);
}

}  // namespace patchbay
