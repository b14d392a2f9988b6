// SPDX-License-Identifier: MIT
#include "probe/returns/return_trampolines.h"

#include "probe/returns/return_callers.h"

namespace patchbay {

extern "C" {
uint64_t pb_return_address[kReturnTrampolines];
uint64_t pb_quick_trampolines[1 << kQuickHashBits];
}

namespace {

constexpr int kTableBits = 18;  // never more than half full
constexpr uint32_t kTableSize = 1 << kTableBits;
constexpr uint32_t kMostSteps = 256;
constexpr int kMostTries = 1000;
// More than these in place of retired ones are never needed: so many slots may be in doubt.
constexpr uint32_t kMaxFurther = kReturnSlots;

// What a return address uses now, at its hash or behind it; its place never changes.
uint32_t g_table[kTableSize];
uint16_t g_count[kTableSize];           // how many it has; under g_busy, as is g_next
uint32_t g_next[kReturnTrampolines];    // the ring of one return address
uint8_t g_retired[kReturnTrampolines];  // atomic
uint32_t g_used;                        // numbers from here on were given to nobody
uint32_t g_further;                     // under g_busy: in place of retired ones
uint32_t g_busy;                        // somebody changes a ring
uint8_t g_is_quick;                     // atomic; something was noted for the quick entry

static_assert(kTableSize >= 2 * kReturnTrampolines);
static_assert(kReturnTrampolines == 1 << kQuickNumberBits);

uint64_t quick_entry(uint64_t return_address, uint32_t number) {
  return return_address << kQuickNumberBits | number;
}

uint32_t hash(uint64_t return_address, int bits) {
  return uint32_t(return_address) * kQuickHashFactor >> (32 - bits);
}

// A new one; 0: there is none.
uint32_t take_new(uint64_t return_address) {
  for (;;) {
    if (__atomic_load_n(&g_used, __ATOMIC_RELAXED) >= kReturnTrampolines) return 0;
    const uint32_t number = __atomic_fetch_add(&g_used, 1, __ATOMIC_RELAXED);
    if (number >= kReturnTrampolines || !is_trampoline_number(number)) continue;
    __atomic_store_n(&pb_return_address[number], return_address, __ATOMIC_RELEASE);
    g_next[number] = number;
    return number;
  }
}

// Where the return address stands in the table, there with a trampoline; kTableSize: nowhere.
uint32_t place_of(uint64_t return_address) {
  uint32_t at = hash(return_address, kTableBits);
  for (uint32_t step = 0; step < kMostSteps; step++, at = (at + 1) % kTableSize) {
    uint32_t number = __atomic_load_n(&g_table[at], __ATOMIC_ACQUIRE);
    if (!number) {
      const uint32_t made = take_new(return_address);
      if (!made) return kTableSize;
      // Another thread may have been here: then this one is nobody's.
      if (__atomic_compare_exchange_n(&g_table[at], &number, made, false, __ATOMIC_ACQ_REL,
                                      __ATOMIC_ACQUIRE)) {
        __atomic_store_n(&g_count[at], uint16_t{1}, __ATOMIC_RELAXED);
        return at;
      }
    }
    if (__atomic_load_n(&pb_return_address[number], __ATOMIC_ACQUIRE) == return_address) return at;
  }
  return kTableSize;
}

// The next one of the ring, new if there may be more. Nobody waits for long: a handler may have
// come between the two halves of this in its own thread.
uint32_t take_next(uint64_t return_address, uint32_t at, bool* again) {
  for (int i = 0; __atomic_exchange_n(&g_busy, 1, __ATOMIC_ACQUIRE); i++)
    if (i == kMostTries) return 0;
  const uint32_t current = __atomic_load_n(&g_table[at], __ATOMIC_RELAXED);
  const bool may_have_more = g_count[at] < kMaxOfOneCaller && g_further < kMaxFurther;
  uint32_t number = may_have_more ? take_new(return_address) : 0;
  *again = number == 0;
  if (number) {
    g_next[number] = g_next[current];
    g_next[current] = number;
    g_count[at]++;
    g_further++;
  } else {
    number = g_next[current];
    __atomic_store_n(&g_retired[number], uint8_t{0}, __ATOMIC_SEQ_CST);
  }
  __atomic_store_n(&g_table[at], number, __ATOMIC_RELEASE);
  __atomic_store_n(&g_busy, 0, __ATOMIC_RELEASE);
  return number;
}

}  // namespace

uint32_t trampoline_for(uint64_t return_address, bool* again) {
  *again = false;
  const uint32_t at = place_of(return_address);
  if (at == kTableSize) return 0;
  const uint32_t number = __atomic_load_n(&g_table[at], __ATOMIC_ACQUIRE);
  return __builtin_expect(is_retired(number), 0) ? take_next(return_address, at, again) : number;
}

bool is_retired(uint32_t number) {
  return __atomic_load_n(&g_retired[number], __ATOMIC_SEQ_CST) != 0;
}

void retire_trampoline(uint32_t number) {
  __atomic_store_n(&g_retired[number], uint8_t{1}, __ATOMIC_SEQ_CST);
  const uint64_t return_address = pb_return_address[number];
  uint64_t* quick = &pb_quick_trampolines[hash(return_address, kQuickHashBits)];
  if (__atomic_load_n(quick, __ATOMIC_SEQ_CST) == quick_entry(return_address, number))
    __atomic_store_n(quick, uint64_t{0}, __ATOMIC_SEQ_CST);
}

void note_trampoline(uint64_t return_address, uint32_t number, uint32_t version) {
  if (return_address >> (64 - kQuickNumberBits)) return;
  const uint64_t entry = quick_entry(return_address, number);
  uint64_t* quick = &pb_quick_trampolines[hash(return_address, kQuickHashBits)];
  if (__atomic_load_n(quick, __ATOMIC_RELAXED) == entry) return;
  __atomic_store_n(&g_is_quick, uint8_t{1}, __ATOMIC_SEQ_CST);
  __atomic_store_n(quick, entry, __ATOMIC_SEQ_CST);
  if (__atomic_load_n(&pb_callers_version, __ATOMIC_SEQ_CST) != version || is_retired(number))
    __atomic_store_n(quick, uint64_t{0}, __ATOMIC_SEQ_CST);
}

void forget_quick_trampolines() {
  if (!__atomic_load_n(&g_is_quick, __ATOMIC_SEQ_CST)) return;
  for (uint64_t& quick : pb_quick_trampolines)
    if (__atomic_load_n(&quick, __ATOMIC_SEQ_CST))
      __atomic_store_n(&quick, uint64_t{0}, __ATOMIC_SEQ_CST);
}

}  // namespace patchbay
