// SPDX-License-Identifier: MIT
#include "probe/hit_counter.h"

#include <sys/mman.h>

#include "base/possible_cpus.h"

namespace patchbay {

namespace {

// Only pages that are counted in take memory.
uint64_t* map_table(uint64_t nr_rows) {
  void* table = ::mmap(nullptr, nr_rows * kHitRowSize, PROT_READ | PROT_WRITE,
                       MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return table == MAP_FAILED ? nullptr : static_cast<uint64_t*>(table);
}

}  // namespace

uint64_t* new_hit_counter() {
  static uint64_t* table = nullptr;
  static uint64_t used = 0;
  if (!table) {
    const uint64_t nr_cpus = possible_cpus();
    table = map_table(nr_cpus + 1);
    if (!table) return nullptr;
    pb_locked_row = nr_cpus * kHitRowSize;
  }
  return used == kHitRowSize / sizeof(uint64_t) ? nullptr : table + used++;
}

uint64_t read_hit_counter(const uint64_t* counter) {
  uint64_t sum = 0;
  for (uint64_t row = 0; row <= pb_locked_row; row += kHitRowSize)
    sum += __atomic_load_n(counter + row / sizeof(uint64_t), __ATOMIC_RELAXED);
  return sum;
}

}  // namespace patchbay
