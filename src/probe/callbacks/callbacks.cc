// SPDX-License-Identifier: MIT
#include "probe/callbacks/callbacks.h"

#include <cpuid.h>
#include <linux/membarrier.h>
#include <sys/mman.h>
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "base/raw_syscall.h"
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

bool has_masks() { return enabled_components() >> 5 & 1; }
bool has_wide_masks() {
  uint32_t a, b, c, d;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & bit_AVX512BW);
}

void look_at_processor() {
  if (pb_callback_area) return;
  uint32_t a, b, c, d;
  if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_OSXSAVE)) return;
  if (!__get_cpuid_count(kXsaveLeaf, 1, &a, &b, &c, &d)) return;
  pb_callback_xsavec = a >> 1 & 1;
  // Masks are kept by kmovq, which AVX-512 has not always had.
  pb_callback_xinuse = (a >> 2 & 1) && (!has_masks() || has_wide_masks());
  pb_callback_components = kComponents & uint32_t(enabled_components());
  uint32_t end = kLegacyAndHeader;
  for (uint32_t i = 2; i < 32; i++) {
    if (!(pb_callback_components >> i & 1)) continue;
    __cpuid_count(kXsaveLeaf, i, a, b, c, d);
    end = std::max(end, b + a);  // its offset in the form that is not compacted, and its size
  }
  pb_callback_area = end;
}

// Only the pages of slots that are taken need memory.
bool make_slots() {
  if (pb_callback_slots) return true;
  void* slots = ::mmap(nullptr, kCallbackSlots * sizeof(CallbackSlot), PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (slots == MAP_FAILED) return false;
  pb_callback_slots = static_cast<CallbackSlot*>(slots);
  look_at_processor();
  pb_callbacks_alive = 1;
  return true;
}

bool is_running(const HitCallback* callback) {
  const uint32_t used = __atomic_load_n(&pb_callback_slots_used, __ATOMIC_ACQUIRE);
  for (uint32_t i = 0; i < used; i++)
    if (__atomic_load_n(&pb_callback_slots[i].running, __ATOMIC_ACQUIRE) == callback) return true;
  return false;
}

// A full fence in every thread of the process.
void fence_everywhere() {
  if (raw_syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0) return;
  raw_syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0);
  if (raw_syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0) return;
  raw_syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0);
}

HitCallback of_nobody;

std::vector<HitCallback*>& all_callbacks() {
  static auto* const all = new std::vector<HitCallback*>;
  return *all;
}

}  // namespace

void look_at_vector_registers() { look_at_processor(); }

HitCallback* make_callback(uint64_t function, uint64_t argument, LiveVectors vectors) {
  if (!make_slots()) return nullptr;
  auto& all = all_callbacks();
  for (HitCallback* one : all) {
    const bool is_free = __atomic_load_n(&one->off, __ATOMIC_RELAXED);
    if (!is_free || one->function != function || one->argument != argument) continue;
    if (one->vectors != vectors) continue;
    __atomic_store_n(&one->off, 0, __ATOMIC_RELEASE);
    return one;
  }
  all.push_back(new HitCallback{function, argument, 0, vectors, {}, 0});
  return all.back();
}

void switch_off(HitCallback* callback) {
  __atomic_store_n(&callback->off, 1, __ATOMIC_RELEASE);
  fence_everywhere();
}

Status wait_until_left(const HitCallback* callback, uint32_t milliseconds) {
  const CallbackSlot* own = pb_thread.callback_slot;
  if (own && own->running == callback)
    return user_error(EBUSY, "A callback cannot wait for its own end.");
  constexpr timespec kPause = {0, 1'000'000};
  for (uint32_t waited = 0; is_running(callback); waited++) {
    if (waited >= milliseconds)
      return user_error(EBUSY, "A thread is still in the callback; its code has to stay.");
    ::nanosleep(&kPause, nullptr);
  }
  return {};
}

// The thread's slot says that it is in a callback, from now on.
void callbacks_after_fork() {
  static CallbackSlot of_child;
  if (!pb_callbacks_alive) return;
  pb_callbacks_alive = 0;
  of_child.running = &of_nobody;
  pb_thread.callback_slot = &of_child;
}

}  // namespace patchbay
