// SPDX-License-Identifier: MIT
#include "probe/hit_counter.h"

#include <string_view>

#include "base/agreed.h"
#include "base/possible_cpus.h"
#include "base/shared_memory.h"

namespace patchbay {

namespace {

constexpr std::string_view kNote = "hit counter";

// In a forked child, which counts where its parent does.
uint64_t* noted_counter() {
  const auto address = noted(note_key(kNote));
  pb_locked_row = possible_cpus() * kHitRowSize;
  return address ? reinterpret_cast<uint64_t*>(*address) : nullptr;
}

}  // namespace

uint64_t* new_hit_counter() {
  if (is_forked_child()) return noted_counter();
  static uint64_t* table = nullptr;
  static uint64_t used = 0;
  if (!table) {
    const uint64_t nr_cpus = possible_cpus();
    // Only pages that are counted in take memory.
    table = static_cast<uint64_t*>(shared_pages((nr_cpus + 1) * kHitRowSize));
    if (!table) return nullptr;
    pb_locked_row = nr_cpus * kHitRowSize;
  }
  if (used == kHitRowSize / sizeof(uint64_t)) return nullptr;
  uint64_t* counter = table + used++;
  if (is_shared_with_running(counter)) note(note_key(kNote), reinterpret_cast<uint64_t>(counter));
  return counter;
}

uint64_t read_hit_counter(const uint64_t* counter) {
  uint64_t sum = 0;
  for (uint64_t row = 0; row <= pb_locked_row; row += kHitRowSize)
    sum += __atomic_load_n(counter + row / sizeof(uint64_t), __ATOMIC_RELAXED);
  return sum;
}

}  // namespace patchbay
