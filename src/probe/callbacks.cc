// SPDX-License-Identifier: MIT
#include "probe/callbacks.h"

#include <cpuid.h>
#include <linux/membarrier.h>
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "base/raw_syscall.h"
#include "probe/hit_counter.h"
#include "ring_buffer/ring_set.h"

namespace patchbay {

namespace {

constexpr uint32_t kXsaveLeaf = 0xd;
// x87, SSE, AVX, and AVX-512's masks, upper halves and upper registers. Neither tiles nor keys.
constexpr uint32_t kComponents = 0xe7;
constexpr uint32_t kLegacyAndHeader = 512 + 64;

uint64_t enabled_components() {
  uint32_t low, high;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return uint64_t(high) << 32 | low;
}

void look_at_processor() {
  pb_callbacks_alive = 1;
  uint32_t a, b, c, d;
  if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_OSXSAVE)) return;
  if (!__get_cpuid_count(kXsaveLeaf, 1, &a, &b, &c, &d)) return;
  pb_callback_xsavec = a >> 1 & 1;
  pb_callback_xinuse = a >> 2 & 1;
  pb_callback_components = kComponents & uint32_t(enabled_components());
  uint32_t end = kLegacyAndHeader;
  for (uint32_t i = 2; i < 32; i++) {
    if (!(pb_callback_components >> i & 1)) continue;
    __cpuid_count(kXsaveLeaf, i, a, b, c, d);
    end = std::max(end, b + a);  // its offset in the form that is not compacted, and its size
  }
  pb_callback_area = end;
}

// A full fence in every thread of the process.
void fence_everywhere() {
  if (raw_syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0) return;
  raw_syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0);
  if (raw_syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0) return;
  raw_syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0);
}

std::vector<HitCallback*>& all_callbacks() {
  static auto* const all = new std::vector<HitCallback*>;
  return *all;
}

}  // namespace

HitCallback* make_callback(uint64_t function, uint64_t argument, LiveVectors vectors) {
  auto& all = all_callbacks();
  if (all.empty()) look_at_processor();
  for (HitCallback* one : all) {
    const bool is_free = __atomic_load_n(&one->off, __ATOMIC_RELAXED);
    if (!is_free || one->function != function || one->argument != argument) continue;
    if (one->vectors != vectors) continue;
    __atomic_store_n(&one->off, 0, __ATOMIC_RELEASE);
    return one;
  }
  uint64_t* entered = new_hit_counter();
  uint64_t* left = entered ? new_hit_counter() : nullptr;
  if (!left) return nullptr;
  all.push_back(new HitCallback{function, argument, 0, vectors, {}, entered, left, 0});
  return all.back();
}

void switch_off(HitCallback* callback) {
  __atomic_store_n(&callback->off, 1, __ATOMIC_RELEASE);
  fence_everywhere();
}

// Those that had entered before: `left` is read first, so nobody is counted twice.
Status wait_until_left(HitCallback* callback, uint32_t milliseconds) {
  if (pb_thread.callback == callback)
    return user_error(EBUSY, "A callback cannot wait for its own end.");
  constexpr timespec kPause = {0, 1'000'000};
  for (uint32_t waited = 0;; waited++) {
    const uint64_t left = read_hit_counter(callback->left);
    if (read_hit_counter(callback->entered) == left) return {};
    if (waited >= milliseconds)
      return user_error(EBUSY, "A thread is still in the callback; its code has to stay.");
    ::nanosleep(&kPause, nullptr);
  }
}

void callbacks_after_fork() { pb_callbacks_alive = 0; }

}  // namespace patchbay
